"""What nobody metered: marked where it is shown, and in nothing that compares."""

from pathlib import Path

import pytest
from matplotlib.text import Text
from paired_runs import ScoredRun
from report_groups import right, written

from harness.core.records import OWN_MODELS, Usage
from harness.display import NOTHING
from harness.display.number_format import format_value as said
from harness.display.plotting import plotting
from harness.report.figures.costs import draw_tokens
from harness.report.figures.pareto import draw_pareto
from harness.report.leaderboard import leaderboard
from harness.report.tables.break_even import UNITS, competing, lines_of
from harness.report.tables.costs import query_cost_table
from harness.report.verdict.findings import find
from harness.report.verdict.types import Outcome
from harness.report.view import Group

TOLD = Usage(calls=1, input_tokens=1, output_tokens=1, unmetered_calls=1)
"""Far less than any other run: it would be the cheapest."""
UNTOLD = Usage(unmetered_calls=1)


@pytest.fixture
def group(tmp_path: Path) -> Group:
    """A pipeline that tells little, one that tells nothing, and two systems that were metered."""
    return written(
        tmp_path,
        ScoredRun("told", {"accuracy": right(140)}, usage={OWN_MODELS: TOLD}),
        ScoredRun("undecided", {"accuracy": right(140)}, usage={OWN_MODELS: UNTOLD}),
        ScoredRun("naive", {"accuracy": right(140)}),
        ScoredRun("kg", {"accuracy": right(140)}, input_tokens=900),
    )


def test_a_table_shows_what_it_reported_as_reported_and_what_it_did_not_as_unknown(group: Group) -> None:
    tables = {
        "tokens": leaderboard(find(group).verdict),
        "input tokens": query_cost_table(group),
    }
    for column, table in tables.items():
        at = table.header.index(column)
        shown = {str(row[0]): said(row[at]) for row in table.rows}
        assert shown["told"].startswith("≥ ")
        assert shown["told"].endswith(" as reported")
        assert shown["undecided"] == NOTHING
        assert "reported" not in shown["naive"]
    assert "as reported: by a pipeline itself" in query_cost_table(group).note


def test_what_nobody_metered_is_paired_with_nothing_and_no_sentence_calls_it_cheap(group: Group) -> None:
    paired = [bool("tokens" in view.values and view.values["tokens"].values) for view in group.views]
    assert paired == [False, False, True, True]
    found = find(group).verdict
    assert found.outcome == Outcome.EQUALLY_GOOD
    assert found.cheaper is None


def test_it_is_on_no_frontier_and_in_no_break_even(group: Group) -> None:
    assert [
        view.label for unit in UNITS for view, _ in competing(lines_of(group, unit), unit) if "told" in view.label
    ] == []
    with plotting() as new_figure:
        captions = {one.stem: one.caption for one in draw_pareto(group, "accuracy", new_figure)}
        (tokens, *_) = draw_tokens(group, new_figure)
        drawn = {one.stem: one.figure for one in draw_pareto(group, "accuracy", new_figure)}
        letters = [text.get_text() for text in drawn["pareto_tokens"].findobj(Text)]
        bars = [text.get_text() for text in tokens.figure.findobj(Text)]
    assert any("told (as reported)" in one for one in letters)
    assert any(one.startswith("≥ ") and one.endswith("as reported") for one in bars)
    assert "Outside the frontier: told (counted as reported by itself)." in captions["pareto_tokens"]
    for caption in (captions["pareto_tokens"], tokens.caption):
        assert "As reported by the pipeline itself, not metered: told." in caption


def test_a_note_says_what_is_not_known(group: Group) -> None:
    told, undecided, naive, _ = group.views
    assert any("tokens are as reported by the pipeline itself, dollars unknown" in note for note in told.notes)
    assert any("tokens are unknown, dollars unknown" in note for note in undecided.notes)
    assert not any("metered here" in note for note in naive.notes)
    assert not any("No price" in note for view in group.views for note in view.notes)
