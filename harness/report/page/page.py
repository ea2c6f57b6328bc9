"""The page as text: templates filled in, styles and scripts inside, nothing else let in.

Every string is escaped where it is put in; only pictures, which are drawn here, stand as they are. Should an
escape ever be missing, the page's own policy still runs no script but those whose hashes it names, and loads
nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import MissingDependency, install
from harness.display import (
    Entry,
    Picture,
    Quantity,
    Rank,
    Section,
    Table,
    ValueGroup,
    bare,
    format_value,
    printable,
    value_details,
)
from harness.report.page.facts import facts, size
from harness.report.page.leaderboard import Leaderboard, leaderboard
from harness.report.render.csv import table_csv
from harness.report.sections import ANSWER, NOTES

if TYPE_CHECKING:
    from jinja2 import Environment

    from harness.report.chapter import Chapter
    from harness.report.page.explorer import Explorer

_EXPLORER_JS = ("tools", "blocks", "verdicts", "facts", "query", "list", "start")
_HERE = Path(__file__).parent
_AFTER_EXPLORER = {"runs", "reproduce"}
_NARROW_PT = 400
_READABLE_PX = 9.0
"""No letter of a picture gets smaller: it scrolls sideways instead."""
_LARGEST_PX = 1.5
"""Of a point of a picture: beyond it letters would outgrow the text."""


@dataclass(frozen=True)
class _Part:
    """A chapter, laid out."""

    chapter: Chapter
    prefix: str
    """Of every anchor in it; empty where there is one chapter."""
    board: Leaderboard
    facts: list[tuple[str, str]]
    size: str
    hero: Picture | None
    """What stands beside the leaderboard."""
    sentences: tuple[str, ...]
    answer: Section
    """What it says beyond headline, sentences and hero."""
    notes: Section | None
    before: list[Section]
    explorer: Explorer | None
    after: list[Section]

    @property
    def contents(self) -> list[tuple[str, str]]:
        """Anchor and title of everything in it, in order."""
        explorer = [("explorer", "Every query")] if self.explorer else []
        notes = [(self.notes.key, self.notes.title)] if self.notes else []
        before, after = ([(one.key, one.title) for one in some] for some in (self.before, self.after))
        listed = [(ANSWER, self.answer.title), *notes, *before, *explorer, *after]
        return [(self.prefix + key, title) for key, title in listed]


def page_html(chapters: Sequence[Chapter], explorers: Mapping[str, Explorer]) -> str:
    """The whole page; `explorers` are by the key of the chapter's group, and may be left out.

    The same chapters give the same text. Needs the extra `report` (jinja2).
    """
    parts = [
        _part(chapter, f"g{number}-" if len(chapters) > 1 else "", explorers.get(chapter.group.key))
        for number, chapter in enumerate(chapters)
    ]
    used = [part.explorer for part in parts if part.explorer]
    styles = [_asset("page.css"), *([_asset("explorer.css")] if used else [])]
    explorer_js = explorer_script() if used else ""
    scripts = [script for script in (_asset("early.js"), _asset("page.js"), explorer_js) if script]
    return (
        _environment()
        .get_template("page.html")
        .render(
            parts=parts,
            explorers=used,
            style=_inline("\n".join(styles), "style"),
            early_js=_inline(_asset("early.js"), "script"),
            page_js=_inline(_asset("page.js"), "script"),
            explorer_js=_inline(explorer_js, "script"),
            policy=_policy(scripts),
        )
    )


def explorer_script() -> str:
    """The parts of the explorer in one closure."""
    parts = (_asset(f"explorer/{name}.js") for name in _EXPLORER_JS)
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


def _part(chapter: Chapter, prefix: str, explorer: Explorer | None) -> _Part:
    by_key = {section.key: section for section in chapter.sections}
    answer = by_key.get(ANSWER, Section(ANSWER, "The answer"))
    findings = chapter.findings
    said = (findings.headline, *findings.sentences)
    beyond = tuple(text for text in answer.content.paragraphs if text not in said)
    rest = [section for section in chapter.sections if section.key not in {ANSWER, NOTES}]
    return _Part(
        chapter=chapter,
        prefix=prefix,
        board=leaderboard(chapter.group, findings),
        facts=facts(chapter.group),
        size=size(chapter.group),
        hero=answer.pictures[0] if answer.pictures else None,
        sentences=findings.sentences,
        answer=replace(answer, content=replace(answer.content, paragraphs=beyond), pictures=answer.pictures[1:]),
        notes=by_key.get(NOTES),
        before=[section for section in rest if section.key not in _AFTER_EXPLORER],
        explorer=explorer,
        after=[section for section in rest if section.key in _AFTER_EXPLORER],
    )


def _policy(scripts: Sequence[str]) -> str:
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    # Pictures and bars place their parts by style attributes, which no hash can name.
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return (_HERE / "assets" / name).read_text(encoding="utf-8")


def _inline(text: str, element: str) -> Any:
    """Our own file as the inside of an element; it must not end it."""
    from markupsafe import Markup

    if f"</{element}" in text.lower() or "<!--" in text:
        raise ValueError(f"an asset ends its own <{element}>")
    return Markup(text)  # noqa: S704 - a file of this package


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
        line=_line,
        unbroken=_unbroken,
        drawing=_drawing,
        is_narrow=_is_narrow,
        widths=_widths,
        value=_value,
        value_details=_value_details,
        sort_key=_sort_key,
        csv_link=_csv_link,
    )
    return environment


def _line(text: object, longest: int = 2000) -> str:
    """Any text on one line of bounded length, without marks that turn the direction of what follows."""
    return printable(str(text)[: 4 * longest], longest)


def _unbroken(text: str) -> str:
    """A number and its percent sign stay on one line."""
    return text.replace(" %", "\u00a0%")


def _drawing(picture: Picture) -> Any:
    """The picture's own markup: drawn by this package, its texts escaped by what wrote it."""
    from markupsafe import Markup

    return Markup(picture.svg)  # noqa: S704 - see above


def _is_narrow(picture: Picture) -> bool:
    return picture.width_pt < _NARROW_PT


def _widths(picture: Picture) -> str:
    """The least and the largest width of a picture, as CSS."""
    least = picture.width_pt * _READABLE_PX / picture.smallest_letters_pt
    largest = max(picture.width_pt * _LARGEST_PX, least)
    return f"min-width:{least:.0f}px;max-width:{largest:.0f}px"


def _sort_key(entry: Entry) -> Any:
    """The attribute that holds the number by which an entry is sorted; nothing for words, and where nothing is
    known.
    """
    from markupsafe import Markup

    first = entry.quantities[0] if isinstance(entry, ValueGroup) and entry.quantities else entry
    value = first.best if isinstance(first, Rank) else first.value if isinstance(first, Quantity) else None
    return Markup(f' data-v="{value:.6g}"') if value is not None and isfinite(value) else ""  # noqa: S704 - a number


def _csv_link(table: Table) -> str:
    """The table as CSV, within the page: whoever has the page alone has it too."""
    return f"data:text/csv;base64,{base64.b64encode(table_csv(table).encode(errors='replace')).decode()}"


def _value(entry: Entry) -> str:
    """What an entry says but for its interval and what stands behind it."""
    return bare(entry) if isinstance(entry, Quantity) else format_value(entry)


def _value_details(entry: Entry) -> str:
    """Interval, population and mark of a quantity."""
    return value_details(entry) if isinstance(entry, Quantity) else ""
