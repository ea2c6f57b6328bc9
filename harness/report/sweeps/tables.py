"""A sweep in numbers, and the best run for each budget."""

from __future__ import annotations

from itertools import chain

from harness.report.findings import Findings
from harness.report.nouns import Table
from harness.report.sweeps.axes import Line, Point, Sweep, find_sweeps
from harness.report.sweeps.budgets import budget_tables
from harness.report.tables.index import index_seconds
from harness.report.text import NOTHING, file_name, number, population, ratio
from harness.report.view import Group


def sweep_tables(group: Group, findings: Findings) -> list[Table]:
    """A table for each swept parameter, then the best run under each budget; nothing where nothing is swept."""
    sweeps = find_sweeps(group)
    if not sweeps:
        return []
    swept = {point.position for sweep in sweeps for line in sweep.lines for point in line.points}
    return [
        *(_sweep_table(group, findings, sweep) for sweep in sweeps),
        *budget_tables(group, findings, sorted(swept)),
    ]


def _sweep_table(group: Group, findings: Findings, sweep: Sweep) -> Table:
    measure = findings.measure or "accuracy"
    rows = chain.from_iterable(
        (_point_row(group, measure, line, point) for point in line.points) for line in sweep.lines
    )
    return Table(
        name=f"sweep_{file_name(sweep.parameter)}",
        title=f"Over {sweep.parameter}",
        header=(
            *("runs", sweep.parameter, f"{measure} [95 % CI]", "n", "tokens a query", "latency p50, s"),
            *("USD a query", "index, s", "index"),
        ),
        rows=tuple(rows),
        note="An index is built once for all runs whose index parameters are the same.",
    )


def _point_row(group: Group, measure: str, line: Line, point: Point) -> tuple[str, ...]:
    view = group.views[point.position]
    row, index = view.row(measure), view.run.index()
    built = NOTHING if index is None else "reused" if index.reused_from else "built"
    costs = [number(view.value(name)) for name in ("tokens", "latency_s_p50", "usd")]
    return (line.name, number(point.value), ratio(row), population(row), *costs, index_seconds(view), built)
