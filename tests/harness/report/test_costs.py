"""Costs: what ranks, what is a lower bound, and that a run which only looks cheap is compared with no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from paired_runs import ScoredRun, close_again, write_run
from records import known
from report_groups import chapter_of, group_of, right, scored, written

from harness.core.records import OWN_MODELS, Cost, Failure, Usage
from harness.display import NOTHING, Drawing, Quantity, Table, format_value
from harness.display.plotting import PALETTE, NewFigure, publish
from harness.report.comparison.compare import compare_by
from harness.report.figures.costs import draw_latency, draw_tokens
from harness.report.figures.marks import name_of
from harness.report.figures.pareto import draw_pareto
from harness.report.figures.resources import draw_resources
from harness.report.figures.scores import draw_significance
from harness.report.leaderboard import leaderboard
from harness.report.page import page_html
from harness.report.tables.costs import (
    break_even_tables,
    index_table,
    latency_table,
    phases_table,
    query_cost_table,
)
from harness.report.verdict.findings import Findings, find
from harness.report.verdict.ranking import Ranking
from harness.report.verdict.types import Outcome, Standing
from harness.report.view import Group
from harness.statistics.run_frame import NATURAL
from harness.store import RunDir

MakeRun = Callable[..., RunDir]
N = 40
TYPES = {"inference_query": 20}
LONG = {"inference_query": N}
TIMEOUT = Failure(kind="timeout", message="no answer within 9 s")
BLIND = Usage(calls=2, input_tokens=10, unmetered_calls=1)


def tokens(count: int) -> Usage:
    return Usage(calls=1, input_tokens=count)


def crossings_of(group: Group) -> list[Table]:
    return break_even_tables(group, find(group))


def cells(table: Table | None, column: str) -> list[str]:
    shown = known(table)
    return [format_value(row[shown.header.index(column)]) for row in shown.rows]


def standings(group: Group, measure: str) -> dict[str, Standing]:
    return {one.system: one for one in find(group, measure).verdict.standings}


def test_quantiles_among_timed_out_queries_are_lower_bounds_and_the_table_says_why(make_run: MakeRun) -> None:
    group = group_of(
        make_run(types=TYPES, failing=3, failure=TIMEOUT, latency_s=1.0),
        make_run(system="kg", types=TYPES, failing=3, latency_s=1.0),
    )
    table = known(latency_table(group))
    assert [cell.startswith("≥ ") for cell in cells(table, "p50, s")] == [False, False]
    for column in ("p90, s", "p99, s", "mean, s", "wall mean, s"):
        assert [cell.startswith("≥ ") for cell in cells(table, column)] == [True, False]
    counts = [cells(table, column) for column in ("n", "timed out", "left out")]
    assert counts == [["20", "17"], ["3", "0"], ["0", "3"]]
    assert "Restricted" in table.note
    assert "Restricted" not in known(latency_table(group_of(make_run(system="x", types=TYPES)))).note
    assert "Failing is cheap" in "\n".join(group.note_lines)


@pytest.mark.slow  # Drawing takes about a second a figure.
def test_the_distribution_of_latencies_contains_timed_out_queries(
    make_run: MakeRun, new_figure: NewFigure
) -> None:
    group = group_of(make_run(types=TYPES, failing=12, failure=TIMEOUT, latency_s=1.0))
    (latency,) = draw_latency(group, new_figure)
    assert len(group.views[0].latencies) == 20
    assert "Restricted" in latency.caption
    assert any(text.get_text().startswith("≥ ") for text in latency.figure.axes[0].texts)


def test_a_share_of_failures_has_enough_digits_to_show_one_and_the_limit(make_run: MakeRun) -> None:
    types = {"inference_query": 800}
    group = group_of(*(make_run(system=f"f{n}", types=types, failing=n, sessions=()) for n in (0, 1, 9)))
    table = query_cost_table(group)
    assert cells(table, "failed, %") == ["0", "0.125", "1.12"]
    assert "1 % of its queries" in table.note
    assert [view.fails_too_often for view in group.views] == [False, False, True]
    assert name_of(group.views[2]) == "f9 (1.12 % failed)"


def test_tokens_that_were_not_all_counted_are_lower_bounds_and_not_compared(make_run: MakeRun) -> None:
    group = group_of(make_run(types=TYPES, usage=tokens(10_000)), make_run(system="kg", types=TYPES, usage=BLIND))
    amortised, *others = crossings_of(group)
    assert [table.name for table in others] == ["break_even_usd"]
    last = amortised.rows[1][-1]
    assert isinstance(last, Quantity)
    assert last.at_least
    assert cells(query_cost_table(group), "input tokens") == ["10,000", "≥ 10"]
    phases = cells(phases_table(group), "input tokens")
    assert [cell.startswith("≥ ") for cell in phases] == [False] * 5 + [True] * 3
    assert "lower bounds" in "\n".join(group.note_lines)


def test_always_cheaper_by_means_that_no_test_tells_apart_is_qualified(make_run: MakeRun, tmp_path: Path) -> None:
    """Three runs of one index: kg takes now 50 tokens more than naive and now 49 fewer, community 500 more."""
    more = {"naive": (0, 0), "kg": (50, -49), "community": (500, 480)}
    runs = [write_run(tmp_path, ScoredRun(name, {"accuracy": [1.0] * N})) for name in more]
    index = known(make_run(types=TYPES).index())
    for run, two in zip(runs, more.values(), strict=True):
        run.write_index(index.model_copy(update={"index_id": run.manifest().index_id}))
        again = []
        for number, record in enumerate(run.records().values()):
            cost = record.cost.model_copy(update={"usage": {"generator": tokens(1_000 + two[number % 2])}})
            again.append(record.model_copy(update={"attempt": 2, "cost": cost}))
        close_again(run, *again)
    group = group_of(*runs)
    _, cheaper, *_ = crossings_of(group)
    unsure = "(no significant difference)"
    assert [row[1:4] for row in cheaper.rows] == [
        (NOTHING, f"always {unsure}", "always"),
        (f"never {unsure}", NOTHING, "always"),
        ("never", "never", NOTHING),
    ]
    # Without scores nothing was tested.
    found = find(group)
    alone = replace(found, ranking=replace(found.ranking, comparisons=()))
    (untested, *_) = [one for one in break_even_tables(group, alone) if "cheaper" in one.name]
    assert untested.rows[0][2:4] == ("always (not tested)",) * 2


def test_means_of_a_cost_are_over_the_queries_that_all_ranked_runs_have(tmp_path: Path) -> None:
    seconds = [float(number) for number in range(1, N + 1)]
    plans = [
        ScoredRun(name, {"accuracy": right(20, N)}, latency_s=seconds, replayed=replayed)
        for name, replayed in (("naive", 2), ("kg", 0))
    ]
    found = standings(written(tmp_path, *plans), "latency_s")
    last_38 = sum(seconds[2:]) / 38
    assert {name: known(one.score).value for name, one in found.items()} == {"naive": last_38, "kg": last_38}


def test_a_run_with_too_many_unknown_costs_is_not_ranked_by_them(tmp_path: Path) -> None:
    kg = write_run(tmp_path, ScoredRun("kg", {"accuracy": right(20, N)}, input_tokens=1_000))
    # Of the last queries a server counted only a part.
    cost = {"usage": {"generator": Usage(calls=2, input_tokens=1, unmetered_calls=1)}}
    last = list(kg.records().values())[-3:]
    again = [one.model_copy(update={"attempt": 2, "cost": one.cost.model_copy(update=cost)}) for one in last]
    close_again(kg, *again)
    group = group_of(write_run(tmp_path, ScoredRun("naive", {"accuracy": right(20, N)}, replayed=10)), kg)
    by_tokens = standings(group, "tokens")["kg"]
    assert by_tokens.status == "not ranked"
    assert known(by_tokens.tokens).at_least
    assert standings(group, "latency_s")["naive"].status == "not ranked"


def test_costs_are_in_the_mix_of_query_types_of_the_score(tmp_path: Path) -> None:
    # Later queries take more tokens, and the second half is of the type that the data set has more of.
    types, mix = ("inference_query",) * 20 + ("null_query",) * 20, {"inference_query": 10, "null_query": 90}
    plans = [
        ScoredRun(name, {"accuracy": right(count, N)}, types=types, type_mix=mix)
        for name, count in (("naive", 25), ("kg", 35))
    ]
    group = written(tmp_path, *plans)
    natural = known(group.views[0].row("tokens", NATURAL))
    assert natural.mean != group.views[0].value("tokens")
    assert {one.tokens and one.tokens.value for one in standings(group, "accuracy").values()} == {natural.mean}


@pytest.mark.parametrize(
    ("cost", "said", "noted"),
    [
        (Cost(wall_s=30.0), "30", ""),
        (Cost(wall_s=30.0, replayed_calls=3, saved_s=70.0), "100 rebuilt", "3 model calls"),
        (Cost(wall_s=30.0, cached_texts=3), "≥ 30", "a lower bound: 3 vectors"),
    ],
)
def test_seconds_of_an_index_are_measured_or_rebuilt_or_a_lower_bound(
    make_run: MakeRun, cost: Cost, said: str, noted: str
) -> None:
    group = group_of(make_run(types=TYPES, index_cost=cost))
    assert cells(index_table(group), "seconds")[0].replace(".0", "") == said
    notes = "\n".join(group.note_lines)
    assert noted in notes
    assert ("Index seconds" in notes) is bool(noted)


# Runs that only look cheap.


def assert_on_no_frontier(group: Group, new_figure: NewFigure, left_out: str, least: float) -> None:
    tokens_used = draw_pareto(group, "accuracy", new_figure)[0]
    (dashed,) = [line for line in tokens_used.figure.axes[0].lines if line.get_linestyle() == "--"]
    assert f"Outside the frontier: {left_out}." in tokens_used.caption
    assert np.min(np.asarray(dashed.get_xdata())) >= least


def assert_not_compared(group: Group, others: Sequence[str], left_out: str) -> None:
    _, cheaper, *_ = crossings_of(group)
    assert [row[0] for row in cheaper.rows] == others
    assert f"Not compared: {left_out}." in cheaper.note


@pytest.mark.slow
def test_a_run_that_fails_is_called_cheaper_than_no_other(make_run: MakeRun, new_figure: NewFigure) -> None:
    half = {"inference_query": 0.5}
    group = group_of(
        make_run(types=TYPES, usage=tokens(10_000), right=half),
        make_run(system="kg", types=TYPES, usage=tokens(10), failing=1, right={"inference_query": 1.0}),
        make_run(system="community", types=TYPES, usage=tokens(5_000), right=half),
    )
    assert name_of(group.views[1]) == "kg (5 % failed)"
    assert_not_compared(group, ["naive", "community"], "kg (fails too often)")
    assert_on_no_frontier(group, new_figure, "kg (fails too often)", least=5_000)
    # Beside one other run there is nothing to compare.
    alone = group_of(*(view.run for view in group.views[:2]))
    assert not any(table.name.startswith("cheaper_than") for table in crossings_of(alone))


@pytest.fixture
def unmetered(tmp_path: Path) -> Group:
    """A pipeline that reports little, so that it would be the cheapest, one that reports nothing, and two systems
    that were metered."""
    told = Usage(calls=1, input_tokens=1, output_tokens=1, unmetered_calls=1)
    return written(
        tmp_path,
        ScoredRun("told", {"accuracy": right(140)}, usage={OWN_MODELS: told}),
        ScoredRun("undecided", {"accuracy": right(140)}, usage={OWN_MODELS: Usage(unmetered_calls=1)}),
        ScoredRun("naive", {"accuracy": right(140)}),
        ScoredRun("kg", {"accuracy": right(140)}, input_tokens=900),
    )


def test_tokens_that_a_pipeline_reports_itself_are_marked_and_no_verdict_calls_them_few(unmetered: Group) -> None:
    found = find(unmetered).verdict
    for column, table in (("tokens", leaderboard(found)), ("input tokens", query_cost_table(unmetered))):
        shown = dict(zip(cells(table, "system"), cells(table, column), strict=True))
        assert shown["told"].startswith("≥ ")
        assert shown["told"].endswith(" as reported")
        assert shown["undecided"] == NOTHING
        assert "reported" not in shown["naive"]
    assert "as reported: by a pipeline itself" in query_cost_table(unmetered).note
    assert [bool(view.values.get("tokens")) for view in unmetered.views] == [False, False, True, True]
    assert (found.outcome, found.cheaper) == (Outcome.EQUALLY_GOOD, None)
    page = page_html([chapter_of(*(view.run for view in unmetered.views))], {})
    assert '≥ 2 <span class="ci">as reported</span>' in page.partition('class="scroll board"')[2]
    told, undecided, naive, _ = unmetered.views
    assert any("tokens are as reported by the pipeline itself, dollars unknown" in note for note in told.notes)
    assert any("tokens are unknown, dollars unknown" in note for note in undecided.notes)
    assert not any("models of its own" in note for note in naive.notes)
    assert not any("No price" in note for view in unmetered.views for note in view.notes)


@pytest.mark.slow
def test_tokens_that_a_pipeline_reports_itself_are_marked_in_figures(
    unmetered: Group, new_figure: NewFigure
) -> None:
    assert_on_no_frontier(unmetered, new_figure, "told (counted as reported by itself)", least=100)
    drawn = [draw_pareto(unmetered, "accuracy", new_figure)[0], draw_tokens(unmetered, new_figure)[0]]
    for one in drawn:
        assert "As reported by the pipeline itself, not metered: told." in one.caption
    points, bars = ([text.get_text() for text in one.figure.findobj(Text)] for one in drawn)
    assert any("told (as reported)" in one for one in points)
    assert any(one.startswith("≥ ") and one.endswith("as reported") for one in bars)


# The figures, read back from the drawings.


SMALL = {"inference_query": 2, "null_query": 1}
HOSTILE = "<b>$x_{2}$ \u202e" + "W" * 90
DRAW = (draw_latency, draw_tokens, draw_resources)


def findings(group: Group) -> Findings:
    """Of accuracy alone."""
    by_accuracy = compare_by(group.views, ["accuracy"], group.known)
    return replace(find(group), ranking=Ranking(group, "accuracy", "", group.views, by_accuracy))


def texts_in(figure: Figure) -> list[str]:
    return [found.get_text() for found in figure.findobj(Text) if isinstance(found, Text)]


def lines_of(figure: Figure, color: str) -> list[int]:
    """How many points each line of that colour has."""
    return [np.size(line.get_xdata()) for axes in figure.axes for line in axes.lines if line.get_color() == color]


def index_of(tokens: int, **cost: object) -> Cost:
    usage = {"generator": Usage(calls=1, input_tokens=tokens)}
    return Cost.model_validate({"wall_s": 42.5, "usage": usage, **cost})


@pytest.mark.slow
def test_every_figure_says_over_how_many_queries_and_fits_in_words(
    make_run: MakeRun, new_figure: NewFigure
) -> None:
    group = group_of(make_run(types=SMALL), make_run(system="kg", types=SMALL, index_cost=index_of(5_000)))
    drawn = [one for draw in DRAW for one in draw(group, new_figure)]
    drawn += draw_significance(findings(group), new_figure)
    stems = [one.stem for one in drawn]
    assert {"latency", "tokens", "usd"} <= set(stems)
    assert len(stems) == len(set(stems))
    assert all(one.caption.endswith(".") and 0 < len(one.alt) <= 300 for one in drawn)
    told = {one.stem: one.caption for one in drawn}
    for stem in ("latency", "tokens", "usd", "significance"):
        assert "n = 3" in told[stem]


@pytest.mark.slow
def test_runs_without_anything_measured_draw_nothing(make_run: MakeRun, new_figure: NewFigure) -> None:
    none = {"provider": "none"}
    group = group_of(make_run(types=SMALL, missing=3, sessions=(), indexed=False, generator=none, evaluated=False))
    assert [draw(group, new_figure) for draw in DRAW] == [[]] * len(DRAW)
    assert draw_significance(find(group), new_figure) == []
    assert crossings_of(group) == []


@pytest.mark.slow
def test_long_and_hostile_names_of_many_runs_are_drawn(
    make_run: MakeRun, new_figure: NewFigure, tmp_path: Path
) -> None:
    group = group_of(*(make_run(system=f"{HOSTILE}{k}", types=SMALL, sessions=(2,)) for k in range(10)))
    for draw in (draw_latency, draw_tokens):
        for one in draw(group, new_figure):
            assert "<b>" not in publish(one, tmp_path).svg
            assert one.figure.get_size_inches()[1] < 8


@pytest.mark.slow
def test_throttling_stands_apart_only_where_there_was_some(tmp_path: Path, new_figure: NewFigure) -> None:
    run = write_run(tmp_path, ScoredRun(scores={"accuracy": [1.0, 0.0, 1.0]}))
    (calm,) = draw_latency(group_of(run), new_figure)
    assert len(calm.figure.axes) == 1
    assert "No system waited" in calm.caption
    record = next(run.iter_records())
    throttled = record.cost.model_copy(update={"wall_s": 5.0, "throttled_s": 3.0})
    close_again(run, record.model_copy(update={"attempt": 2, "cost": throttled}))
    (busy,) = draw_latency(group_of(run), new_figure)
    assert len(busy.figure.axes) == 2
    assert group_of(run).views[0].latencies == (2.0, 2.0, 2.0)


@pytest.mark.slow
def test_unknown_throttling_is_not_said_to_be_none(tmp_path: Path, new_figure: NewFigure) -> None:
    known, unknown = scored(tmp_path, {"naive": [1.0, 0.0], "kg": [1.0, 0.0]})
    for record in list(unknown.iter_records()):
        cost = record.cost.model_copy(update={"throttled_s": None})
        close_again(unknown, record.model_copy(update={"attempt": 2, "cost": cost}))
    (alone,) = draw_latency(group_of(unknown), new_figure)
    (both,) = draw_latency(group_of(known, unknown), new_figure)
    assert "waited for its provider" not in alone.caption
    assert "Throttling is unknown" in alone.caption
    assert "Throttling of kg is unknown" in both.caption
    assert "No other system waited for its provider" in both.caption


@pytest.mark.slow
def test_tokens_that_were_not_counted_are_a_dash_and_no_bar(tmp_path: Path, new_figure: NewFigure) -> None:
    plans = [
        ScoredRun(name, {"accuracy": [1.0, 0.0]}, input_tokens=n) for name, n in (("naive", 100), ("kg", None))
    ]
    group = written(tmp_path, *plans)
    tokens, usd = draw_tokens(group, new_figure)
    # Input and output of one run; neither has an index.
    assert [len(axes.patches) for axes in tokens.figure.axes] == [2, 0]
    assert texts_in(tokens.figure).count(NOTHING) == 3
    assert "kg not measured." in tokens.alt
    assert "naive" in usd.alt
    assert crossings_of(group) == []


@pytest.mark.slow
def test_a_query_is_shown_with_its_share_of_the_index(make_run: MakeRun) -> None:
    naive = make_run(types=SMALL, usage=Usage(calls=1, input_tokens=3_000), index_cost=index_of(0))
    kg = make_run(system="kg", types=SMALL, usage=Usage(calls=1, input_tokens=1_000), index_cost=index_of(100_000))
    bare = make_run(system="gold", types=SMALL, usage=Usage(calls=1, input_tokens=9), indexed=False)
    amortised, cheaper, *usd = crossings_of(group_of(naive, kg, bare))
    assert amortised.header[2:] == tuple(f"over {n} queries" for n in ("3", "100", "1,000", "10,000"))
    assert [row[3] for row in amortised.rows] == [Quantity(3_000), Quantity(2_000), None]
    assert cheaper.header == ("system", "than naive", "than kg", "accuracy")
    assert [row[1:3] for row in cheaper.rows] == [(NOTHING, "up to 49"), ("from 51 on", NOTHING)]
    assert [table.name for table in usd] == ["break_even_usd", "cheaper_than_usd"]


@pytest.mark.slow
def test_the_crossing_carries_the_limits_of_both_means(tmp_path: Path, make_run: MakeRun) -> None:
    plans = [
        ScoredRun(name, {"accuracy": [1.0] * 20}, input_tokens=tokens)
        for name, tokens in (("naive", 300), ("kg", 100))
    ]
    runs = [write_run(tmp_path, plan) for plan in plans]
    for run, (name, tokens) in zip(runs, (("x", 0), ("y", 40_000)), strict=True):
        index = known(make_run(system=name, types=SMALL, index_cost=index_of(tokens)).index())
        run.write_index(index.model_copy(update={"index_id": run.manifest().index_id}))
        close_again(run)
    cell = crossings_of(group_of(*runs))[1].rows[1][1]
    assert isinstance(cell, str)
    low, high = (int(limit) for limit in cell.removesuffix("]").split("[")[1].split(","))
    assert cell.startswith("from 201 on")
    assert low < 200 < high


@pytest.mark.slow
def test_free_models_have_no_dollars_to_break_even(make_run: MakeRun, new_figure: NewFigure) -> None:
    local = {"provider": "local", "model": "llama"}
    group = group_of(make_run(types=SMALL, generator=local), make_run(system="kg", types=SMALL, generator=local))
    assert [table.name for table in crossings_of(group)] == ["break_even_tokens", "cheaper_than_tokens"]
    assert [one.stem for one in draw_tokens(group, new_figure)] == ["tokens"]


def resources_of(new_figure: NewFigure, run: RunDir) -> Drawing:
    (drawing,) = draw_resources(group_of(run), new_figure)
    return drawing


@pytest.mark.slow
def test_resources_have_a_line_for_each_phase_session_and_server(
    make_run: MakeRun, new_figure: NewFigure, tmp_path: Path
) -> None:
    # CPU and RAM; then a line more in each panel for the index, and one for the second session.
    for sessions, n_lines in (((3,), 2), ((12,), 4), ((12, 6), 6)):
        drawn = resources_of(new_figure, make_run(types=SMALL, sessions=sessions))
        assert len(lines_of(drawn.figure, PALETTE[0])) == n_lines
        assert lines_of(drawn.figure, PALETTE[5]) == []
    having = resources_of(new_figure, make_run(system="kg", types=SMALL, sessions=(3,), server=True))
    assert lines_of(having.figure, PALETTE[5]) == [3, 3]
    lonely = publish(resources_of(new_figure, make_run(types=SMALL, sessions=(1,))), tmp_path)
    assert (tmp_path / lonely.path).is_file()


@pytest.mark.slow
def test_thousands_of_samples_become_means_over_stretches_of_time(
    make_run: MakeRun, new_figure: NewFigure, tmp_path: Path
) -> None:
    run = make_run(types=SMALL, sessions=(3_000, 1_000), server=True)
    drawing = resources_of(new_figure, run)
    assert "4,000 samples, drawn as means over 13.3 s each" in drawing.caption
    assert 590 <= sum(lines_of(drawing.figure, PALETTE[0])) / 2 <= 603
    assert publish(drawing, tmp_path).path.suffix == ".svg"
    assert (tmp_path / "figures" / f"{drawing.stem}.svg").stat().st_size < 150_000


@pytest.mark.slow
def test_of_too_many_pairs_those_with_the_best_are_drawn(tmp_path: Path, new_figure: NewFigure) -> None:
    runs = scored(tmp_path, {f"s{k}": right(k, 30) for k in range(0, 27, 3)})
    group = group_of(*runs)
    (drawing,) = draw_significance(findings(group), new_figure)
    (axes,) = drawing.figure.axes
    # The best, s24, is A in every row: nobody's difference is below zero.
    assert "those with s24" in drawing.caption
    assert [label.get_text() for label in axes.get_yticklabels()] == [f"− s{k}" for k in range(0, 24, 3)]  # noqa: RUF001
    marks = [float(np.asarray(line.get_xdata())[0]) for line in axes.lines if line.get_marker() == "o"]
    assert len(marks) == 8
    assert min(marks) > 0
    few = group_of(*runs[:3])
    assert "table has all" not in draw_significance(findings(few), new_figure)[0].caption
