"""What somebody else's package adds to a report without a line of ours: measures, figures, whole sections."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import report_groups
from paired_runs import FAILED, ScoredRun, Value, write_run
from plugins import PlugIn
from records import known
from report_groups import drawn_in, printed
from rich.console import Console

from harness.core.records import Cost, EvaluationRecord
from harness.display import Drawing, Quantity, Table
from harness.report import load_chapters, render_terminal, write_report
from harness.report.chapter import Chapter
from harness.report.figures.marks import style_of
from harness.report.formats import summary_markdown
from harness.report.page import page_html
from harness.statistics.prices import load_prices

TONE = """
    from harness.protocols import EvaluatorSpec, Measure, Panel, PanelFigure, Params

    FIGURE = PanelFigure("tone", "Tone of the answers", "How answers sound")
    CALM = Measure("calm", "share of calm answers", 0.0, title="calmness", section="Tone of voice", unit="%",
                   binary=True, panel=Panel(FIGURE))
    LOUD = Measure("loud", "loudness of answers", 1.0, section="Tone of voice", higher_is_better=False,
                   range=(0.0, 1.0), panel=Panel(FIGURE, title="loudness"))
    BARE = Measure("bare", "what nobody described further", 0.0)
    SPEC = EvaluatorSpec("tone", "1", "how answers sound", Params, lambda params: (CALM, LOUD, BARE), None)
"""
CARBON = """
    from harness.display import Content, Drawing, Quantity, Table
    from harness.report.sections import SectionSpec

    def content(reported):
        rows = tuple((view.label, Quantity(1.5, 1.0, 2.0)) for view in reported.group.views)
        return Content(["Carbon of each query."], ["It is a guess."],
                       [Table("carbon", "Carbon by system", ("system", "g"), rows)], ["carbon --count"])

    def draw(reported, new_figure):
        figure = new_figure(figsize=(4, 2))
        figure.subplots().plot([1, 2])
        yield Drawing("carbon", "Carbon over time", "More each time.", "It rises.", figure)

    SPEC = SectionSpec("carbon", "Carbon", content, draw, after="answer")
"""
WORDS = """
    from harness.display import Content, Drawing, Quantity, Table
    from harness.report.sections import SectionSpec

    SPEC = SectionSpec({name!r}, "Words", lambda reported: {content}, in_terminal={shown})
