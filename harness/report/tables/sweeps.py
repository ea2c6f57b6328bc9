"""Sweeps: runs that differ in one number, what it changes, and which run is best under a budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.config.yaml_limits import flatten
from harness.display import Entry, Quantity, Table, file_name
from harness.report.labels import determining, labels, short_keys
from harness.report.quantities import (
    cost_quantity,
    not_compared,
    plain,
    population,
    self_reported_mark,
    share,
    why_no_price,
)
from harness.report.tables.costs import index_seconds
from harness.report.verdict.findings import Findings
from harness.report.verdict.standings import why_not_ranked
from harness.report.view import Group
from harness.statistics.best_of_many import best_of
from harness.statistics.non_inferior import cheapest_as_good
from harness.statistics.paired_comparison import MeasureComparison
from harness.statistics.query_values import COSTS

_FEWEST = 3
"""Values of a parameter that make a curve; two are a comparison."""
BUDGETS: Mapping[str, str] = {"tokens": "tokens a query", "usd": "USD a query", "latency_s_p50": "seconds (p50)"}
"""Cost -> name of its budget."""

Flat = Mapping[str, Any]


class SweepPoint(NamedTuple):
    value: float
    """Of the swept parameter."""
    position: int
    """Of the run in `group.views`."""


@dataclass(frozen=True)
class SweepLine:
    """Runs that are alike but for the swept parameter."""

    name: str
    points: tuple[SweepPoint, ...]
    """By value, ascending."""


@dataclass(frozen=True)
class Sweep:
    """One parameter over its values, a line for each system or setting of the others."""

    parameter: str
    """Its shortest unmistakable name, such as `top_k`."""
    lines: tuple[SweepLine, ...]

    @property
    def values(self) -> list[float]:
        return sorted({point.value for line in self.lines for point in line.points})


def find_sweeps(group: Group) -> list[Sweep]:
    """Every numeric parameter that alone tells at least `_FEWEST` runs apart, in the order of their names."""
    flat = [flatten(determining(view.manifest.identity)) for view in group.views]
    keys = sorted({key for own in flat for key, value in own.items() if _is_number(value)})
    short = short_keys(keys, flat)
    found = [(short[key], _lines(group, flat, key)) for key in keys]
    return [Sweep(parameter, lines) for parameter, lines in found if lines]


def _lines(group: Group, flat: Sequence[Flat], key: str) -> tuple[SweepLine, ...]:
    alike: dict[str, list[SweepPoint]] = {}
    for position, own in enumerate(flat):
        if _is_number(own.get(key)):
            rest = repr(sorted((name, repr(value)) for name, value in own.items() if name != key))
            alike.setdefault(rest, []).append(SweepPoint(float(own[key]), position))
    curves = [sorted(points) for points in alike.values() if len({point.value for point in points}) >= _FEWEST]
    curves.sort(key=lambda points: points[0].position)
    first = [group.views[points[0].position].manifest.identity for points in curves]
    names = labels([_without(identity, key.split(".")) for identity in first])
    return tuple(SweepLine(name, tuple(points)) for name, points in zip(names, curves, strict=True))


def _without(tree: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    head, *rest = path
    if not rest:
        return {key: value for key, value in tree.items() if key != head}
    return {key: _without(value, rest) if key == head else value for key, value in tree.items()}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


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
    score = f"{findings.measure or 'score'} [95 % CI]"
    return Table(
        name=f"sweep_{file_name(sweep.parameter)}",
        title=f"Over {sweep.parameter}",
        header=(
            *("runs", sweep.parameter, score, "n", "tokens a query", "latency p50, s"),
            *("USD a query", "index, s", "index"),
        ),
        rows=tuple(_point_row(group, findings, line, point) for line in sweep.lines for point in line.points),
        note=f"Means as in the leaderboard, {findings.weighed}. An index is built once for all runs whose index "
        "parameters are the same.",
    )


def _point_row(group: Group, findings: Findings, line: SweepLine, point: SweepPoint) -> tuple[Entry, ...]:
    view, row = group.views[point.position], findings.rows[point.position] if findings.rows else None
    aside = why_not_ranked(view, group.scored_otherwise(findings.measure) if findings.measure else ())
    is_cost = row is not None and row.measure in COSTS
    mean = cost_quantity(row, interval=True) if is_cost else share(row)
    spent = ("tokens", "latency_s_p50", "usd")
    costs = [cost_quantity(view.row_beside(name, row), mark=self_reported_mark(view, name)) for name in spent]
    index = view.run.index()
    built = None if index is None else "reused" if index.reused_from else "built"
    named = f"{line.name} ({aside})" if aside else line.name
    return (named, plain(point.value), mean, population(row), *costs, index_seconds(view), built)


def budget_tables(group: Group, findings: Findings, positions: Sequence[int]) -> list[Table]:
    """For each kind of cost: the runs that are better than all cheaper ones, each with the cheapest that is as
    good. `positions` in `group.views`; nothing where runs were not compared or cost nothing. A run that failed or
    refused too often, is not finished or was not counted in full is in none: it only looks cheap. Costs are in the
    mix in which the answers are.
    """
    if findings.ranked is None:
        return []
    tables = (_budget_table(group, findings, findings.ranked, positions, cost) for cost in BUDGETS)
    return [table for table in tables if table is not None]


def _budget_table(
    group: Group, findings: Findings, compared: MeasureComparison, positions: Sequence[int], cost: str
) -> Table | None:
    views = group.views
    rows = {position: findings.row_of(group, position, cost) for position in positions}
    spent = {position: row for position, row in rows.items() if row is not None and row.mean is not None}
    left = {position: why for position, row in spent.items() if (why := why_no_price(views[position], cost, row))}
    costs = {position: row.mean for position, row in spent.items() if position not in left and row.mean}
    by_cost = sorted(costs, key=lambda position: (costs[position], position))
    steps = list(_frontier(findings, compared, by_cost))
    if not steps:
        return None
    name, within = compared.measure.name, findings.margin
    return Table(
        name=f"best_under_{cost}",
        title=f"Best under a budget of {BUDGETS[cost]}",
        header=(
            *("budget", "best", f"{name} [95 % CI]", "best of", "corrected"),
            *(f"cheapest within {within} (non-inferior)", f"its {name}", "its cost"),
        ),
        rows=tuple(_budget_row(group, findings, compared, costs, step) for step in steps),
        note="The best of several is chosen and measured on the same queries, so its score is too high. "
        "Corrected: the score on one half of the queries of the run chosen on the other half. Non-inferior: the "
        f"95 % interval excludes that it is worse by {within} or more than any run within the budget (--margin)."
        f"{not_compared({views[position].label: why for position, why in left.items()})}",
    )


def _frontier(findings: Findings, compared: MeasureComparison, by_cost: Sequence[int]) -> Iterator[list[int]]:
    """For each run that is better than all cheaper ones: the runs that cost no more, itself last. Without those
    that were not compared.
    """
    sign = -1 if compared.measure.higher_is_better is False else 1
    means = dict(zip(findings.entrants, compared.means, strict=True))
    merits = {position: sign * mean for position in by_cost if (mean := means.get(position)) is not None}
    best: float | None = None
    for position, merit in merits.items():
        if best is None or merit > best:
            best, affordable = merit, list(merits)
            yield affordable[: affordable.index(position) + 1]


def _budget_row(
    group: Group,
    findings: Findings,
    compared: MeasureComparison,
    costs: Mapping[int, float],
    affordable: Sequence[int],
) -> tuple[Entry, ...]:
    best, views = affordable[-1], group.views
    places = [findings.entrants.index(position) for position in affordable]
    chosen = best_of(compared, places)
    entries: tuple[Entry, ...] = (
        plain(costs[best]),
        views[best].label,
        share(findings.rows[best]),
        Quantity(len(affordable), unit="count"),
        Quantity(chosen.mean, unit="share") if chosen and len(places) > 1 else None,
    )
    prices = [costs.get(position) for position in findings.entrants]
    good = cheapest_as_good(compared, prices, places, findings.margin_value)
    if good is None:
        return (*entries, "none is shown to be", None, None)
    alike = findings.entrants[good.place]
    named = "itself" if alike == best else views[alike].label
    return (*entries, named, share(findings.rows[alike]), plain(costs[alike]))
