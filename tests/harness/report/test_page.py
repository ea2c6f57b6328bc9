"""report.html as text: what it holds, what it must never hold, and that it can be read by everybody."""

import base64
import hashlib
import itertools
import re
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from page_chapters import HEADLINE, SENTENCE, chapter, explorer, numbers, picture

from harness.core.errors import MissingDependency
from harness.display import Content, Quantity, Section, Table
from harness.report.page import page, page_html

Tag = tuple[str, dict[str, str]]
CSS = (Path(page.__file__).parent / "assets" / "page.css").read_text(encoding="utf-8")
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202egnp.exe\u2066"
VOID = {"meta", "img", "br", "link", "input"}


class Read(HTMLParser):
    """Tags in order, the text of scripts, and the visible text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[Tag] = []
        self.scripts: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        assert self._open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.scripts[-1] += data
        elif not self._open or self._open[-1] != "style":
            self.text += data

    def of(self, *names: str) -> list[Tag]:
        return [tag for tag in self.tags if tag[0] in names]

    def values(self, attribute: str) -> list[str]:
        return [attributes[attribute] for _, attributes in self.tags if attribute in attributes]


@pytest.fixture
def html(tmp_path: Path) -> str:
    one = chapter(tmp_path)
    return page_html([one], {0: explorer()})


def test_the_answer_comes_first_and_is_said_once(html: str) -> None:
    text = Read(html[html.index("<article") : html.index("</article>") + len("</article>")]).text
    assert text.count(HEADLINE) == 1
    assert text.count(SENTENCE) == 1
    parts = (HEADLINE, SENTENCE, "Leaderboard", "openai/gpt-4o-mini", "More.", "By type")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_the_leaderboard_shows_status_score_and_interval(html: str) -> None:
    board = html[html.index("Leaderboard") : html.index("</table>")]
    rows = board.split("<tr")[2:]
    assert "75 [" in rows[0]
    assert "left:30.06%;right:4.56%" in rows[0]
    assert ["recommended" in row for row in rows] == [True, False, False]


def test_the_sections_are_folded_under_questions(html: str) -> None:
    details = [attributes for _, attributes in Read(html).of("details")]
    folded = [one["id"] for one in details if one.get("class") == "question"]
    assert folded == ["failures", "scores", "terms"]
    assert not any("open" in one for one in details)


def test_nothing_is_asked_of_the_network(html: str) -> None:
    read = Read(html)
    assert not {name for name, _ in read.tags} & {"link", "iframe", "object", "embed", "base", "form"}
    assert not [value for name in ("src", "srcset", "data", "poster", "action") for value in read.values(name)]
    assert all(link.startswith(("#", "data:text/csv;base64,")) for link in read.values("href"))
    assert not re.search(r"@import|url\((?!#)|https?://(?!www\.w3\.org/)", html)


def test_the_policy_lets_exactly_the_pages_own_scripts_run(html: str) -> None:
    read = Read(html)
    (policy,) = [a["content"] for _, a in read.of("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    scripts = zip(read.scripts, read.of("script"), strict=True)
    running = [text for text, (_, attributes) in scripts if "type" not in attributes]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in running]
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert len(hashes) == 3
    for rule in ("default-src 'none'", "base-uri 'none'", "form-action 'none'"):
        assert rule in policy
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]
    assert not [name for _, attributes in read.tags for name in attributes if name.startswith("on")]


def test_hostile_words_stay_words_wherever_they_stand(tmp_path: Path) -> None:
    one = chapter(tmp_path, {HOSTILE: (1, 0)})
    table = replace(numbers(), title=HOSTILE, header=(HOSTILE, HOSTILE), rows=((HOSTILE, HOSTILE),), note=HOSTILE)
    content = Content(paragraphs=(HOSTILE,), items=(HOSTILE,), tables=(table,), code=(HOSTILE,))
    shown = replace(picture(), title=HOSTILE, alt=HOSTILE, caption=HOSTILE)
    hostile = Section("other", HOSTILE, content, (shown,))
    verdict = replace(one.findings.verdict, headline=HOSTILE, sentences=(HOSTILE,), metric_title=HOSTILE)
    findings = replace(one.findings, verdict=verdict)
    bad = page_html([replace(one, findings=findings, sections=(*one.sections, hostile))], {})
    read = Read(bad)
    assert len(read.of("script")) == 2
    assert read.of("img") == []
    assert bad.count("<script>alert") == 0
    assert not {"\u202e", "\u2066"} & {*bad}
    assert read.text.count("<script>alert(1)</script>") >= 9


def test_a_line_of_a_megabyte_is_cut(tmp_path: Path) -> None:
    words = Content(paragraphs=("x" * 1_000_000,), items=("y" * 1_000_000,), code=("z" * 1_000_000,))
    endless = replace(chapter(tmp_path), sections=(Section("other", "Other", words),))
    assert len(page_html([endless], {})) < 100_000


def test_data_of_the_explorer_comes_after_everything_else_and_cannot_end_its_element(
    html: str, tmp_path: Path
) -> None:
    assert html.index("</main>") < html.index('<script type="application/octet-stream" id="g0-core">QUJD</script>')
    assert html.index('id="explorer"') < html.index('id="runs"')
    one = chapter(tmp_path / "other")
    assert Read(page_html([one], {0: explorer([("g0-core", "</script><b>")])})).of("b") == []
    without = page_html([one], {})
    assert not [trace for trace in ("octet-stream", 'id="explorer"', ".ex-") if trace in without]


def test_no_runs_are_said_to_be_none() -> None:
    assert "There are no runs to report on." in Read(page_html([], {})).text


def test_data_sets_have_anchors_of_their_own_and_are_not_compared(tmp_path: Path) -> None:
    both = [chapter(tmp_path / "a"), chapter(tmp_path / "b", digest="e" * 64)]
    read = Read(page_html(both, {}))
    ids = read.values("id")
    assert {"g0-accuracy", "g1-accuracy"} <= set(ids)
    assert max(Counter(ids).values()) == 1
    assert "cannot be compared with each other" in read.text


def test_a_run_without_scores_has_no_bar_and_is_said_to_have_none(tmp_path: Path) -> None:
    html = page_html([chapter(tmp_path, {"kg": (), "naive": ()})], {})
    assert 'class="track"' not in html
    assert Read(html).text.count("no score") == 2


def test_everything_has_a_name_and_every_reference_a_target(html: str) -> None:
    read = Read(html)
    ids = read.values("id")
    assert max(Counter(ids).values()) == 1
    named = [name for value in read.values("aria-labelledby") for name in value.split()]
    assert set(named) | {link[1:] for link in read.values("href") if link.startswith("#")} <= set(ids)
    for _, attributes in read.tags:
        if attributes.get("role") in {"img", "region"} or "tabindex" in attributes:
            assert {"aria-label", "aria-labelledby", "id"} & attributes.keys()
    labels = [a["aria-label"] for _, a in read.tags if a.get("role") == "img"]
    assert labels == ["kg 75 %, naive 50 %."] * 2
    assert len(read.of("figure")) == len(read.of("figcaption")) == 2


def test_headings_do_not_skip_a_level(html: str) -> None:
    levels = [int(name[1]) for name, _ in Read(html).of("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_tables_name_the_row_and_column_of_each_cell(html: str) -> None:
    read = Read(html)
    assert len(read.of("table")) == len(read.of("caption")) == 4
    assert all(attributes.get("scope") in {"col", "row"} for _, attributes in read.of("th"))


def test_words_among_numbers_stand_to_the_left(tmp_path: Path) -> None:
    rows = (("kg", "index", Quantity(1.0), None), ("kg", "answer", Quantity(2.0), None))
    phases = Table("phases", "Phases", ("system", "phase", "calls", "USD"), rows)
    one = Section("other", "Other", Content(tables=(phases,)))
    html = page_html([replace(chapter(tmp_path), sections=(one,))], {})
    assert re.findall(r'<td class="word"><bdi>(.*?)</bdi></td>', html) == ["index", "answer"]


def test_every_colour_of_a_picture_is_defined() -> None:
    for number in range(1, 9):
        assert f"--c{number}:" in CSS


def test_a_missing_jinja2_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    one = chapter(tmp_path)
    page._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingDependency, match=r"rag-bench-harness\[report\]"):
        page_html([one], {})


@pytest.mark.parametrize(("is_same", "named"), [(False, ["#g1-top", "#g0-top"]), (True, [])])
def test_tabs_that_recommend_different_systems_name_each_other(
    tmp_path: Path, is_same: bool, named: list[str]
) -> None:
    scores = ((1, 1, 1, 0), (1, 0, 0, 0))
    first = dict(zip(("kg", "naive"), scores, strict=True))
    second = first if is_same else dict(zip(("naive", "kg"), scores, strict=True))
    parts = [chapter(tmp_path / "a", {**first}), chapter(tmp_path / "b", {**second}, digest="e" * 64)]
    hrefs = Read(page_html(parts, {})).values("href")
    assert [href for href in hrefs if href in {"#g0-top", "#g1-top"}] == named