"""
EVIL = "<script>x</script> [bold]b[/] \\x1b[2J | **c**\\n# d"


def chapter_of(results: Path, *plans: ScoredRun) -> Chapter:
    plans = plans or (ScoredRun(scores={"accuracy": [1, 0, 1, 1]}),)
    return report_groups.chapter_of(*(write_run(results, plan) for plan in plans))


def words(name: str, content: str, *, shown: bool = True) -> str:
    return WORDS.format(name=name, content=content, shown=shown)


def toned(system: str, calm: list[float]) -> ScoredRun:
    scores = {"calm": calm, "loud": [0.25] * len(calm), "bare": [7.0] * len(calm)}
    evaluation = EvaluationRecord(evaluator="tone", version="1", cost=Cost(wall_s=0.0))
    return ScoredRun(system=system, scores=scores, evaluator=evaluation)


def in_terminal(chapter: Chapter) -> str:
    return printed(lambda console: render_terminal([chapter], console, full=True), terminal=True)


def titles(chapter: Chapter) -> list[str]:
    return [section.title for section in chapter.sections]


def test_measures_of_a_plug_in_have_a_section_a_table_and_a_figure(plug_in: PlugIn, tmp_path: Path) -> None:
    plug_in("rag_harness.evaluators", "tone", TONE)
    chapter = chapter_of(tmp_path, toned("naive", [1.0] * 30), toned("kg", [1.0] * 10 + [0.0] * 20))
    verdict, section = chapter.findings.verdict, known(chapter.section("tone-of-voice"))
    assert (verdict.recommended, verdict.metric_title, section.title) == ("naive", "calmness", "Tone of voice")
    assert [table.name for table in section.content.tables] == ["calm", "measures-tone"]
    (row,) = section.content.tables[1].rows
    assert row == ("loud", *[Quantity(0.25, n=30, of=30, unit="share")] * 2)
    *_, drawing = drawn_in(chapter, "tone-of-voice").values()
    assert (drawing.stem, drawing.title) == ("tone", "Tone of the answers")
    assert drawing.caption.startswith("How answers sound; see each measure. Dot: mean;")
    assert [axes.get_title() for axes in drawing.figure.axes] == ["calmness\nn = 30", "loudness\nn = 30"]
    own = known(chapter.section("tone"))
    assert [row[0] for table in own.content.tables for row in table.rows] == ["bare"]
    assert "share of calm answers; higher is better" in summary_markdown([chapter])


def test_measures_of_an_evaluator_that_is_not_here_stand_last_and_rank_nothing(tmp_path: Path) -> None:
    chapter = chapter_of(tmp_path, toned("naive", [1.0] * 12), toned("kg", [0.0] * 12))
    assert chapter.findings.measure is None
    assert chapter.findings.verdict.recommended is None
    section = known(chapter.section("other-measures"))
    assert {row[0] for table in section.content.tables for row in table.rows} == {"calm", "loud", "bare"}


@pytest.mark.parametrize("title", ["Index", "Explorer", "Terms", "Run it again!", "?", "Tone, of voice"])
def test_no_title_of_a_plug_in_takes_an_anchor_of_the_page(plug_in: PlugIn, tmp_path: Path, title: str) -> None:
    plug_in("rag_harness.evaluators", "tone", TONE.replace("Tone of voice", title, 1))
    chapter = chapter_of(tmp_path, toned("naive", [1.0, 0.0]))
    keys = [section.key for section in chapter.sections]
    assert len(set(keys)) == len(keys)
    assert not {"explorer", "main", "terms"} & set(keys)
    assert title in titles(chapter)


@pytest.mark.slow
def test_a_section_of_a_plug_in_stands_in_every_form_at_its_place(plug_in: PlugIn, tmp_path: Path) -> None:
    plug_in("rag_harness.sections", "carbon", CARBON)
    plug_in("rag_harness.sections", "quiet", words("quiet", "Content(['Only here.'])", shown=False))
    chapter = chapter_of(tmp_path)
    assert titles(chapter)[:2] == ["The verdict", "Carbon"]
    out = write_report([chapter], tmp_path / "report").parent
    page, summary = ((out / name).read_text("utf-8") for name in ("report.html", "summary.md"))
    terminal = in_terminal(chapter)
    parts = ("Carbon of each query.", "It is a guess.", "Carbon by system", "1.50", "[1, 2]", "carbon --count")
    for text in (page, summary, terminal):
        assert [part for part in parts if part not in text] == []
    assert ["Only here." in text for text in (page, summary, terminal)] == [True, True, False]
    assert '<section id="carbon"' in page
    assert "Carbon over time</strong> More each time." in page
    assert "![It rises.](figures/carbon.svg)" in summary
    assert (out / "figures" / "carbon.svg").exists()
    assert (out / "tables" / "carbon.csv").read_text("utf-8") == 'system,g\nnaive,"1.50 [1, 2]"\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("None", "TypeError: content() gave NoneType, not Content"),
        ("Content(tables=[Table('t', 'T', ('a', 'b'), (('x', 7),))])", "TypeError: int where words"),
        (
            "Content(tables=[Table('t', 'T', ('a', 'b'), (('x',),))])",
            "ValueError: a row of a table is not as long",
        ),
    ],
)
def test_a_section_that_fails_says_so_in_its_own_place_and_nowhere_else(
    plug_in: PlugIn, tmp_path: Path, content: str, why: str
) -> None:
    whole = chapter_of(tmp_path)
    plug_in("rag_harness.sections", "broken", words("broken", content))
    chapter = chapter_of(tmp_path / "again")
    broken = known(chapter.section("broken"))
    (item,) = broken.content.items
    assert why in item
    assert [one for one in titles(chapter) if one != "Words"] == titles(whole)
    for text in (page_html([chapter], {}), summary_markdown([chapter]), in_terminal(chapter)):
        assert text.count("This section of a plug-in could not be made") == 1
    assert "Words\n- This section of a plug-in" in in_terminal(chapter)


@pytest.mark.parametrize("broken", ["1 / 0", "figure.subplots().plot([1, 2], [1])", "figure.savefig(7)"])
def test_a_figure_that_fails_leaves_words_and_tables_and_says_so(
    plug_in: PlugIn, tmp_path: Path, broken: str
) -> None:
    plug_in("rag_harness.sections", "carbon", CARBON.replace("figure.subplots().plot([1, 2])", broken))
    chapter = chapter_of(tmp_path)
    (drawing,) = drawn_in(chapter, "carbon").values()
    assert drawing.caption.startswith("The figures of the plug-in 'carbon' could not be drawn (")
    section = known(chapter.section("carbon"))
    assert section.content.paragraphs == ("Carbon of each query.",)


def test_words_of_a_plug_in_are_no_markup(plug_in: PlugIn, tmp_path: Path) -> None:
    table = f"Table('a b/../c', '{EVIL}', ('system', '{EVIL}'), (('{EVIL}', '{EVIL}'),), note='{EVIL}')"
    plug_in(
        "rag_harness.sections", "evil", words("evil", f"Content(['{EVIL}'], ['{EVIL}'], [{table}], ['{EVIL}'])")
    )
    chapter = chapter_of(tmp_path)
    page, summary, terminal = page_html([chapter], {}), summary_markdown([chapter]), in_terminal(chapter)
    assert "<script>x" not in page
    assert page.count("&lt;script&gt;x&lt;/script&gt;") >= 7
    assert not [line for line in summary.splitlines() if line.startswith("# d")]
    assert r"\<script\>x\</script\> \[bold\]b\[/\]" in summary
    assert "\x1b[2J" not in page + summary + terminal
    assert "[bold]b[/]" in terminal
    assert [table.name for table in chapter.tables() if "c" in table.name and "a-b" in table.name] == ["a-b-..-c"]


@pytest.mark.parametrize(
    ("name", "code", "why"),
    [
        ("latency", words("latency", "Content()"), "latency: a section of that name is there already"),
        ("explorer", words("explorer", "Content()"), "explorer: a section of that name is there already"),
        ("loud", words("Loud Words", "Content()"), "Loud Words: the name of a section is small letters, digits"),
        ("gone", "import no_such_package", "report section 'gone' (gone: gone:SPEC) cannot be imported"),
        ("number", "SPEC = 7", "report section 'number' (number: number:SPEC) is no SectionSpec"),
    ],
)
def test_a_section_that_cannot_be_added_is_one_note(
    plug_in: PlugIn, tmp_path: Path, name: str, code: str, why: str
) -> None:
    plug_in("rag_harness.sections", name, code)
    notes = known(chapter_of(tmp_path).section("notes"))
    (line,) = [item for item in notes.content.items if item.startswith("Left out: ")]
    assert why in line


def test_two_sections_with_tables_of_one_name_keep_both(plug_in: PlugIn, tmp_path: Path) -> None:
    one = "Content(tables=[Table('same', {title!r}, ('a',), (('x',),))])"
    for name in ("first", "second"):
        plug_in("rag_harness.sections", name, words(name, one.format(title=name)))
    found: list[Table] = [table for table in chapter_of(tmp_path).tables() if table.name.startswith("same")]
    assert [(table.name, table.title) for table in found] == [("same", "first"), ("same-2", "second")]


GRADES = """
    from harness.protocols import EvaluatorSpec, Measure, Panel, PanelFigure, Params

    STYLE = PanelFigure("acme_style", "Style", "How well it reads")
    DEPTH = PanelFigure("acme_depth", "Depth", "How deep it goes", along="depth")

    def measure(name, panel, **more):
        return Measure(name, f"the {name}", 0.0, section="Acme grades", panel=panel, **more)

    MEASURES = (
        measure("stars", Panel(STYLE, "stars"), range=(0.0, 5.0)),
        measure("mood", Panel(STYLE, "mood"), range=(-1.0, 1.0)),
        measure("blame", None, higher_is_better=False),
        measure("depth@1", Panel(DEPTH, curve="depth", at=1)),
        measure("depth@2", Panel(DEPTH, curve="depth", at=2)),
        measure("depth@3", Panel(DEPTH, curve="depth", at=3)),
    )
    SPEC = EvaluatorSpec("acme_eval", "1", "grades", Params, lambda params: MEASURES, None)
