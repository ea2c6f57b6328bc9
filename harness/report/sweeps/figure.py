"""The curves of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from harness.display import Drawing
from harness.display.plotting import GREY, LIGHT, WIDTH_IN, tell
from harness.display.text import file_name, number
from harness.report.figures.marks import alt_of, interval_of, look_of, n_of, tip_of
from harness.report.sweeps.axes import Sweep, SweepLine, find_sweeps
from harness.report.view import Group
from harness.report.words.findings import Findings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness.display.plotting import NewFigure

_LOG_FROM = 8.0
"""Largest over smallest value from which on a parameter is drawn by its logarithm."""


class _Panel(NamedTuple):
    measure: str
    title: str


def draw_sweeps(group: Group, findings: Findings, new_figure: NewFigure) -> list[Drawing]:
    """For each swept parameter: quality, tokens and latency over its values, a line for each system."""
    panels = _panels(group, findings)
    return [_draw(group, sweep, panels, new_figure) for sweep in find_sweeps(group)] if panels else []


def _panels(group: Group, findings: Findings) -> list[_Panel]:
    """Quality that any run has a value of, and costs that any run had."""
    costs = [_Panel("tokens", "tokens a query"), _Panel("latency_s_p50", "latency p50, s")]
    views = group.views
    quality = [_Panel(name, group.spoken(name)) for name in _quality(group, findings)]
    known = [panel for panel in quality if any(view.value(panel.measure) is not None for view in views)]
    return known + [panel for panel in costs if any(view.value(panel.measure) for view in views)]


def _quality(group: Group, findings: Findings) -> list[str]:
    """The measure that ranks, and the first main one of another evaluator."""
    if findings.measure is None:
        return []
    compared = findings.comparison.measures if findings.comparison else ()
    others = (one.measure.name for one in compared if not one.measure.is_cost)
    owner = group.owner(findings.measure)
    return [findings.measure, *[name for name in others if group.owner(name) != owner][:1]]


def _draw(group: Group, sweep: Sweep, panels: list[_Panel], new_figure: NewFigure) -> Drawing:
    figure = new_figure(figsize=(WIDTH_IN, 2.7), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for number_of, line in enumerate(sweep.lines):
            _curve(axes, group, (line, number_of), panel.measure)
        axes.set_title(panel.title, fontsize=8)
        axes.set_xlabel(sweep.parameter, color=GREY)
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", color=LIGHT, linewidth=0.6)
        _scale(axes, sweep)
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=max(1, min(4, len(names))))
    rows = [group.views[point.position].row(panels[0].measure) for line in sweep.lines for point in line.points]
    return Drawing(
        stem=f"sweep_{file_name(sweep.parameter)}",
        title=f"What {sweep.parameter} changes",
        caption=f"Means over {sweep.parameter} (n = {n_of(rows)}); the bands are 95 % intervals of each point "
        "by itself. Whether two points differ takes the paired tests.",
        alt=alt_of(_in_words(group, line, panels[0].measure) for line in sweep.lines),
        figure=figure,
    )


def _curve(axes: Axes, group: Group, named: tuple[SweepLine, int], measure: str) -> None:
    line, place = named
    look = look_of(place)
    rows = [(point.value, group.views[point.position].row(measure)) for point in line.points]
    known = [(value, row.mean) for value, row in rows if row is not None and row.mean is not None]
    banded = [(value, limits) for value, row in rows if row is not None and (limits := interval_of(row))]
    if banded:
        lows, highs = zip(*(limits for _, limits in banded), strict=True)
        axes.fill_between([value for value, _ in banded], lows, highs, color=look.color, alpha=0.15, linewidth=0)
    (curve,) = axes.plot(
        [value for value, _ in known],
        [mean for _, mean in known],
        color=look.color,
        marker=look.marker,
        markersize=4,
        linestyle=look.linestyle,
        linewidth=1.2,
        label=line.name,
    )
    points = (f"{number(value)}: {tip_of(row)}" for value, row in rows if row is not None)
    tell(curve, f"{line.name}: {'; '.join(points)}")


def _scale(axes: Axes, sweep: Sweep) -> None:
    values = sweep.values
    if values[0] > 0 and values[-1] / values[0] >= _LOG_FROM:
        axes.set_xscale("log")
    axes.set_xticks(values, [number(value) for value in values])
    axes.minorticks_off()


def _in_words(group: Group, line: SweepLine, measure: str) -> str:
    shown = [
        f"{number(point.value)}: {number(group.views[point.position].value(measure))}" for point in line.points
    ]
    return f"{line.name} {measure} at {', '.join(shown)}"
