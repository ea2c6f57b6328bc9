"""The page as text: filled-in templates with styles and scripts inside.

Every string is escaped where it is inserted, except for pictures, which are drawn here. If an escape were missing,
the page's Content-Security-Policy would still run only scripts with known hashes, and load nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.errors import MissingDependency, install
from harness.display import (
    Entry,
    Picture,
    Quantity,
    Section,
    Table,
    ValueGroup,
    bare,
    format_value,
    value_details,
)
from harness.display.text_format import counted, printable
from harness.report.formats import table_csv
from harness.report.leaderboard import bar_width, leaderboard, status_of
from harness.report.records import ANSWERED
from harness.report.sections import ANSWER, QUESTIONS
from harness.report.verdict.headline import advice, n_compared, size_of
from harness.report.view import Group

if TYPE_CHECKING:
    from jinja2 import Environment

    from harness.report.chapter import Chapter
    from harness.report.page.explorer import Explorer

_EXPLORER_JS = ("tools", "blocks", "verdicts", "facts", "query", "list", "start")
_HERE = Path(__file__).parent
_FEWEST_ANSWERED = 10


@dataclass(frozen=True)
class _Question:
    key: str
    title: str
    sections: list[Section]
    holds: str


@dataclass(frozen=True)
class _Part:
    chapter: Chapter
    prefix: str
    """Of every anchor in it; empty if there is one chapter."""
    board: Table
    size: str
    hero: Picture | None
    answer: Section
    """The rest of the verdict: more pictures, the whole leaderboard."""
    groups: list[_Question]
    explorer: Explorer | None

    @property
    def recommended_system(self) -> object:
        """The recommended system with its parameters; None without one."""
        return self.chapter.recommended.manifest.system if self.chapter.recommended else None

    @property
    def any_failed(self) -> bool:
        """Whether some answer failed, is labelled with a cause, or has less than the best score."""
        scores = [one.score for one in self.chapter.findings.verdict.standings]
        below = any(score is None or score.value != 1 for score in scores)
        return below or any(view.n_errors or any(view.labelled.values()) for view in self.chapter.group.views)


def page_html(chapters: Sequence[Chapter], explorers: Mapping[int, Explorer]) -> str:
    """`explorers`: by the position of the chapter. The same chapters give the same text. Needs jinja2."""
    parts = [
        _part(chapter, f"g{number}-" if len(chapters) > 1 else "", explorers.get(number))
        for number, chapter in enumerate(chapters)
    ]
    used = [part.explorer for part in parts if part.explorer]
    style = "\n".join([_asset("page.css"), *([_asset("explorer.css")] if used else [])])
    scripts = {"early_js": _asset("early.js"), "page_js": _asset("page.js")}
    if used:
        scripts["explorer_js"] = explorer_script()
    return (
        _environment()
        .get_template("page.html")
        .render(
            parts=parts,
            explorers=used,
            opens_on=opening_group([chapter.group for chapter in chapters]),
            elsewhere={part.prefix: list(_elsewhere(part, parts)) for part in parts},
            style=_inline(style, "style"),
            policy=_policy(scripts.values()),
            **{name: _inline(script, "script") for name, script in scripts.items()},
        )
    )


def opening_group(groups: Sequence[Group]) -> Group | None:
    """Of the first data set: answers, if all systems answered enough; else the group with most queries done."""

    def usefulness(group: Group) -> tuple[bool, int, bool]:
        systems = [view for view in group.views if not view.is_baseline] or group.views
        n = sum(
            all(view.has_answer(one) if group.has_answers else view.became(one, ANSWERED) for view in systems)
            for one in group.widest.sample
        )
        return group.has_answers and n >= _FEWEST_ANSWERED, n, group.has_answers

    return max((group for group in groups if group.dataset == groups[0].dataset), key=usefulness, default=None)


def _elsewhere(part: _Part, parts: Iterable[_Part]) -> Iterator[tuple[str, _Part]]:
    """The advice of other parts over the same data set that recommend another system, each with its part."""
    own = part.recommended_system
    for other in parts:
        advised, group = advice(other.chapter.findings.verdict), other.chapter.group
        is_same_data = other is not part and group.dataset == part.chapter.group.dataset
        if own and advised and is_same_data and other.recommended_system != own:
            step = "Answers" if group.has_answers else "Retrieval"
            yield f"{step} over {n_compared(other.chapter.findings.verdict)}: {advised}", other


def explorer_script() -> str:
    """The parts of the explorer in one closure."""
    parts = (_asset(f"explorer/{name}.js") for name in _EXPLORER_JS)
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


def _part(chapter: Chapter, prefix: str, explorer: Explorer | None) -> _Part:
    by_key = {section.key: section for section in chapter.sections}
    answer = by_key.get(ANSWER, Section(ANSWER, "The verdict"))
    group, verdict = chapter.group, chapter.findings.verdict
    said = (verdict.headline, *verdict.sentences)
    beyond = tuple(text for text in answer.content.paragraphs if text not in said)
    return _Part(
        chapter=chapter,
        prefix=prefix,
        board=leaderboard(verdict, brief=True),
        size=f"{counted(len(group.views), 'run')}, {size_of(verdict)}",
        hero=answer.pictures[0] if answer.pictures else None,
        answer=replace(answer, content=replace(answer.content, paragraphs=beyond), pictures=answer.pictures[1:]),
        groups=_questions(chapter, has_explorer=explorer is not None),
        explorer=explorer,
    )


def _questions(chapter: Chapter, *, has_explorer: bool) -> list[_Question]:
    asked = {spec.name: spec.question for spec in chapter.specs}
    found = []
    for key, title in QUESTIONS.items():
        own = [one for one in chapter.sections if one.key != ANSWER and asked.get(one.key, "scores") == key]
        titles = [one.title for one in own]
        if key == "failures" and has_explorer:
            titles = ["Every query", *titles]
        if titles:
            found.append(_Question(key, title, own, ", ".join(titles)))
    return found


def _policy(scripts: Iterable[str]) -> str:
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    # Pictures and bars place their parts by style attributes, which no hash can name.
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return (_HERE / "assets" / name).read_text(encoding="utf-8")


def _inline(text: str, element: str) -> str:
    """Our own file as the inside of an element; it must not end it."""
    if f"</{element}" in text.lower() or "<!--" in text:
        raise ValueError(f"an asset ends its own <{element}>")
    return text


@lru_cache(maxsize=1)
def _environment() -> Environment:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise MissingDependency("the page needs jinja2", install("report")) from error
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        # On one line of bounded length, without marks that turn the direction of what follows.
        line=lambda text, longest=2000: printable(str(text)[: 4 * longest], longest),
        # A number and its percent sign stay on one line.
        unbroken=lambda text: text.replace(" %", "\u00a0%"),
        is_narrow=lambda picture: picture.width_pt < 400,
        widths=_widths,
        value=lambda entry: bare(entry) if isinstance(entry, Quantity) else format_value(entry),
        value_details=lambda entry: value_details(entry) if isinstance(entry, Quantity) else "",
        sort_key=_sort_key,
        csv_link=_csv_link,
        bar=bar_width,
        status=status_of,
    )
    return environment


def _widths(picture: Picture) -> str:
    # No letter of a picture is smaller than 9 pixels: it scrolls sideways instead.
    least = picture.width_pt * 9.0 / picture.smallest_letters_pt
    # With more than 1.5 pixels for each of its points, its letters would outgrow the text.
    largest = max(picture.width_pt * 1.5, least)
    return f"min-width:{least:.0f}px;max-width:{largest:.0f}px"


def _sort_key(entry: Entry) -> str:
    """The number to sort by; empty for words and unknown values."""
    first = entry.quantities[0] if isinstance(entry, ValueGroup) and entry.quantities else entry
    value = first.value if isinstance(first, Quantity) else None
    return f"{value:.6g}" if value is not None and isfinite(value) else ""


def _csv_link(table: Table) -> str:
    """The table as CSV within the page, so that the page alone is enough."""
    return f"data:text/csv;base64,{base64.b64encode(table_csv(table).encode(errors='replace')).decode()}"