"""
Scores = Mapping[str, Sequence[Value]]
Draw = Callable[..., dict[str, Drawing]]


@pytest.fixture
def drawn(tmp_path: Path, plug_in: PlugIn) -> Draw:
    """drawn(naive={measure: values}, ...): the figures for which the plug-in's measures ask, by stem."""
    plug_in("rag_harness.evaluators", "acme_eval", GRADES)
    made = EvaluationRecord(evaluator="acme_eval", version="1", cost=Cost(wall_s=0.0))

    def draw(**scores: Scores) -> dict[str, Drawing]:
        chapter = chapter_of(
            tmp_path / "results", *(ScoredRun(name, own, evaluator=made) for name, own in scores.items())
        )
        found = drawn_in(chapter, "acme-grades")
        for drawing in found.values():
            drawing.figure.draw_without_rendering()
        return {stem: drawing for stem, drawing in found.items() if stem.startswith("acme_")}

    return draw


@pytest.mark.slow
def test_each_measure_has_a_panel_on_which_every_value_lies(drawn: Draw) -> None:
    kg = {"stars": (1.0, 2.0), "mood": (0.1, 0.3)}
    (drawing,) = drawn(naive={"stars": (4.0, 5.0), "mood": (-0.5, -0.7)}, kg=kg).values()
    assert (drawing.stem, drawing.title) == ("acme_style", "Style")
    assert drawing.caption.startswith("How well it reads; higher is better. Dot: mean; line: 95 % interval; n = 2")
    panels = {axes.get_title(): axes for axes in drawing.figure.axes}
    assert list(panels) == ["stars\nn = 2", "mood\nn = 2"]
    for axes, means in zip(panels.values(), ((4.5, 1.5), (-0.6, 0.2)), strict=True):
        low, high = axes.get_xlim()
        for number, mean in enumerate(means):
            (dot,) = [line for line in axes.get_lines() if line.get_marker() == style_of(number).marker]
            assert np.asarray(dot.get_xdata()).tolist() == pytest.approx([mean])
            assert low < mean < high
        assert low < 0 < high


