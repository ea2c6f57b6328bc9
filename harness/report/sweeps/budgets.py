"""What more money buys: the best run for each budget, and whether it is more than chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.analysis.paired import MeasureComparison
from harness.report.findings import Findings
from harness.report.nouns import Table
from harness.report.text import number, ratio
from harness.report.view import Group

BUDGETS: Mapping[str, str] = {"tokens": "tokens a query", "usd": "USD a query", "latency_s_p50": "seconds (p50)"}
"""Measure of cost -> what a budget of it is called."""
_NOTE = (
    "Chosen and measured on the same queries, so the best of many looks a little better than it is. "
    "Not told apart: no significant difference after Holm over all pairs of runs."
)


@dataclass(frozen=True)
class _Verdicts:
    """Who is better, by the measure that ranks the group."""

    group: Group
    compared: MeasureComparison
    places: Mapping[int, int]
    """Position of a view -> its position in the comparison."""

    def merit(self, position: int) -> float | None:
        """The mean, turned so that more is better; None where there is none or the run was not compared."""
        value = self.group.views[position].value(self.compared.measure.name)
        if value is None or position not in self.places:
            return None
        return -value if self.compared.measure.higher_is_better is False else value

    def differ(self, one: int, other: int) -> bool:
        """Whether the difference of two runs is more than chance."""
        wanted = {self.places[one], self.places[other]}
        return any(pair.significant for pair in self.compared.pairs if {pair.a, pair.b} == wanted)


def budget_tables(group: Group, findings: Findings, positions: Sequence[int]) -> list[Table]:
    """For each kind of cost: the runs that are better than all cheaper ones, each with the cheapest that is not
    told apart from it. `positions` in `group.views`; nothing where runs were not compared or cost nothing.
    """
    verdicts = _verdicts(group, findings)
    if verdicts is None:
        return []
    tables = (_table(verdicts, positions, cost) for cost in BUDGETS)
    return [table for table in tables if table is not None]


def _verdicts(group: Group, findings: Findings) -> _Verdicts | None:
    if findings.comparison is None:
        return None
    named = (one for one in findings.comparison.measures if one.measure.name == findings.measure)
    compared = next(named, None)
    if compared is None:
        return None
    places = {one.run.path.resolve(): place for place, one in enumerate(findings.comparison.runs)}
    known = {
        position: places[path]
        for position, view in enumerate(group.views)
        if (path := view.run.path.resolve()) in places
    }
    return _Verdicts(group, compared, known)


def _table(verdicts: _Verdicts, positions: Sequence[int], cost: str) -> Table | None:
    costs = {position: value for position in positions if (value := verdicts.group.views[position].value(cost))}
    steps = list(_frontier(verdicts, sorted(costs, key=lambda position: (costs[position], position))))
    if not steps:
        return None
    name = verdicts.compared.measure.name
    return Table(
        name=f"best_under_{cost}",
        title=f"Best under a budget of {BUDGETS[cost]}",
        header=("budget", "best", f"{name} [95 % CI]", "cheapest that is not told apart from it", "its cost"),
        rows=tuple(_row(verdicts, costs, step) for step in steps),
        words=True,
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


def _row(verdicts: _Verdicts, costs: Mapping[int, float], affordable: Sequence[int]) -> tuple[str, ...]:
    best, views = affordable[-1], verdicts.group.views
    alike = next(position for position in affordable if position == best or not verdicts.differ(position, best))
    shown = ("itself", number(costs[best])) if alike == best else (views[alike].label, number(costs[alike]))
    return (number(costs[best]), views[best].label, ratio(views[best].row(verdicts.compared.measure.name)), *shown)
