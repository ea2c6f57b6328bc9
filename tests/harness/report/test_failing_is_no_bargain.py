"""Who fails, or is not counted in full, looks cheap: it is marked, and called neither cheapest nor fastest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from paired_runs import ScoredRun, close_again, write_run
from report_groups import group_of

from harness.core.records import Failure, Usage
from harness.display import NOTHING, Quantity, Table, format_value
from harness.display.plotting import plotting
from harness.report.figures.costs import draw_latency
from harness.report.figures.marks import name_of
from harness.report.figures.pareto import draw_pareto
from harness.report.tables.break_even import break_even_tables
from harness.report.tables.costs import latency_table, phases_table, query_cost_table
from harness.report.verdict.findings import find
from harness.report.view import Group
from harness.store import RunDir

if TYPE_CHECKING:
    from harness.display.plotting import NewFigure

MakeRun = Callable[..., RunDir]
TYPES = {"inference_query": 20}
TIMEOUT = Failure(kind="timeout", message="no answer within 9 s")
CHEAP = Usage(calls=1, input_tokens=10)
DEAR = Usage(calls=1, input_tokens=10_000)
BLIND = Usage(calls=2, input_tokens=10, unmetered_calls=1)


def crossings_of(group: Group) -> list[Table]:
    return break_even_tables(group, find(group))


def cells(table: Table | None, column: str) -> list[str]:
    assert table is not None
    return [format_value(row[table.header.index(column)]) for row in table.rows]


@pytest.fixture
def new_figure() -> Iterator[NewFigure]:
    with plotting() as made:
        yield made


def test_what_falls_among_queries_that_timed_out_is_a_lower_bound_and_the_table_says_why(
    make_run: MakeRun,
) -> None:
    group = group_of(
        make_run(types=TYPES, failing=3, failure=TIMEOUT, latency_s=1.0),
        make_run(system="kg", types=TYPES, failing=3, latency_s=1.0),
    )
    table = latency_table(group)
    assert [cell.startswith("≥ ") for cell in cells(table, "p50, s")] == [False, False]
    for column in ("p90, s", "p99, s", "mean, s", "wall mean, s"):
        assert [cell.startswith("≥ ") for cell in cells(table, column)] == [True, False]
    assert (cells(table, "n"), cells(table, "timed out"), cells(table, "left out")) == (
        ["20", "17"],
        ["3", "0"],
        ["0", "3"],
    )
    assert table is not None
    assert "Restricted" in table.note
    assert "Restricted" not in latency_table(group_of(make_run(system="x", types=TYPES))).note  # type: ignore[union-attr]
    notes = "\n".join(group.note_lines)
    assert "Fails 15 % of its queries" in notes


def test_the_share_that_failed_stands_beside_what_a_query_costs(make_run: MakeRun) -> None:
    table = query_cost_table(group_of(make_run(types=TYPES, failing=3), make_run(system="kg", types=TYPES)))
    assert cells(table, "failed, %") == ["15", "0"]
    assert "1 % of its queries" in table.note


def test_a_share_of_failures_is_not_0_where_one_failed_and_not_1_where_it_bars_a_run(make_run: MakeRun) -> None:
    types = {"inference_query": 800}
    runs = [make_run(system=f"f{n}", types=types, failing=n, sessions=()) for n in (0, 1, 9)]
    group = group_of(*runs)
    assert cells(query_cost_table(group), "failed, %") == ["0", "0.125", "1.12"]
    assert [view.fails_too_often for view in group.views] == [False, False, True]
    assert name_of(group.views[2]) == "f9 (1.12 % failed)"


def test_a_run_that_fails_is_not_cheaper_than_anybody(make_run: MakeRun) -> None:
    runs = [
        make_run(types=TYPES, usage=DEAR),
        make_run(system="kg", types=TYPES, usage=CHEAP, failing=1),
        make_run(system="community", types=TYPES, usage=Usage(calls=1, input_tokens=5_000)),
    ]
    _, cheaper, *_ = crossings_of(group_of(*runs))
    assert cheaper.header == ("system", "than naive", "than community", "accuracy")
    assert [row[1:3] for row in cheaper.rows] == [(NOTHING, "never"), ("always", NOTHING)]
    assert "Not compared: kg (fails too often)." in cheaper.note


def test_who_is_always_cheaper_by_means_that_no_test_tells_apart_is_said_to_be_just_that(
    make_run: MakeRun, tmp_path: Path
) -> None:
    """Three runs of one index: kg takes now 50 tokens more than naive and now 49 fewer, community 500 more."""
    runs = [
        write_run(tmp_path, ScoredRun(name, {"accuracy": [1.0] * 40})) for name in ("naive", "kg", "community")
    ]
    index = make_run(types=TYPES).index()
    assert index is not None
    for run, more in zip(runs, ((0, 0), (50, -49), (500, 480)), strict=True):
        run.write_index(index.model_copy(update={"index_id": run.manifest().index_id}))
        again = []
        for number, record in enumerate(run.records().values()):
            usage = {"generator": Usage(calls=1, input_tokens=1_000 + more[number % 2])}
            cost = record.cost.model_copy(update={"usage": usage})
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
    # Of the same run where nobody was scored, no test says anything.
    found = find(group)
    assert found.ranking is not None
    alone = replace(found, ranking=replace(found.ranking, comparison=None))
    (untested, *_) = [one for one in break_even_tables(group, alone) if "cheaper" in one.name]
    assert untested.rows[0][2:4] == ("always (not tested)",) * 2


def test_tokens_that_were_not_all_counted_are_lower_bounds_and_compared_with_nobody(make_run: MakeRun) -> None:
    group = group_of(make_run(types=TYPES, usage=DEAR), make_run(system="kg", types=TYPES, usage=BLIND))
    amortised, *others = crossings_of(group)
    assert [table.name for table in others] == ["break_even_usd"]
    last = amortised.rows[1][-1]
    assert isinstance(last, Quantity)
    assert last.at_least
    assert cells(query_cost_table(group), "input tokens") == ["10,000", "≥ 10"]
    phases = cells(phases_table(group), "input tokens")
    assert [cell.startswith("≥ ") for cell in phases] == [False] * 5 + [True] * 3
    assert "lower bounds" in "\n".join(group.note_lines)


@pytest.mark.slow  # Drawing takes about a second a figure.
def test_who_fails_stands_marked_outside_the_frontier(make_run: MakeRun, new_figure: NewFigure) -> None:
    honest = make_run(types=TYPES, usage=DEAR, right={"inference_query": 0.5})
    failing = make_run(system="kg", types=TYPES, usage=CHEAP, failing=1, right={"inference_query": 1.0})
    group = group_of(honest, failing)
    assert name_of(group.views[1]) == "kg (5 % failed)"
    tokens = draw_pareto(group, "accuracy", new_figure)[0]
    assert "Outside the frontier: kg (fails too often)." in tokens.caption
    (axes,) = tokens.figure.axes
    (dashed,) = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert min(dashed.get_xdata()) >= 10_000  # type: ignore[type-var, operator, arg-type]
    assert not any(table.name.startswith("cheaper_than") for table in crossings_of(group))


@pytest.mark.slow
def test_the_distribution_of_latencies_holds_those_that_timed_out(
    make_run: MakeRun, new_figure: NewFigure
) -> None:
    group = group_of(make_run(types=TYPES, failing=12, failure=TIMEOUT, latency_s=1.0))
    (latency,) = draw_latency(group, new_figure)
    assert len(group.views[0].latencies) == 20
    assert "Restricted" in latency.caption
    assert any(text.get_text().startswith("≥ ") for text in latency.figure.axes[0].texts)
