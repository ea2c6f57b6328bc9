"""A sweep in numbers, and the best run for each budget."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from harness.display import Entry, Table, file_name
from harness.report.aggregates import plain, population
from harness.report.sweeps.axes import Sweep, SweepLine, SweepPoint, find_sweeps
from harness.report.sweeps.budgets import budget_tables
from harness.report.tables.index import index_seconds
from harness.report.verdict.findings import Findings
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
    measure = findings.measure
    rows = chain.from_iterable(
        (_point_row(group, findings, line, point) for point in line.points) for line in sweep.lines
    )
    return Table(
        name=f"sweep_{file_name(sweep.parameter)}",
        title=f"Over {sweep.parameter}",
        header=(
            *("runs", sweep.parameter, f"{measure or 'score'} [95 % CI]", "n", "tokens a query", "latency p50, s"),
            *("USD a query", "index, s", "index"),
        ),
        rows=tuple(rows),
        note=f"Means as in the leaderboard, {findings.weighed}. An index is built once for all runs whose index "
        "parameters are the same.",
    )


def _point_row(group: Group, findings: Findings, line: SweepLine, point: SweepPoint) -> tuple[Entry, ...]:
    own, index = findings.line_at(group, point.position), group.views[point.position].run.index()
    built = None if index is None else "reused" if index.reused_from else "built"
    costs = [own.spent(name) for name in ("tokens", "latency_s_p50", "usd")]
    named = replace(own, label=line.name).named
    score = (own.mean, population(own.row))
    return (named, plain(point.value), *score, *costs, index_seconds(group.views[point.position]), built)
