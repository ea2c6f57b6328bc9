"""The metric that ranks against cost: runs as points with an interval in both directions, and names beside them
that do not run into each other."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harness.display import Drawing, Quantity, format_value, printable
from harness.display.number_format import bare
from harness.display.plotting import GREY, LIGHT, NewFigure, settle, tell
from harness.report.figures import marks
from harness.report.figures.marks import Scale
from harness.report.quantities import listed_apart, self_reported_mark, self_reported_note, why_apart
from harness.report.view import Group, RunView
from harness.statistics.cost import is_lower_bound
from harness.statistics.query_values import COSTS
from harness.statistics.run_frame import Aggregate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LONGEST_NAME = 26
_LETTERS_WIDE = 58
"""Letters of a key beside each other in a figure of HALF_IN."""

Segment = tuple[tuple[float, float], tuple[float, float]]
"""From where to where, both in units of the axes."""


class _Price(NamedTuple):
    stem: str
    measure: str
    name: str
    says: str
    label: str = ""
    """Of the axis; empty: the name."""


_PRICES = (
    _Price(
        "pareto_tokens",
        "tokens",
        "tokens per query",
        "tokens per query, input and output of every model that was called",
        "tokens per query (input + output, all roles)",
    ),
    _Price("pareto_usd", "usd", "USD per query", "US dollars per query at the price table"),
    _Price("pareto_latency", "latency_s_p50", "latency p50, s", "the median latency of a query in seconds"),
)


class Extent(NamedTuple):
    """A value and its 95 % interval; without one, both limits are the value."""

    value: float
    low: float
    high: float
    at_least: bool = False

    @property
    def shown(self) -> Quantity:
        low, high = (self.low, self.high) if self.low != self.high else (None, None)
        return Quantity(self.value, low, high, at_least=self.at_least)


class ScatterPoint(NamedTuple):
    view: RunView
    x: Extent
    y: Extent
    remark: str = ""
    """A caveat; the marker is drawn hollow."""

    @property
    def name(self) -> str:
        return f"{marks.name_of(self.view)} ({self.remark})" if self.remark else marks.name_of(self.view)

    @property
    def xy(self) -> tuple[float, float]:
        return self.x.value, self.y.value


def draw_pareto(
    group: Group, measure: str, new_figure: NewFigure, rows: Mapping[RunView, Aggregate | None] | None = None
) -> list[Drawing]:
    """A metric against each cost that is not always 0. `rows`: means of the runs; default: over all queries."""
    if measure in COSTS:
        return []
    ranked = rows or {view: view.row(measure) for view in group.views}
    scale = Scale.of(group, measure)
    drawn = (_draw(group, new_figure, scale, ranked, price) for price in _PRICES)
    return [drawing for drawing in drawn if drawing]


def frontier(points: Sequence[ScatterPoint], *, lower_is_better: bool = False) -> list[ScatterPoint]:
    """The points that no other beats: none is as cheap and better, or cheaper and as good."""
    sign = -1 if lower_is_better else 1
    best: list[ScatterPoint] = []
    for point in sorted(points, key=lambda one: (one.x.value, -sign * one.y.value)):
        better = not best or sign * point.y.value > sign * best[-1].y.value
        if better or point.xy == best[-1].xy:
            best.append(point)
    return best


def _draw(
    group: Group, new_figure: NewFigure, scale: Scale, ranked: Mapping[RunView, Aggregate | None], price: _Price
) -> Drawing | None:
    spent = {view: view.row_beside(price.measure, ranked[view]) for view in group.views}
    points = [
        ScatterPoint(view, x, y, self_reported_mark(view, price.measure))
        for view in group.views
        if view.is_complete and (x := _stretch(spent[view], is_cost=True)) and (y := _stretch(ranked[view]))
    ]
    if not any(point.x.value > 0 for point in points):
        return None
    known = group.known.get(scale.measure)
    lower = known is not None and not known.higher_is_better
    names = [f"{number}  {marks.wrapped(point.name, 56)}" for number, point in enumerate(points, start=1)]
    needs_key = len(points) > 9 or any(marks.cells(point.name) > _LONGEST_NAME for point in points)
    lines = -(-len(names) // marks.columns_of(names, _LETTERS_WIDE)) * (
        1 + max(name.count("\n") for name in names)
    )
    height = 3.0 + (0.1 + 0.14 * lines if needs_key else 0.0)
    # A phone shows this width whole with letters of 9 pixels.
    figure = new_figure(figsize=(3.9, height), layout="constrained")
    axes = figure.subplots()
    _draw_points(axes, points)
    _dress(axes, points, scale, price)
    others = group.scored_otherwise(scale.measure)
    reasons = {
        view: why_apart(view, others, cost=price.measure, means=[spent[view]])
        for view in (point.view for point in points)
    }
    apart = {view: why for view, why in reasons.items() if why}
    best = frontier([point for point in points if point.view not in apart], lower_is_better=lower)
    _name_points(figure, axes, points, names if needs_key else (), _draw_frontier(axes, best, lower=lower))
    rows = [row for point in points for row in (ranked[point.view], spent[point.view])]
    title = f"{scale.title} against {price.name}"
    outside = listed_apart({view.label: why for view, why in apart.items()})
    caption = (
        f"{price.says[:1].upper()}{price.says[1:]}, with 95 % intervals; {marks.queries_of(group.views, rows)}. "
        f"{'Lower' if lower else 'Upper'} left is best. Dashed: no run has a better mean at a lower cost, "
        f"which may be chance.{f' Outside the frontier: {outside}.' if outside else ''}"
        f"{self_reported_note(group.views) if price.measure == 'tokens' else ''}"
    )
    sign = 1 if lower else -1
    spoken = [
        f"{printable(point.view.label, 40)}: {scale.text(ranked[point.view])}"
        f"{' %' if scale.is_share else ''} at {bare(point.x.shown)}."
        for point in sorted(points, key=lambda one: (sign * one.y.value, one.x.value))
    ]
    return Drawing(price.stem, title, caption, marks.alt_of([f"{title}.", *spoken]), figure)


def _stretch(row: Aggregate | None, *, is_cost: bool = False) -> Extent | None:
    if row is None or row.mean is None:
        return None
    return Extent(row.mean, *(marks.interval_of(row) or (row.mean, row.mean)), is_cost and is_lower_bound(row))


def _dress(axes: Axes, points: Sequence[ScatterPoint], scale: Scale, price: _Price) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    lows, highs = [point.x.low for point in points], [point.x.high for point in points]
    if min(lows) > 0:
        wide = max(highs) / min(lows) > 200
        # The ends have at least the ratio 5, so that two of the ticks at 1, 2 and 5 are shown.
        spread = max(1.3, (5.0 / (max(highs) / min(lows))) ** 0.5)
        axes.set_xscale("log")
        axes.set_xlim(min(lows) / spread, max(highs) * spread)
        axes.xaxis.set_major_locator(LogLocator(base=10, subs=(1,) if wide else (1, 2, 5)))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.set_xlabel(f"{price.label or price.name}, log scale")
    else:
        axes.set_xlim(-0.06 * max(highs), 1.06 * max(highs))
        axes.set_xlabel(price.label or price.name)
    bottom, top = min(point.y.low for point in points), max(point.y.high for point in points)
    room = 0.1 * max(top - bottom, 0.1)
    low, high = bottom - room, top + room
    axes.set_ylim(max(-0.04, low) if scale.is_unit else low, min(1.04, high) if scale.is_unit else high)
    if scale.is_share:
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}")
    axes.set_ylabel(f"{scale.name}, %" if scale.is_share else scale.name)


def _draw_frontier(axes: Axes, best: Sequence[ScatterPoint], *, lower: bool) -> list[Segment]:
    """Steps between points: a budget between two of them buys the quality of the cheaper one."""
    if not best:
        return []
    corners = [(best[0].x.value, axes.get_ylim()[1 if lower else 0]), best[0].xy]
    for point in best[1:]:
        corners += [(point.x.value, corners[-1][1]), point.xy]
    corners.append((axes.get_xlim()[1], corners[-1][1]))
    axes.plot(*zip(*corners, strict=True), color=GREY, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
    return list(itertools.pairwise(corners))


def _draw_points(axes: Axes, points: Sequence[ScatterPoint]) -> None:
    """A marker at each point, its intervals as a cross; of several at one place, the first is the largest."""
    for at, point in enumerate(points):
        look = marks.style_of(point.view.position)
        above = min(3, sum(other.xy == point.xy for other in points[at + 1 :]))
        for (left, bottom), (right, top) in _cross(point):
            axes.plot((left, right), (bottom, top), color=look.color, linewidth=0.9, alpha=0.75)
        style: dict[str, Any] = {"color": look.color, "markeredgecolor": "white", "markeredgewidth": 0.6}
        if point.remark:
            style = {"color": "white", "markeredgecolor": look.color, "markeredgewidth": 1.2}
        size = 6.5 + 3 * above
        (marker,) = axes.plot(*point.xy, marker=look.marker, markersize=size, zorder=3, clip_on=False, **style)
        tell(marker, f"{point.name}: {format_value(point.y.shown)} at {format_value(point.x.shown)}")
    axes.grid(axis="both", color=LIGHT, linewidth=0.6)


def _cross(point: ScatterPoint) -> list[Segment]:
    x, y = point.x, point.y
    return [((x.low, y.value), (x.high, y.value)), ((x.value, y.low), (x.value, y.high))]


def _name_points(
    figure: Figure, axes: Axes, points: Sequence[ScatterPoint], key: Sequence[str], lines: Sequence[Segment]
) -> None:
    """Write names beside points, or numbers with a `key` below. It fixes the layout. Names cover no `lines`."""
    texts = [point.name for point in points]
    if key:
        from matplotlib.lines import Line2D

        looks = [marks.style_of(point.view.position) for point in points]
        handles = [
            Line2D([], [], color=one.color, marker=one.marker, linestyle="", markersize=4.5) for one in looks
        ]
        place: dict[str, Any] = {"loc": "outside lower left", "handlelength": 1.0, "columnspacing": 1.2}
        marks.legend(figure, handles, key, _LETTERS_WIDE, fontsize=8, **place)
        texts = [str(number) for number in range(1, len(points) + 1)]
    settle(figure)
    together: dict[tuple[float, float], list[str]] = {}
    for text, point in zip(texts, points, strict=True):
        together.setdefault(point.xy, []).append(text)
    names = {at: textwrap.fill(", ".join(own), _LONGEST_NAME) for at, own in together.items()}
    crosses = [line for point in points for line in _cross(point)]
    _write_names(axes, names, [*crosses, *lines])


def _write_names(axes: Axes, names: Mapping[tuple[float, float], str], lines: Sequence[Segment]) -> None:
    """Each at the nearest free place beside its point, in points of the page."""
    from matplotlib.transforms import Bbox

    to_pt = 72 / axes.figure.dpi
    room = Bbox(to_pt * axes.get_window_extent().get_points())
    centers = {place: np.asarray(axes.transData.transform(place)) * to_pt for place in names}
    taken = [Bbox([center, center]).padded(3.5) for center in centers.values()]
    thin = [Bbox(np.sort(axes.transData.transform(line), axis=0) * to_pt).padded(0.5) for line in lines]
    sides = itertools.product((1, -1, 0.5, -0.5, 0), (0, 1, -1, 0.5, -0.5))
    directions = [np.array(side) for side in sides if max(map(abs, side)) == 1]
    for place, text in names.items():
        probe = axes.text(0, 0, text, fontsize=8)
        size = np.asarray(probe.get_window_extent().size) * to_pt + 1
        probe.remove()
        least = float("inf")
        for gap, direction in itertools.product((5, 9, 14, 20, 28, 38, 50, 66), directions):
            offset = direction * (size / 2 + gap)
            box = Bbox.from_bounds(*(centers[place] + offset - size / 2), *size)
            cost = gap + 1000 * box.count_overlaps(taken) + 12 * box.count_overlaps(thin)
            cost += 0 if all(room.contains(*corner) for corner in box.get_points()) else 5000
            if cost < least:
                least, shift, best = cost, offset, box
        taken.append(best)
        far = max(abs(shift) - size / 2) > 9
        line: dict[str, Any] = {"arrowstyle": "-", "color": GREY, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}
        style: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "center", "fontsize": 8}
        axes.annotate(text, place, shift, arrowprops=line if far else None, zorder=4, **style)
