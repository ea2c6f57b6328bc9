"""A whole report of runs, queries and measures whose names would like to be more than letters."""

import csv
import io
from pathlib import Path
from xml.etree import ElementTree

import pytest
from paired_runs import FAILED, ScoredRun, Value, write_run
from plugins import PlugIn
from rich.console import Console

from harness.core.records import Cost, EvaluationRecord
from harness.report import load_chapters, render_terminal, write_report
from harness.report.chapter import Chapter
from harness.statistics.prices import load_prices

EVIL = "<script>x</script>|a|\n# b \x1b[2J [bold]c[/] $x^2$ \\input{d} `e` \u202efg"
EVALUATOR = f"""
    from harness.protocols import EvaluatorSpec, Measure, Panel, PanelFigure, Params

    EVIL = {EVIL!r}
    FIGURE = PanelFigure(EVIL, EVIL, EVIL, along=EVIL)
    PANELS = {{"one": Panel(FIGURE, EVIL, row=EVIL), "two": Panel(FIGURE, EVIL, row=EVIL, curve=EVIL, at=1),
              "six": Panel(FIGURE, EVIL, row=EVIL, curve=EVIL, at=2)}}
    MEASURES = tuple(Measure(name, EVIL, 0.0, EVIL, EVIL, panel=panel) for name, panel in PANELS.items())
    SPEC = EvaluatorSpec("evil", "1", EVIL, Params, lambda params: MEASURES, None)
"""


@pytest.fixture
def chapter(plug_in: PlugIn, tmp_path: Path) -> Chapter:
    """Three runs of two systems, by measures of a plug-in."""
    plug_in("rag_harness.evaluators", "evil", EVALUATOR)
    record = EvaluationRecord(
        evaluator="evil", version="1", models={EVIL: {"provider": EVIL, "model": EVIL}}, cost=Cost(wall_s=0.0)
    )
    types = (f"{EVIL}_query", "plain_query")
    values: list[Value] = [0.5, 1.0, FAILED, 0.25]
    scores = dict.fromkeys(("one", "two", "six"), values)
    names = (f"{EVIL}1", f"{EVIL}2", "plain")
    plans = [ScoredRun(name, scores, types=types, evaluator=record, dataset=EVIL) for name in names]
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
