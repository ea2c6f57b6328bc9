"""Measures that are points of a curve, such as Hit over the cutoff k: a panel for each curve, a line for each
run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.display.plotting import LIGHT, WIDTH_IN, tell
from harness.report.figures.marks import (
    DrawnRuns,
    columns_of,
    interval_of,
    legend_names,
    n_of,
    name_of,
    queries_of,
    style_of,
    tip_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from harness.display.plotting import NewFigure

_COLUMNS = 3
_SPREAD = 0.3
"""Part of the distance between two points over which the dots of the runs are spread."""


class Curve(NamedTuple):
    """One panel."""

    title: str
    points: tuple[tuple[float, str], ...]
    """(place on the axis, measure), ascending."""


def draw_curves(new_figure: NewFigure, runs: DrawnRuns, curves: Sequence[Curve], along: str) -> Figure:
    """A panel for each curve, three beside each other or, of four, two; `along`: what their points lie along."""
    columns = 2 if len(curves) == 4 else min(_COLUMNS, len(curves))
    lines = -(-len(curves) // columns)
    figure = new_figure(figsize=(WIDTH_IN, 0.6 + 1.75 * lines), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False)
    handles: list[Line2D] = []
    for place, axes in enumerate(grid.flat):
        if place >= len(curves):
            axes.remove()
            continue
        curve = curves[place]
        lines_of = _draw(axes, runs, curve)
        handles = handles or lines_of
        rows = [view.row(measure) for _, view in runs for _, measure in curve.points]
        axes.set_title(f"{curve.title}, n = {n_of(rows)}", fontsize=8)
    names = legend_names(name_of(view) for _, view in runs)
    place_of: dict[str, Any] = {"loc": "outside upper left", "ncols": columns_of(names, 105), "handlelength": 2.4}
    figure.legend(handles, names, **place_of)
    figure.supxlabel(along, fontsize=8)
    figure.supylabel("value (95 % CI)", fontsize=8)
    return figure


def how_to_read_curves(runs: DrawnRuns, curves: Sequence[Curve]) -> str:
    """The end of a caption."""
    ends = [curve.points[-1][1] for curve in curves]
    rows = [view.row(measure) for _, view in runs for measure in ends]
    return f"Marker: mean; upright line: 95 % interval; {queries_of((view for _, view in runs), rows)}."


def _draw(axes: Axes, runs: DrawnRuns, curve: Curve) -> list[Line2D]:
    """One line per run, points evenly spaced; the dots of the runs are shifted slightly."""
    lines = []
    for place, (number, view) in enumerate(runs):
        look = style_of(number)
        shift = min(0.09, _SPREAD / len(runs)) * (place - (len(runs) - 1) / 2)
        rows = [(at + shift, view.row(measure)) for at, (_, measure) in enumerate(curve.points)]
        known = [(x, row, row.mean) for x, row in rows if row is not None and row.mean is not None]
        for x, row, _ in known:
            limits = interval_of(row)
            if limits:
                axes.plot([x, x], limits, color=look.color, linewidth=0.8)
        style: dict[str, Any] = {"color": look.color, "linestyle": look.linestyle, "marker": look.marker}
        xs, means = [x for x, _, _ in known], [mean for _, _, mean in known]
        (line,) = axes.plot(xs, means, linewidth=1.1, markersize=4, clip_on=False, **style)
        # A line without a point is nowhere, and would take all the room there is.
        line.set_in_layout(bool(xs))
        points = zip((at for at, _ in curve.points), (row for _, row in rows), strict=True)
        tell(line, f"{name_of(view)}: {'; '.join(f'{at:g}: {tip_of(row)}' for at, row in points if row)}")
        lines.append(line)
    axes.set_xticks(range(len(curve.points)), [f"{at:g}" for at, _ in curve.points])
    axes.set_xlim(-0.4, len(curve.points) - 0.6)
    drawn = [found.mean for _, view in runs for _, measure in curve.points if (found := view.row(measure))]
    if all(mean is None or 0 <= mean <= 1 for mean in drawn):
        axes.set_ylim(-0.03, 1.03)
        axes.set_yticks((0, 0.5, 1), ("0", "0.5", "1"))
    axes.grid(axis="y", color=LIGHT, linewidth=0.6)
    return lines
