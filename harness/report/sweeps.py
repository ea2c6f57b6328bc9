"""Sweeps: runs that differ in one number, what it changes, as tables and curves, and which wins under a budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.core.hashing import flatten
from harness.display import Drawing, Entry, Quantity, Table, file_name, format_value, number
from harness.display.plotting import GREY, LIGHT, WIDTH_IN, NewFigure, tell
from harness.report.figures.marks import RunStyle, alt_of, interval_of, n_of, style_of, tip_of
from harness.report.labels import labels
from harness.report.quantities import (
    BASELINE,
    cost_quantity,
    count,
    listed_apart,
    not_compared,
    population,
    quantity_of,
    self_reported_mark,
    share,
    why_apart,
)
from harness.report.tables.costs import index_seconds
from harness.report.verdict.findings import Findings
from harness.report.view import Group, RunView
from harness.statistics.non_inferior import cheapest_as_good
from harness.statistics.paired_comparison import MeasureComparison
from harness.statistics.query_values import COSTS
from harness.statistics.recommendation import best_of
from harness.statistics.run_frame import Aggregate
from harness.store.run_labels import determining, short_keys

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BUDGETS: Mapping[str, str] = {"tokens": "tokens a query", "usd": "USD a query", "latency_s_p50": "seconds (p50)"}
_DRAWN_COSTS = {"tokens": "tokens a query", "latency_s_p50": "latency p50, s"}

Curve = list[tuple[float, Aggregate]]
"""The swept value and the mean of each run."""


class Sweep(NamedTuple):
    """Runs that are alike but for one number."""

    parameter: str
    """Its shortest unmistakable name, such as `top_k`."""
    lines: Mapping[str, list[tuple[float, RunView]]]
    """By system, or setting of the other parameters: the runs by value, ascending."""


def find_sweeps(group: Group) -> list[Sweep]:
    """Every numeric parameter that alone tells at least three runs apart, in the order of their names."""
    flat = [flatten(determining(view.manifest.identity)) for view in group.views]
    keys = sorted({key for own in flat for key, value in own.items() if _is_number(value)})
    short = short_keys(keys, flat)
    found = (Sweep(short[key], _lines(group, flat, key)) for key in keys)
    return [sweep for sweep in found if sweep.lines]


def _lines(group: Group, flat: Sequence[Mapping[str, Any]], key: str) -> dict[str, list[tuple[float, RunView]]]:
    alike: dict[str, list[tuple[float, RunView]]] = {}
    for view, own in zip(group.views, flat, strict=True):
        if _is_number(own.get(key)):
            rest = repr(sorted((name, repr(value)) for name, value in own.items() if name != key))
            alike.setdefault(rest, []).append((float(own[key]), view))
    lines = [
        sorted(points, key=lambda point: point[0])
        for points in alike.values()
        if len({value for value, _ in points}) >= 3
    ]
    lines.sort(key=lambda points: points[0][1].position)
    names = labels([_without(points[0][1].manifest.identity, key.split(".")) for points in lines])
    return dict(zip(names, lines, strict=True))


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
    swept = {view for sweep in sweeps for points in sweep.lines.values() for _, view in points}
    tables = [_sweep_table(group, findings, sweep) for sweep in sweeps]
    return [*tables, *budget_tables(findings, [view for view in group.views if view in swept])]


def _sweep_table(group: Group, findings: Findings, sweep: Sweep) -> Table:
    score = f"{findings.measure or 'score'} [95 % CI]"
    header = ("runs", sweep.parameter, score, "n", "tokens a query", "latency p50, s", "USD a query", "index, s")
    return Table(
        name=f"sweep_{file_name(sweep.parameter)}",
        title=f"Over {sweep.parameter}",
        header=(*header, "index"),
        rows=tuple(
            _point_row(group, findings, name, *point) for name, points in sweep.lines.items() for point in points
        ),
        note=f"Means as in the leaderboard, {findings.weighed}. An index is built once for all runs whose index "
        "parameters are the same.",
    )


def _point_row(group: Group, findings: Findings, name: str, value: float, view: RunView) -> tuple[Entry, ...]:
    row = findings.rows[view]
    aside = why_apart(view, group.scored_otherwise(findings.measure) if findings.measure else ())
    is_cost = row is not None and row.measure in COSTS
    mean = cost_quantity(row, interval=True) if is_cost else share(row)
    spent = ("tokens", "latency_s_p50", "usd")
    costs = [cost_quantity(view.row_beside(cost, row), mark=self_reported_mark(view, cost)) for cost in spent]
    built = None if view.index is None else "reused" if view.index.reused_from else "built"
    named = f"{name} ({aside})" if aside else name
    return (named, quantity_of(value), mean, population(row), *costs, index_seconds(view), built)


def budget_tables(findings: Findings, views: Sequence[RunView]) -> list[Table]:
    """For each cost: runs that are better than all cheaper ones, each with the cheapest that is as good."""
    if findings.ranking.ranked is None:
        return []
    tables = (_budget_table(findings, findings.ranking.ranked, views, cost) for cost in BUDGETS)
    return [table for table in tables if table is not None]


def _budget_table(
    findings: Findings, compared: MeasureComparison, views: Sequence[RunView], cost: str
) -> Table | None:
    rows = {view: findings.row_of(view, cost) for view in views}
    spent = {view: row for view, row in rows.items() if row is not None and row.mean is not None}
    left = {view: why for view, row in spent.items() if (why := why_apart(view, cost=cost, means=[row]))}
    costs = {view: row.mean for view, row in spent.items() if view not in left and row.mean}
    steps = list(_frontier(findings, compared, sorted(costs, key=lambda view: costs[view])))
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
        rows=tuple(_budget_row(findings, compared, costs, step) for step in steps),
        note="The best of several is chosen and measured on the same queries, so its score is too high. "
        "Corrected: the score on one half of the queries of the run chosen on the other half. Non-inferior: the "
        f"95 % interval excludes that it is worse by {within} or more than any run within the budget (--margin)."
        f"{not_compared({view.label: why for view, why in left.items()})}",
    )


def _frontier(
    findings: Findings, compared: MeasureComparison, by_cost: Sequence[RunView]
) -> Iterator[list[RunView]]:
    """For each run that is better than all cheaper ones: the runs that cost no more, itself last."""
    sign = -1 if compared.measure.higher_is_better is False else 1
    means = dict(zip(findings.ranking.entrants, compared.means, strict=True))
    merits = {view: sign * mean for view in by_cost if (mean := means.get(view)) is not None}
    best: float | None = None
    for n, merit in enumerate(merits.values(), start=1):
        if best is None or merit > best:
            best = merit
            yield [*merits][:n]


def _budget_row(
    findings: Findings, compared: MeasureComparison, costs: Mapping[RunView, float], affordable: Sequence[RunView]
) -> tuple[Entry, ...]:
    best, entrants = affordable[-1], findings.ranking.entrants
    places = [entrants.index(view) for view in affordable]
    chosen = best_of(compared, places)
    entries: tuple[Entry, ...] = (
        quantity_of(costs[best]),
        best.label,
        share(findings.rows[best]),
        count(len(affordable)),
        Quantity(chosen.mean, unit="share") if chosen and len(places) > 1 else None,
    )
    prices = [costs.get(view) for view in entrants]
    good = cheapest_as_good(compared, prices, places, findings.ranking.margin_value)
    if good is None:
        return (*entries, "none is shown to be", None, None)
    alike = entrants[good.place]
    named = "itself" if alike is best else alike.label
    return (*entries, named, share(findings.rows[alike]), quantity_of(costs[alike]))


def draw_sweeps(group: Group, findings: Findings, new_figure: NewFigure) -> list[Drawing]:
    """For each swept parameter: quality, tokens and latency over its values, a line for each system."""
    panels = _panels(group, findings)
    drawn = (_draw(group, findings, sweep, panels, new_figure) for sweep in find_sweeps(group))
    return [drawing for drawing in drawn if drawing]


def _panels(group: Group, findings: Findings) -> dict[str, str]:
    """Measure -> title: what ranks, the first main metric of another evaluator, and costs, if a run has some."""
    quality = []
    if findings.measure is not None:
        others = (one.measure.name for one in findings.ranking.comparisons if not one.measure.is_cost)
        owner = group.owner(findings.measure)
        quality = [findings.measure, *[name for name in others if group.owner(name) != owner][:1]]
    scored = [name for name in quality if any(view.value(name) is not None for view in group.views)]
    costs = {cost: title for cost, title in _DRAWN_COSTS.items() if any(view.value(cost) for view in group.views)}
    return {name: group.display_name(name) for name in scored} | costs


def _draw(
    group: Group, findings: Findings, sweep: Sweep, panels: Mapping[str, str], new_figure: NewFigure
) -> Drawing | None:
    """None if no run has a value. Means are in the mix of the leaderboard."""
    curves: dict[str, dict[str, Curve]] = {measure: {} for measure in panels}
    left_out: dict[str, str] = {}
    for measure, curve in curves.items():
        for name, points in sweep.lines.items():
            curve[name] = []
            for value, view in points:
                row = findings.row_of(view, measure)
                # A baseline has its place on a curve.
                if (why := why_apart(view, group.scored_otherwise(measure))) not in {"", BASELINE}:
                    left_out[view.label] = why
                elif row is not None and row.mean is not None:
                    curve[name].append((value, row))
    if not any(rows for curve in curves.values() for rows in curve.values()):
        return None
    values = sorted({value for points in sweep.lines.values() for value, _ in points})
    figure = new_figure(figsize=(WIDTH_IN, 2.7), layout="constrained")
    every = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (measure, title) in zip(every, panels.items(), strict=True):
        for at, (name, rows) in enumerate(curves[measure].items()):
            _draw_curve(axes, name, style_of(at), rows, measure)
        axes.set_title(title, fontsize=8)
        axes.set_xlabel(sweep.parameter, color=GREY)
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", color=LIGHT, linewidth=0.6)
        if values[0] > 0 and values[-1] / values[0] >= 8:
            axes.set_xscale("log")
        axes.set_xticks(values, [number(value) for value in values])
        axes.minorticks_off()
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=max(1, min(4, len(names))))
    measure = next(iter(panels))
    found = {name: rows for name, rows in curves[measure].items() if rows}
    n = n_of(row for rows in found.values() for _, row in rows)
    return Drawing(
        stem=f"sweep_{file_name(sweep.parameter)}",
        title=f"What {sweep.parameter} changes",
        caption=f"Means over {sweep.parameter} (n = {n}, {findings.weighed}); the bands are 95 % "
        "intervals of each point by itself. Whether two points differ takes the paired tests."
        f"{f' Left out: {listed_apart(left_out)}.' if left_out else ''}",
        alt=alt_of(
            f"{name} {measure} at {', '.join(f'{number(value)}: {_shown(row, measure)}' for value, row in rows)}"
            for name, rows in found.items()
        ),
        figure=figure,
    )


def _draw_curve(axes: Axes, name: str, look: RunStyle, rows: Curve, measure: str) -> None:
    banded = [(value, limits) for value, row in rows if (limits := interval_of(row))]
    if banded:
        lows, highs = zip(*(limits for _, limits in banded), strict=True)
        axes.fill_between([value for value, _ in banded], lows, highs, color=look.color, alpha=0.15, linewidth=0)
    style: dict[str, Any] = {"color": look.color, "marker": look.marker, "linestyle": look.linestyle}
    values, means = [value for value, _ in rows], [row.mean or 0.0 for _, row in rows]
    (curve,) = axes.plot(values, means, markersize=4, linewidth=1.2, label=name, **style)
    tell(curve, f"{name}: {'; '.join(f'{number(value)}: {_shown(row, measure)}' for value, row in rows)}")


def _shown(row: Aggregate, measure: str) -> str:
    """A mean with its interval and n; costs with `≥` if not everything was counted."""
    shown = format_value(cost_quantity(row, interval=True))
    return f"{shown}, n = {n_of([row])}" if measure in _DRAWN_COSTS else tip_of(row)
