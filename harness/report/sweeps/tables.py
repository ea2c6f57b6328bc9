"""A sweep in numbers, and the best run under each budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from harness.display import Entry, Quantity, Table, file_name
from harness.report.aggregates import plain, population, share
from harness.report.comparable_costs import listed_apart, why_no_price
from harness.report.sweeps.find_sweeps import Sweep, SweepLine, SweepPoint, find_sweeps
from harness.report.tables.cost import FAILING
from harness.report.tables.index import index_seconds
from harness.report.verdict.findings import Findings
from harness.report.view import Group
from harness.statistics import Aggregate
from harness.statistics.best_of_many import best_of
from harness.statistics.non_inferior import cheapest_as_good
from harness.statistics.paired_comparison import MeasureComparison


def sweep_tables(group: Group, findings: Findings) -> list[Table]:
    """A table for each swept parameter, then the best run for each budget; nothing without a sweep."""
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


BUDGETS: Mapping[str, str] = {"tokens": "tokens a query", "usd": "USD a query", "latency_s_p50": "seconds (p50)"}
"""Cost -> name of its budget."""


@dataclass(frozen=True)
class _Verdicts:
    """Which run is better by the metric that ranks."""

    group: Group
    findings: Findings
    compared: MeasureComparison

    def merit(self, position: int) -> float | None:
        """The mean, negated if lower is better; None if it was not compared."""
        if position not in self.findings.entrants:
            return None
        value = self.compared.means[self.place(position)]
        return -value if value is not None and self.compared.measure.higher_is_better is False else value

    def place(self, position: int) -> int:
        """Of a run of the group in the comparison."""
        return self.findings.entrants.index(position)

    def spent(self, position: int, cost: str) -> Aggregate | None:
        """The cost of a query of a run, in the mix of query types of its score; None if unknown."""
        row = self.findings.row_of(self.group, position, cost)
        return row if row is not None and row.mean is not None else None

    def why_outside(self, position: int, cost: str) -> str:
        """Why a run is not to be had for that; empty: it is."""
        return why_no_price(self.group.views[position], cost, self.spent(position, cost))

    def outside(self, left: Mapping[int, str]) -> str:
        """The runs that were left out, with reasons; empty if there are none, otherwise a sentence preceded by a
        space.
        """
        named = listed_apart({self.group.views[position].label: why for position, why in left.items()})
        return f" {FAILING} Not compared: {named}." if named else ""


def budget_tables(group: Group, findings: Findings, positions: Sequence[int]) -> list[Table]:
    """For each kind of cost: the runs that are better than all cheaper ones, each with the cheapest that is as
    good. `positions` in `group.views`; nothing where runs were not compared or cost nothing. A run that failed or
    refused too often, is not finished or was not counted in full is in none: it only looks cheap. Costs are in the
    mix in which the answers are.
    """
    if findings.ranked is None:
        return []
    verdicts = _Verdicts(group, findings, findings.ranked)
    tables = (_table(verdicts, positions, cost) for cost in BUDGETS)
    return [table for table in tables if table is not None]


def _table(verdicts: _Verdicts, positions: Sequence[int], cost: str) -> Table | None:
    spent = {position: row for position in positions if (row := verdicts.spent(position, cost))}
    left = {position: why for position in spent if (why := verdicts.why_outside(position, cost))}
    costs = {position: row.mean for position, row in spent.items() if position not in left and row.mean}
    steps = list(_frontier(verdicts, sorted(costs, key=lambda position: (costs[position], position))))
    if not steps:
        return None
    name, within = verdicts.compared.measure.name, verdicts.findings.margin
    return Table(
        name=f"best_under_{cost}",
        title=f"Best under a budget of {BUDGETS[cost]}",
        header=(
            *("budget", "best", f"{name} [95 % CI]", "best of", "corrected"),
            *(f"cheapest within {within} (non-inferior)", f"its {name}", "its cost"),
        ),
        rows=tuple(_row(verdicts, costs, step) for step in steps),
        note=_note(within) + verdicts.outside(left),
    )


def _note(within: str) -> str:
    return (
        "The best of several is chosen and measured on the same queries, so its score is too high. Corrected: the "
        "score on one half of the queries of the run chosen on the other half. Non-inferior: the 95 % interval "
        f"excludes that it is worse by {within} or more than any run within the budget (--margin)."
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
    best, views, compared = affordable[-1], verdicts.group.views, verdicts.compared
    places = [verdicts.place(position) for position in affordable]
    chosen = best_of(compared, places)
    entries: tuple[Entry, ...] = (
        plain(costs[best]),
        views[best].label,
        share(verdicts.findings.rows[best]),
        Quantity(len(affordable), unit="count"),
        Quantity(chosen.mean, unit="share") if chosen and len(places) > 1 else None,
    )
    prices = [costs.get(position) for position in verdicts.findings.entrants]
    good = cheapest_as_good(compared, prices, places, verdicts.findings.margin_value)
    if good is None:
        return (*entries, "none is shown to be", None, None)
    alike = verdicts.findings.entrants[good.place]
    named = "itself" if alike == best else views[alike].label
    return (*entries, named, share(verdicts.findings.rows[alike]), plain(costs[alike]))
