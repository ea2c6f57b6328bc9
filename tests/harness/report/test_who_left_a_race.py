"""Figures and tables of costs where a run left a race: it was asked fewer of the same queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from report_groups import group_of

from harness.core.records import RaceDrop, RaceRecord, Usage
from harness.display.plotting import plotting
from harness.report.figures.pareto import draw_pareto
from harness.report.tables.break_even import break_even_tables
from harness.report.verdict.findings import find
from harness.store import RunDir

if TYPE_CHECKING:
    from harness.display import Table
    from harness.report.view import Group

pytestmark = pytest.mark.slow  # Drawing takes about a second a figure.

MakeRun = Callable[..., RunDir]
TYPES = {"inference_query": 40}


def crossings_of(group: Group) -> list[Table]:
    return break_even_tables(group, find(group))


@pytest.fixture
def group(make_run: MakeRun) -> Group:
    """Two runs that stayed, and before them a cheap and good one that left after 8 queries."""
    runs = {
        "left": make_run(system="left", types=TYPES, usage=Usage(calls=1, input_tokens=10), right={}),
        "naive": make_run(types=TYPES, usage=Usage(calls=1, input_tokens=500)),
        "kg": make_run(system="kg", types=TYPES, usage=Usage(calls=1, input_tokens=900)),
    }
    ids = {system: run.run_id for system, run in runs.items()}
    race = RaceRecord(
        measure="accuracy",
        margin=5.0,
        alpha=0.05,
        n_queries=40,
        n_drawn=40,
        entrants=tuple(ids.values()),
        left=(ids["naive"], ids["kg"]),
        dropped=(RaceDrop(run_id=ids["left"], after=8, against=ids["kg"], low=3.2, high=41.0),),
        gaps=(),
        ended="decided",
    )
    for system, run in runs.items():
        done, sample = run.done(), [row.query.query_id for row in run.sample()]
        assert done is not None
        run.reopen()
        run.write_race(race)
        run.mark_done(done, sample[:8] if system == "left" else (), "eliminated from the race")
    return group_of(*runs.values())


def test_it_is_on_no_frontier_of_those_that_stayed(group: Group) -> None:
    with plotting() as new_figure:
        tokens = draw_pareto(group, "accuracy", new_figure)[0]
        (dashed,) = [line for line in tokens.figure.axes[0].lines if line.get_linestyle() == "--"]
    assert "Outside the frontier: left (left the race after 8 queries)." in tokens.caption
    assert min(dashed.get_xdata()) >= 500  # type: ignore[type-var, operator, arg-type]


def test_it_is_no_bargain(group: Group) -> None:
    _, cheaper, *_ = crossings_of(group)
    assert [row[0] for row in cheaper.rows] == ["naive", "kg"]
    assert "Not compared: left (left the race after 8 queries)." in cheaper.note
