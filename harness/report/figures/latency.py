"""Latency of each system: the whole distribution, and the time throttled by providers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.display import Drawing, format_value, printable
from harness.display.plotting import GREY, tell
from harness.display.text_format import number
from harness.report.aggregates import cost_quantity, population
from harness.report.figures.marks import RunStyle, alt_of, dot, n_of, name_of, style_of
from harness.report.figures.rows import LETTERS_PT, leave_room, name_ticks, print_nothing, row_panels, spoken
from harness.report.tables.cost import THROTTLED, restricted
from harness.report.view import Group, RunView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness.display.plotting import NewFigure

_SHOWN = (0.05, 0.25, 0.5, 0.75, 0.95)
_MOST_DOTS = 600
"""In one figure: beyond that they are a smear, and a page's worth of bytes."""
_SHORTEST_S = 1e-3
_WORTH_SHOWING_S = 0.01


def draw_latency(group: Group, new_figure: NewFigure) -> list[Drawing]:
    """A row for each run: 5th to 95th percentile, quartiles, median and single queries, on a log scale."""
    timed = {number: view.latencies for number, view in enumerate(group.views)}
    if not any(timed.values()):
        return []
    waited = [
        row for view in group.views if (row := view.row("throttled_s")) and (row.mean or 0) > _WORTH_SHOWING_S
    ]
    figure, panels = row_panels(new_figure, group.views, (2.2, 1.0) if waited else (1.0,), row_in=0.3)
    _distributions(panels[0], group.views, timed)
    if waited:
        _throttling(panels[1], group.views)
    n = n_of(view.row("latency_s") for view in group.views)
    caption = (
        f"Seconds per query without throttling (n = {n}, answered live or timed out; log scale). Thin line: 5th "
        "to 95th percentile; thick line: the middle half; mark: median, printed with its 95 % CI and the number "
        f"of queries. {'Light dots: single queries. ' if _n_dots(timed) else ''}"
        f"{_waiting(group, is_drawn=bool(waited))}{restricted(group)}"
    )
    alt = alt_of(["Median latency of a query:", *spoken(group.views, "latency_s_p50", "s")])
    return [Drawing("latency", "Latency", caption, alt, figure)]


def _waiting(group: Group, *, is_drawn: bool) -> str:
    """The time throttled by providers, if known; otherwise latency is the whole wall time."""
    timed = [view for view in group.views if view.row("latency_s")]
    unknown = [printable(view.label, 40) for view in timed if view.value("throttled_s") is None]
    said = []
    if is_drawn:
        said.append(
            f"Right: {THROTTLED}, with 95 % CI. Waiting for max_concurrency or for a retry counts as latency."
        )
    elif len(unknown) < len(timed):
        who = "No other system" if unknown else "No system"
        said.append(f"{who} waited for its provider for more than {_WORTH_SHOWING_S:g} s a query.")
    if unknown:
        whose = f" of {', '.join(unknown)}" if len(unknown) < len(timed) else ""
        said.insert(0, f"Throttling{whose} is unknown and included in the seconds.")
    return " ".join(said)


def _n_dots(timed: Mapping[int, Sequence[float]]) -> int:
    n = sum(map(len, timed.values()))
    return n if n <= _MOST_DOTS else 0


def _distributions(axes: Axes, views: Sequence[RunView], timed: Mapping[int, Sequence[float]]) -> None:
    axes.set_xscale("log")
    for place, view in enumerate(views):
        values = [max(value, _SHORTEST_S) for value in timed[place]]
        if not values:
            print_nothing(axes, place)
            continue
        if _n_dots(timed):
            _dots(axes, values, place, style_of(place))
        _quantiles(axes, values, place, style_of(place), name_of(view))
        _print_median(axes, view, place)
    _limits(axes, [max(value, _SHORTEST_S) for values in timed.values() for value in values])
    axes.set_xlabel("seconds per query without throttling", fontsize=8)
    axes.annotate(
        "median [95 % CI], n", (1.01, 1), xycoords="axes fraction", va="bottom", fontsize=LETTERS_PT, color=GREY
    )


def _dots(axes: Axes, values: Sequence[float], place: int, look: RunStyle) -> None:
    # Labels below the line at three alternating heights, so that they do not overlap.
    heights = [place + 0.2 + 0.07 * (number % 3) for number in range(len(values))]
    axes.plot(
        values, heights, linestyle="", marker=".", markersize=3, color=look.color, alpha=0.5, markeredgewidth=0
    )


def _quantiles(axes: Axes, values: Sequence[float], place: int, look: RunStyle, name: str) -> None:
    p5, p25, p50, p75, p95 = (float(value) for value in np.quantile(values, _SHOWN))
    axes.plot([p5, p95], [place, place], color=look.color, linewidth=1.0)
    box: dict[str, Any] = {"linewidth": 4.5, "alpha": 0.55, "solid_capstyle": "butt"}
    (middle,) = axes.plot([p25, p75], [place, place], color=look.color, **box)
    style: dict[str, Any] = {"marker": look.marker, "markersize": 5, "markeredgecolor": "white"}
    (median,) = axes.plot(p50, place, color=look.color, zorder=3, **style)
    parts = zip(("5 %", "25 %", "median", "75 %", "95 %"), (p5, p25, p50, p75, p95), strict=True)
    for artist in (middle, median):
        tell(artist, f"{name}: {', '.join(f'{part} {number(value)} s' for part, value in parts)}")


def _print_median(axes: Axes, view: RunView, place: int) -> None:
    row = view.row("latency_s_p50")
    axes.annotate(
        f"{format_value(cost_quantity(row, interval=True))}, {format_value(population(row) if row else None)}",
        (1.01, place),
        xycoords=("axes fraction", "data"),
        va="center",
        fontsize=LETTERS_PT,
    )


def _limits(axes: Axes, values: Sequence[float]) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = min(values), max(values)
    axes.set_xlim(low / 1.3, high * 1.3)
    few_decades = high / low < 300
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few_decades else (1,)))
    axes.xaxis.set_minor_locator(NullLocator())
    name_ticks(axes)


def _throttling(axes: Axes, views: Sequence[RunView]) -> None:
    highest = 0.0
    for place, view in enumerate(views):
        row = view.row("throttled_s")
        if row is None or row.mean is None:
            print_nothing(axes, place)
            continue
        dot(axes, row, place, style_of(place))
        highest = max(highest, row.mean, row.ci_high or 0.0)
    leave_room(axes, highest, 0.29, letters=1)
    axes.set_xlabel("throttled, s a query\n(mean, 95 % CI)", fontsize=8)
