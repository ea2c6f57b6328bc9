"""Runs as points with an interval in both directions, and names beside them that do not run into each other."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.display import Quantity, format_value
from harness.display.plotting import GREY, LIGHT, settle, tell
from harness.report.figures.marks import DrawnRuns, cells, columns_of, key_of, name_of, style_of, wrapped
from harness.report.view import RunView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_NAMES = 9
_LONGEST_NAME = 26
_LETTERS_WIDE = 58
"""Letters of a key beside each other in a figure of HALF_IN."""
_DIRECTIONS = tuple(
    (dx, dy)
    for dx, dy in itertools.product((1, -1, 0.5, -0.5, 0), (0, 1, -1, 0.5, -0.5))
    if max(abs(dx), abs(dy)) == 1
)
_GAPS_PT = (5, 9, 14, 20, 28, 38, 50, 66)
_LEADER_FROM_PT = 9
_MARKER_PT = 3.5


class Extent(NamedTuple):
    """A value and its 95 % interval; without one, both limits are the value."""

    value: float
    low: float
    high: float
    at_least: bool = False
    """It is a lower bound."""

    @property
    def limits(self) -> tuple[float, float]:
        """Of the interval."""
        return self.low, self.high

    @property
    def shown(self) -> Quantity:
        """As a table holds it."""
        low, high = self.limits if self.low != self.high else (None, None)
        return Quantity(self.value, low, high, at_least=self.at_least)


@dataclass(frozen=True)
class ScatterPoint:
    """A run at its place."""

    number: int
    view: RunView
    x: Extent
    y: Extent
    remark: str = ""
    """A caveat; the marker is drawn hollow."""

    @property
    def name(self) -> str:
        """Of the run, with the remark."""
        return f"{name_of(self.view)} ({self.remark})" if self.remark else name_of(self.view)


Segment = tuple[tuple[float, float], tuple[float, float]]
"""From where to where, both in units of the axes."""


class _Box(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )

    def inside(self, other: _Box) -> bool:
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.bottom >= other.bottom
            and self.top <= other.top
        )


def key_height(points: Sequence[ScatterPoint]) -> float:
    """Height in inches of the key below the points; 0 if names are beside the points."""
    if not _needs_key(points):
        return 0.0
    names = _key_names(points)
    lines = -(-len(names) // columns_of(names, _LETTERS_WIDE))
    return 0.1 + 0.14 * lines * (1 + max(name.count("\n") for name in names))


def draw_points(axes: Axes, points: Sequence[ScatterPoint]) -> None:
    """A marker at each point, its intervals as a cross; of several at one place, the first is the largest."""
    for place, point in enumerate(points):
        look = style_of(point.number)
        above = min(3, sum(_place_of(other) == _place_of(point) for other in points[place + 1 :]))
        axes.plot(point.x.limits, (point.y.value,) * 2, color=look.color, linewidth=0.9, alpha=0.75)
        axes.plot((point.x.value,) * 2, point.y.limits, color=look.color, linewidth=0.9, alpha=0.75)
        style: dict[str, Any] = {"color": look.color, "markeredgecolor": "white", "markeredgewidth": 0.6}
        if point.remark:
            style = {"color": "white", "markeredgecolor": look.color, "markeredgewidth": 1.2}
        size = 6.5 + 3 * above
        (marker,) = axes.plot(
            *_place_of(point), marker=look.marker, markersize=size, zorder=3, clip_on=False, **style
        )
        tell(marker, f"{point.name}: {format_value(point.y.shown)} at {format_value(point.x.shown)}")
    axes.grid(axis="both", color=LIGHT, linewidth=0.6)


def name_points(figure: Figure, axes: Axes, points: Sequence[ScatterPoint], lines: Sequence[Segment] = ()) -> None:
    """Write each name beside its point; for many or long names a number, with a key below. Call it last, since it
    fixes the layout. `lines`: further segments that names must not cover.
    """
    texts = [point.name for point in points]
    if _needs_key(points):
        runs: DrawnRuns = [(point.number, point.view) for point in points]
        handles, names = key_of(runs, _key_names(points))
        columns = columns_of(names, _LETTERS_WIDE)
        place = {
            "loc": "outside lower left",
            "ncols": columns,
            "fontsize": 8,
            "handlelength": 1.0,
            "columnspacing": 1.2,
        }
        figure.legend(handles, names, **place)
        texts = [str(number) for number in range(1, len(points) + 1)]
    settle(figure)
    together: dict[tuple[float, float], list[str]] = {}
    for text, point in zip(texts, points, strict=True):
        together.setdefault(_place_of(point), []).append(text)
    crosses = [line for point in points for line in _cross(point)]
    _write_names(axes, {place: _joined(names) for place, names in together.items()}, [*crosses, *lines])


def _place_of(point: ScatterPoint) -> tuple[float, float]:
    return point.x.value, point.y.value


def _joined(names: Sequence[str]) -> str:
    """The names of runs at one place."""
    return textwrap.fill(", ".join(names), _LONGEST_NAME)


def _write_names(axes: Axes, names: Mapping[tuple[float, float], str], lines: Sequence[Segment]) -> None:
    to_pt = 72 / axes.figure.dpi
    room = _Box(*(to_pt * end for end in axes.get_window_extent().extents))
    centers = {place: [to_pt * end for end in axes.transData.transform(place)] for place in names}
    taken = [_around(center, (2 * _MARKER_PT, 2 * _MARKER_PT)) for center in centers.values()]
    thin = [_thin(*(to_pt * axes.transData.transform(line))) for line in lines]
    for place, text in names.items():
        center, size = centers[place], _size(axes, text, to_pt)
        shift = _shift(center, size, (room, taken, thin))
        taken.append(_around((center[0] + shift[0], center[1] + shift[1]), size))
        far = max(abs(shift[0]) - size[0] / 2, abs(shift[1]) - size[1] / 2) > _LEADER_FROM_PT
        line: dict[str, Any] = {"arrowstyle": "-", "color": GREY, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}
        style: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "center", "fontsize": 8}
        axes.annotate(text, place, shift, arrowprops=line if far else None, zorder=4, **style)


def _needs_key(points: Sequence[ScatterPoint]) -> bool:
    return len(points) > _MOST_NAMES or any(cells(point.name) > _LONGEST_NAME for point in points)


def _key_names(points: Sequence[ScatterPoint]) -> list[str]:
    return [f"{number}  {wrapped(point.name, 56)}" for number, point in enumerate(points, start=1)]


def _shift(
    center: Sequence[float], size: tuple[float, float], around: tuple[_Box, Sequence[_Box], Sequence[_Box]]
) -> tuple[float, float]:
    """Offset of the name's centre from its point: the nearest free place."""
    room, taken, crosses = around
    best, least = (0.0, 0.0), float("inf")
    for gap, (dx, dy) in itertools.product(_GAPS_PT, _DIRECTIONS):
        shift = (dx * (size[0] / 2 + gap), dy * (size[1] / 2 + gap))
        box = _around((center[0] + shift[0], center[1] + shift[1]), size)
        price = gap + 1000 * sum(box.meets(other) for other in taken) + 12 * sum(box.meets(one) for one in crosses)
        price += 0 if box.inside(room) else 5000
        if price < least:
            best, least = shift, price
    return best


def _around(center: Sequence[float], size: tuple[float, float]) -> _Box:
    (x, y), (width, height) = center, size
    return _Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def _cross(point: ScatterPoint) -> list[Segment]:
    x, y = point.x, point.y
    return [((x.low, y.value), (x.high, y.value)), ((x.value, y.low), (x.value, y.high))]


def _thin(start: Sequence[float], end: Sequence[float]) -> _Box:
    left, right = sorted((start[0], end[0]))
    bottom, top = sorted((start[1], end[1]))
    return _Box(left - 0.5, bottom - 0.5, right + 0.5, top + 0.5)


def _size(axes: Axes, text: str, to_pt: float) -> tuple[float, float]:
    probe = axes.text(0, 0, text, fontsize=8)
    extent = probe.get_window_extent()
    probe.remove()
    return to_pt * extent.width + 1, to_pt * extent.height + 1
