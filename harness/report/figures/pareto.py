"""The metric that ranks against cost: tokens, dollars and seconds of a query."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.display import Drawing, printable
from harness.display.number_format import bare
from harness.display.plotting import GREY
from harness.report.comparable_costs import listed_apart, self_reported_mark, self_reported_note, why_no_price
from harness.report.figures.marks import alt_of, interval_of, queries_of
from harness.report.figures.scales import Scale
from harness.report.figures.scatter import (
    Extent,
    ScatterPoint,
    Segment,
    draw_points,
    key_height,
    name_points,
)
from harness.report.verdict.standings import SCORED_OTHERWISE
from harness.report.view import Group
from harness.statistics import Aggregate
from harness.statistics.cost import is_lower_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness.display.plotting import NewFigure

_WIDTH_IN = 3.9
"""So that a phone shows it whole with letters of 9 pixels."""
_NARROWEST = 5.0
"""Minimum ratio of the ends of a logarithmic axis; with ticks at 1, 2 and 5 it shows at least two of them."""


@dataclass(frozen=True)
class _Price:
    """One kind of cost."""

    stem: str
    measure: str
    name: str
    says: str
    detail: str = ""
    """Behind the name, on the axis."""

    @property
    def label(self) -> str:
        """Of an axis."""
        return f"{self.name} {self.detail}".rstrip()


_PRICES = (
    _Price(
        "pareto_tokens",
        "tokens",
        "tokens per query",
        "tokens per query, input and output of every model that was called",
        "(input + output, all roles)",
    ),
    _Price("pareto_usd", "usd", "USD per query", "US dollars per query at the price table"),
    _Price("pareto_latency", "latency_s_p50", "latency p50, s", "the median latency of a query in seconds"),
)


def draw_pareto(
    group: Group, measure: str, new_figure: NewFigure, rows: Sequence[Aggregate | None] = ()
) -> list[Drawing]:
    """A metric against tokens, dollars and seconds per query, for each cost that any run has and that is not
    always 0.

    `rows`: the mean of each run by position; default: its mean over all queries. Unfinished runs are left out.
    """
    if measure in group.costs:
        return []
    ranked = rows or [view.row(measure) for view in group.views]
    scale = Scale.of(group, measure)
    drawn = (_draw(group, new_figure, (scale, ranked), price) for price in _PRICES)
    return [drawing for drawing in drawn if drawing]


def frontier(points: Sequence[ScatterPoint], *, lower_is_better: bool = False) -> list[ScatterPoint]:
    """The points that no other beats: none is as cheap and better, or cheaper and as good."""
    sign = -1 if lower_is_better else 1
    best: list[ScatterPoint] = []
    for point in sorted(points, key=lambda one: (one.x.value, -sign * one.y.value)):
        better = not best or sign * point.y.value > sign * best[-1].y.value
        if better or _same_place(point, best[-1]):
            best.append(point)
    return best


def _same_place(one: ScatterPoint, other: ScatterPoint) -> bool:
    return one.x.value == other.x.value and one.y.value == other.y.value


def _draw(
    group: Group, new_figure: NewFigure, scaled: tuple[Scale, Sequence[Aggregate | None]], price: _Price
) -> Drawing | None:
    scale, ranked = scaled
    points = [
        ScatterPoint(number, view, x, y, self_reported_mark(view, price.measure))
        for number, view in enumerate(group.views)
        if view.is_complete
        and (x := _spent(view.row_beside(price.measure, ranked[number])))
        and (y := _stretch(ranked[number]))
    ]
    if not any(point.x.value > 0 for point in points):
        return None
    known = group.known.get(scale.measure)
    lower = known is not None and not known.higher_is_better
    figure = new_figure(figsize=(_WIDTH_IN, 3.0 + key_height(points)), layout="constrained")
    axes = figure.subplots()
    draw_points(axes, points)
    _dress(axes, points, scale, price)
    others = group.scored_otherwise(scale.measure)
    apart = {point.number: why for point in points if (why := _why_outside(point, price, ranked, others))}
    competing = [point for point in points if point.number not in apart]
    best = frontier(competing, lower_is_better=lower)
    name_points(figure, axes, points, _draw_frontier(axes, best, lower=lower) if best else ())
    rows = [
        row
        for point in points
        for row in (ranked[point.number], point.view.row_beside(price.measure, ranked[point.number]))
    ]
    named = f"{scale.name[:1].upper()}{scale.name[1:]}"
    title = f"{named} against {price.name}"
    caption = (
        f"{named} against {price.says}, with 95 % intervals; {queries_of(group.views, rows)}. "
        f"{'Lower' if lower else 'Upper'} left is best. Dashed: no run has a better mean at a lower cost; whether "
        f"two runs differ is in the verdict.{_outside(points, apart)}"
        f"{self_reported_note(group.views) if price.measure == 'tokens' else ''}"
    )
    sign = 1 if lower else -1
    spoken = [
        f"{printable(point.view.label, 40)}: {scale.text(ranked[point.number])}"
        f"{' %' if scale.is_share else ''} at {bare(point.x.shown)}."
        for point in sorted(points, key=lambda one: (sign * one.y.value, one.x.value, one.number))
    ]
    return Drawing(price.stem, title, caption, alt_of([f"{title}.", *spoken]), figure)


def _why_outside(
    point: ScatterPoint, price: _Price, ranked: Sequence[Aggregate | None], others: Collection[str]
) -> str:
    """Why a run cannot be on the frontier; empty if it can. `others`: runs scored in another way."""
    row = point.view.row_beside(price.measure, ranked[point.number])
    why = why_no_price(point.view, price.measure, row)
    return why or (SCORED_OTHERWISE if point.view.run.run_id in others else "")


def _outside(points: Sequence[ScatterPoint], apart: Mapping[int, str]) -> str:
    named = listed_apart({point.view.label: apart[point.number] for point in points if point.number in apart})
    return f" Outside the frontier: {named}." if named else ""


def _stretch(row: Aggregate | None) -> Extent | None:
    if row is None or row.mean is None:
        return None
    return Extent(row.mean, *(interval_of(row) or (row.mean, row.mean)))


def _spent(row: Aggregate | None) -> Extent | None:
    """The cost of a query with its interval."""
    found = _stretch(row)
    return found._replace(at_least=is_lower_bound(row)) if found and row else None


def _dress(axes: Axes, points: Sequence[ScatterPoint], scale: Scale, price: _Price) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter

    lows, highs = [point.x.low for point in points], [point.x.high for point in points]
    if min(lows) > 0:
        wide = max(highs) / min(lows) > 200
        spread = max(1.3, (_NARROWEST / (max(highs) / min(lows))) ** 0.5)
        axes.set_xscale("log")
        axes.set_xlim(min(lows) / spread, max(highs) * spread)
        axes.xaxis.set_major_locator(LogLocator(base=10, subs=(1,) if wide else (1, 2, 5)))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.set_xlabel(f"{price.label}, log scale")
    else:
        axes.set_xlim(-0.06 * max(highs), 1.06 * max(highs))
        axes.set_xlabel(price.label)
    bottom, top = min(point.y.low for point in points), max(point.y.high for point in points)
    room = 0.1 * max(top - bottom, 0.1)
    low, high = bottom - room, top + room
    axes.set_ylim(max(-0.04, low) if scale.is_unit else low, min(1.04, high) if scale.is_unit else high)
    if scale.is_share:
        axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=""))
    axes.set_ylabel(f"{scale.name}, %" if scale.is_share else scale.name)


def _draw_frontier(axes: Axes, best: Sequence[ScatterPoint], *, lower: bool) -> list[Segment]:
    """Steps between points: a budget between two of them buys the quality of the cheaper one."""
    if not best:
        return []
    right, edge = axes.get_xlim()[1], axes.get_ylim()[1 if lower else 0]
    corners = [(best[0].x.value, edge)]
    for point in best:
        corners += [(point.x.value, corners[-1][1]), (point.x.value, point.y.value)]
    corners.append((right, corners[-1][1]))
    # From the second on: the first two are the same place.
    corners = corners[1:]
    axes.plot(*zip(*corners, strict=True), color=GREY, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
    return list(itertools.pairwise(corners))
