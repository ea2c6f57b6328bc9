"""Refusing what has no answer against refusing what has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.figures.marks import alt_of, interval_of, n_of
from harness.report.figures.scatter import Point, Span, draw_points, key_height, name_points
from harness.report.plotting import GREY, HALF_IN, Drawing
from harness.report.text import percent, printable
from harness.report.view import Group, RunView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness.analysis import Aggregate
    from harness.report.plotting import NewFigure

_HALLUCINATION = "hallucination_rate"
_ABSTENTION = "false_abstention_rate"


def draw_refusals(group: Group, new_figure: NewFigure) -> list[Drawing]:
    """Hallucination rate against false abstention rate, a point for each run that has both."""
    points = [
        Point(number, view, x, y)
        for number, view in enumerate(group.views)
        if (x := _span(view, _ABSTENTION)) and (y := _span(view, _HALLUCINATION))
    ]
    if not points:
        return []
    figure = new_figure(figsize=(HALF_IN, 3.4 + key_height(points)), layout="constrained")
    axes = figure.subplots()
    draw_points(axes, points)
    _dress(axes, points)
    name_points(figure, axes, points)
    null, answerable = (n_of(point.view.row(name) for point in points) for name in (_HALLUCINATION, _ABSTENTION))
    caption = (
        f"Share of null queries that were answered all the same (n = {null}) against share of answerable queries "
        f"that were refused (n = {answerable}), with 95 % intervals in both directions. Lower left is best; upper "
        "left answers everything, lower right refuses everything."
    )
    spoken = (
        f"{printable(point.view.label, 40)}: hallucination {percent(point.view.row(_HALLUCINATION))} %, "
        f"false abstention {percent(point.view.row(_ABSTENTION))} %."
        for point in points
    )
    return [Drawing("refusals", "Hallucination and false abstention", caption, alt_of(spoken), figure)]


def _dress(axes: Axes, points: list[Point]) -> None:
    for name, label in (("x", "false abstention rate"), ("y", "hallucination rate of null queries")):
        farthest = max(0.3, *((point.x if name == "x" else point.y).high for point in points))
        step = 0.25 if farthest > 0.5 else 0.1
        ticks = [place * step for place in range(int(1 / step) + 1) if place * step <= farthest]
        axes.set(**{f"{name}ticks": ticks, f"{name}ticklabels": [f"{100 * tick:.0f}" for tick in ticks]})
        axes.set(**{f"{name}lim": (-0.07 * farthest, 1.06 * farthest), f"{name}label": f"{label}, %"})
    axes.annotate("← better", (0.01, 0.01), xycoords="axes fraction", fontsize=7, color=GREY, rotation=45)


def _span(view: RunView, measure: str) -> Span | None:
    row: Aggregate | None = view.row(measure)
    if row is None or row.mean is None:
        return None
    return Span(row.mean, *(interval_of(row) or (row.mean, row.mean)))
