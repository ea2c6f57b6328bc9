"""What more money buys: the best run for each budget, and whether it is more than chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.analysis.paired import MeasureComparison
from harness.display import Entry, Table
from harness.report.aggregates import plain, share
from harness.report.tables.cost import FAILING
from harness.report.view import Group
from harness.report.words.findings import Findings

BUDGETS: Mapping[str, str] = {"tokens": "tokens a query", "usd": "USD a query", "latency_s_p50": "seconds (p50)"}
"""Measure of cost -> what a budget of it is called."""
_NOTE = (
    "Chosen and measured on the same queries, so the best of many looks a little better than it is. "
    f"Not told apart: no significant difference after Holm over all pairs of runs. {FAILING}"
)


@dataclass(frozen=True)
class _Verdicts:
    """Who is better, by the measure that ranks the group."""

    group: Group
    compared: MeasureComparison
    entrants: tuple[int, ...]

    def merit(self, position: int) -> float | None:
        """The mean, turned so that more is better; None where there is none or the run was not compared."""
        value = self.group.views[position].value(self.compared.measure.name)
        if value is None or position not in self.entrants:
            return None
        return -value if self.compared.measure.higher_is_better is False else value

    def differ(self, one: int, other: int) -> bool:
        """Whether the difference of two runs is more than chance."""
        wanted = {self.entrants.index(one), self.entrants.index(other)}
        return any(pair.significant for pair in self.compared.pairs if {pair.a, pair.b} == wanted)


def budget_tables(group: Group, findings: Findings, positions: Sequence[int]) -> list[Table]:
    """For each kind of cost: the runs that are better than all cheaper ones, each with the cheapest that is not
    told apart from it. `positions` in `group.views`; nothing where runs were not compared or cost nothing.
    """
    if findings.ranked is None:
        return []
    verdicts = _Verdicts(group, findings.ranked, findings.entrants)
    tables = (_table(verdicts, positions, cost) for cost in BUDGETS)
    return [table for table in tables if table is not None]


def _table(verdicts: _Verdicts, positions: Sequence[int], cost: str) -> Table | None:
    views = verdicts.group.views
    honest = [position for position in positions if not views[position].fails_too_often]
    costs = {position: value for position in honest if (value := views[position].value(cost))}
    steps = list(_frontier(verdicts, sorted(costs, key=lambda position: (costs[position], position))))
    if not steps:
        return None
    name = verdicts.compared.measure.name
    return Table(
        name=f"best_under_{cost}",
        title=f"Best under a budget of {BUDGETS[cost]}",
        header=("budget", "best", f"{name} [95 % CI]", "cheapest that is not told apart from it", "its cost"),
        rows=tuple(_row(verdicts, costs, step) for step in steps),
        note=_NOTE,
    )


def _frontier(verdicts: _Verdicts, by_cost: Sequence[int]) -> Iterator[list[int]]:
    """For each run that is better than all cheaper ones: the runs that cost no more, itself last."""
    best: float | None = None
    for place, position in enumerate(by_cost):
        merit = verdicts.merit(position)
        if merit is not None and (best is None or merit > best):
            best = merit
            yield [at for at in by_cost[: place + 1] if verdicts.merit(at) is not None]


def _row(verdicts: _Verdicts, costs: Mapping[int, float], affordable: Sequence[int]) -> tuple[Entry, ...]:
    best, views = affordable[-1], verdicts.group.views
    alike = next(position for position in affordable if position == best or not verdicts.differ(position, best))
    named = "itself" if alike == best else views[alike].label
    score = share(views[best].row(verdicts.compared.measure.name))
    return (plain(costs[best]), views[best].label, score, named, plain(costs[alike]))
