"""Accuracy against what a query takes: which runs are worth their price."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.report.figures.marks import alt_of, interval_of, n_of
from harness.report.figures.scatter import Point, Segment, Span, draw_points, key_height, name_points
from harness.report.plotting import GREY, HALF_IN, Drawing
from harness.report.text import number, percent, printable
from harness.report.view import Group, RunView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness.report.plotting import NewFigure

_NARROWEST = 5.0
"""What the right end of a logarithmic axis is of the left at least: with ticks at 1, 2 and 5, two are on it."""


@dataclass(frozen=True)
class _Price:
    """What accuracy is held against."""

    stem: str
    measure: str
    label: str
    says: str


_PRICES = (
    _Price(
        "pareto_tokens",
        "tokens",
        "tokens per query (input + output, all roles)",
        "tokens per query, input and output of every model that was called",
    ),
    _Price("pareto_usd", "usd", "USD per query", "US dollars per query at the price table"),
    _Price("pareto_latency", "latency_s_p50", "latency p50, s", "the median latency of a query in seconds"),
)


def draw_pareto(group: Group, new_figure: NewFigure) -> list[Drawing]:
    """Accuracy against tokens, dollars and seconds per query, each where any run has it and not all are 0."""
    drawn = (_draw(group, new_figure, price) for price in _PRICES)
    return [drawing for drawing in drawn if drawing]


def frontier(points: Sequence[Point]) -> list[Point]:
    """The points that no other beats: none is as cheap and more accurate, or cheaper and as accurate."""
    best: list[Point] = []
    for point in sorted(points, key=lambda one: (one.x.value, -one.y.value)):
        if not best or point.y.value > best[-1].y.value or _same_place(point, best[-1]):
            best.append(point)
    return best


def _same_place(one: Point, other: Point) -> bool:
    return one.x.value == other.x.value and one.y.value == other.y.value


def _draw(group: Group, new_figure: NewFigure, price: _Price) -> Drawing | None:
    points = [
        Point(number, view, x, y)
        for number, view in enumerate(group.views)
        if (x := _span(view, price.measure)) and (y := _span(view, "accuracy"))
    ]
    if not any(point.x.value > 0 for point in points):
        return None
    figure = new_figure(figsize=(HALF_IN, 3.2 + key_height(points)), layout="constrained")
    axes = figure.subplots()
    draw_points(axes, points)
    _dress(axes, points, price)
    name_points(figure, axes, points, _draw_frontier(axes, frontier(points)))
    rows = [point.view.row(name) for point in points for name in ("accuracy", price.measure)]
    caption = (
        f"Accuracy against {price.says}, with 95 % intervals; n = {n_of(rows)} queries. Upper left is best. "
        "Dashed: the frontier; a run below it is beaten by one that is no dearer and more accurate."
    )
    spoken = [
        f"{printable(point.view.label, 40)}: {percent(point.view.row('accuracy'))} % at {number(point.x.value)}."
        for point in sorted(points, key=lambda one: (-one.y.value, one.x.value, one.number))
    ]
    title = f"Accuracy against {price.label.split(' (')[0]}"
    return Drawing(price.stem, title, caption, alt_of([f"Accuracy against {price.label}.", *spoken]), figure)


def _span(view: RunView, measure: str) -> Span | None:
    row = view.row(measure)
    if row is None or row.mean is None:
        return None
    return Span(row.mean, *(interval_of(row) or (row.mean, row.mean)))


def _dress(axes: Axes, points: Sequence[Point], price: _Price) -> None:
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
    axes.set_ylim(max(-0.04, bottom - room), min(1.04, top + room))
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=""))
    axes.set_ylabel("accuracy, %")


def _draw_frontier(axes: Axes, best: Sequence[Point]) -> list[Segment]:
    """Between two of its points, the cheaper one's accuracy is what the money buys; also beyond the last."""
    right, bottom = axes.get_xlim()[1], axes.get_ylim()[0]
    corners = [(best[0].x.value, bottom)]
    for point in best:
        corners += [(point.x.value, corners[-1][1]), (point.x.value, point.y.value)]
    corners.append((right, corners[-1][1]))
    # From the second on: the first two are the same place.
    corners = corners[1:]
    axes.plot(*zip(*corners, strict=True), color=GREY, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
    return list(itertools.pairwise(corners))
