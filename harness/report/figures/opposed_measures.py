"""Two measures that are bought with each other, such as refusing what has no answer and refusing what has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.display import Drawing, printable
from harness.display.plotting import GREY, HALF_IN
from harness.protocols import Measure, PanelFigure
from harness.report.figures.marks import alt_of, interval_of, n_of
from harness.report.figures.scales import Scale
from harness.report.figures.scatter import ScatterPoint, Stretch, draw_points, key_height, name_points
from harness.report.view import Group, RunView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness.display.plotting import NewFigure

Both = tuple[Measure, Measure]
"""What is drawn upwards, and what is drawn to the right."""


def draw_tradeoff(group: Group, figure: PanelFigure, both: Both, new_figure: NewFigure) -> Drawing | None:
    """A point for each run that has both."""
    up, right = both
    scales = Scale.of(group, up.name), Scale.of(group, right.name)
    points = [
        ScatterPoint(number, view, x, y)
        for number, view in enumerate(group.views)
        if (x := _stretch(view, right.name)) and (y := _stretch(view, up.name))
    ]
    if not points:
        return None
    drawn = new_figure(figsize=(HALF_IN, 3.4 + key_height(points)), layout="constrained")
    axes = drawn.subplots()
    draw_points(axes, points)
    for scale, axis in zip(scales, "yx", strict=True):
        _dress(axes, points, scale, axis)
    if not (up.higher_is_better or right.higher_is_better):
        axes.annotate("← better", (0.01, 0.01), xycoords="axes fraction", fontsize=7, color=GREY, rotation=45)
    name_points(drawn, axes, points)
    counts = [n_of(point.view.row(measure.name) for point in points) for measure in both]
    caption = (
        f"{figure.says}: {up.summary} (n = {counts[0]}) against {right.summary} (n = {counts[1]}), with 95 % "
        f"intervals in both directions. {_best(both)} is best."
    )
    spoken = (
        f"{printable(point.view.label, 40)}: "
        + ", ".join(f"{scale.name} {_said(point.view, scale)}" for scale in scales)
        + "."
        for point in points
    )
    return Drawing(figure.stem, figure.title, caption, alt_of(spoken), drawn)


def _best(both: Both) -> str:
    up, right = both
    return f"{'Upper' if up.higher_is_better else 'Lower'} {'right' if right.higher_is_better else 'left'}"


def _said(view: RunView, scale: Scale) -> str:
    return f"{scale.text(view.row(scale.measure))}{' %' if scale.is_share else ''}"


def _dress(axes: Axes, points: Sequence[ScatterPoint], scale: Scale, axis: str) -> None:
    """Shares from 0 as far as they go, but so that small ones do not look large; anything else as it comes."""
    stretches = [point.x if axis == "x" else point.y for point in points]
    farthest = max(one.high for one in stretches)
    if scale.is_share:
        farthest = max(0.3, farthest)
        step = 0.25 if farthest > 0.5 else 0.1
        ticks = [place * step for place in range(int(1 / step) + 1) if place * step <= farthest]
        axes.set(**{f"{axis}ticks": ticks, f"{axis}ticklabels": [f"{100 * tick:.0f}" for tick in ticks]})
        axes.set(**{f"{axis}lim": (-0.07 * farthest, 1.06 * farthest), f"{axis}label": f"{scale.name}, %"})
        return
    nearest = min(0.0, *(one.low for one in stretches))
    room = 0.07 * ((farthest - nearest) or 1.0)
    axes.set(**{f"{axis}lim": (nearest - room, farthest + room), f"{axis}label": scale.name})


def _stretch(view: RunView, measure: str) -> Stretch | None:
    row = view.row(measure)
    if row is None or row.mean is None:
        return None
    return Stretch(row.mean, *(interval_of(row) or (row.mean, row.mean)))