@pytest.mark.slow
def test_points_of_one_curve_are_joined_as_far_as_a_run_has_values(drawn: Draw) -> None:
    scores = {"depth@1": (0.0, 0.2), "depth@2": (0.4, 0.4), "depth@3": (FAILED, FAILED)}
    (drawing,) = drawn(naive=scores, kg=scores).values()
    (axes,) = drawing.figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2"]
    curves = [line for line in axes.get_lines() if line.get_marker() != "None"]
    assert [np.asarray(line.get_ydata()).tolist() for line in curves] == [pytest.approx([0.1, 0.4])] * 2
    # Without a value nothing is drawn.
    assert drawn(empty={"stars": (FAILED, FAILED), "blame": (1.0, 2.0)}) == {}


# A whole report of runs, queries and measures whose names would like to be more than letters.


HOSTILE = "<script>x</script>|a|\n# b \x1b[2J [bold]c[/] $x^2$ \\input{d} `e` \u202efg"
HOSTILE_EVALUATOR = f"""
    from harness.protocols import EvaluatorSpec, Measure, Panel, PanelFigure, Params

    BAD = {HOSTILE!r}
    FIGURE = PanelFigure(BAD, BAD, BAD, along=BAD)
    PANELS = {{"one": Panel(FIGURE, BAD, row=BAD), "two": Panel(FIGURE, BAD, row=BAD, curve=BAD, at=1),
              "six": Panel(FIGURE, BAD, row=BAD, curve=BAD, at=2)}}
    MEASURES = tuple(Measure(name, BAD, 0.0, BAD, BAD, panel=panel) for name, panel in PANELS.items())
    SPEC = EvaluatorSpec("evil", "1", BAD, Params, lambda params: MEASURES, None)
"""


@pytest.fixture
def chapter(plug_in: PlugIn, tmp_path: Path) -> Chapter:
    """Three runs of two systems, by measures of a plug-in."""
    plug_in("rag_harness.evaluators", "evil", HOSTILE_EVALUATOR)
    record = EvaluationRecord(
        evaluator="evil",
        version="1",
        models={HOSTILE: {"provider": HOSTILE, "model": HOSTILE}},
        cost=Cost(wall_s=0.0),
    )
    types = (f"{HOSTILE}_query", "plain_query")
    values: list[Value] = [0.5, 1.0, FAILED, 0.25]
    scores = dict.fromkeys(("one", "two", "six"), values)
    names = (f"{HOSTILE}1", f"{HOSTILE}2", "plain")
    plans = [ScoredRun(name, scores, types=types, evaluator=record, dataset=HOSTILE) for name in names]
    runs = [write_run(tmp_path / str(number), plan) for number, plan in enumerate(plans)]
    (found,) = load_chapters(runs, load_prices())
    return found


def test_headline_sentences_and_notes_are_lines_of_letters(chapter: Chapter) -> None:
    verdict = chapter.findings.verdict
    said = (verdict.headline, *verdict.sentences, *verdict.caveats)
    assert any("<script>x</script>" in line for line in said)
    for line in said:
        assert not {"\n", "\x1b", "\u202e"} & {*line}


@pytest.mark.slow
def test_every_file_of_a_report_holds_letters_and_no_markup(chapter: Chapter, tmp_path: Path) -> None:
    out = write_report([chapter], tmp_path / "report").parent
    texts = {
        path: path.read_text("utf-8") for path in out.rglob("*") if path.suffix in {".html", ".md", ".tex", ".csv"}
    }
    assert {path.suffix for path in texts} == {".html", ".md", ".tex", ".csv"}
    for path, text in texts.items():
        assert not {"\x1b", "\u202e"} & {*text}, path
        if path.suffix == ".html":
            assert "<script>x" not in text
            assert "&lt;script&gt;x" in text
        if path.suffix == ".md":
            assert "<script>" not in text.replace(r"\<", "")
            assert not [line for line in text.splitlines() if line.startswith("# b")]
        if path.suffix == ".tex":
            assert "\\input" not in text
        if path.suffix == ".csv":
            rows = list(csv.reader(io.StringIO(text)))
            assert len({len(row) for row in rows}) == 1
            assert not [cell for row in rows for cell in row if "\n" in cell]
    figures = sorted((out / "figures").glob("*.svg"))
    assert figures
    for path in figures:
        ElementTree.parse(path)
    assert all(path.resolve().is_relative_to(out.resolve()) for path in texts)


def test_a_terminal_obeys_none_of_it(chapter: Chapter) -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None)
    render_terminal([chapter], console, full=True)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert not {"\x1b", "\u202e"} & {*text}
    assert "[bold]c[/]" in text
