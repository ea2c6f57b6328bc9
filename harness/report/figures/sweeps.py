"""The curves of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from harness.display import Drawing, format_value
from harness.display.plotting import GREY, LIGHT, WIDTH_IN, NewFigure, tell
from harness.display.text_format import file_name, number
from harness.report.figures.marks import alt_of, interval_of, n_of, style_of, tip_of
from harness.report.quantities import cost_quantity, listed_apart
from harness.report.tables.sweeps import Sweep, SweepLine, find_sweeps
from harness.report.verdict.findings import Findings
from harness.report.verdict.standings import BASELINE, why_not_ranked
from harness.report.view import Group
from harness.statistics import Aggregate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOG_FROM = 8.0
"""Largest over smallest value from which on a parameter is drawn by its logarithm."""


class _Panel(NamedTuple):
    measure: str
    title: str


_COSTS = (_Panel("tokens", "tokens a query"), _Panel("latency_s_p50", "latency p50, s"))


def draw_sweeps(group: Group, findings: Findings, new_figure: NewFigure) -> list[Drawing]:
    """For each swept parameter: quality, tokens and latency over its values, a line for each system."""
    panels = _panels(group, findings)
    stand = _Stand(group, findings)
    return [
        _draw(stand, sweep, panels, new_figure)
        for sweep in find_sweeps(group)
        if any(stand.points(line, panel.measure) for panel in panels for line in sweep.lines)
    ]


def _panels(group: Group, findings: Findings) -> list[_Panel]:
    """The measure that ranks and the first main one of another evaluator, if any run has a value, and costs that
    any run had.
    """
    quality = []
    if findings.measure is not None:
        compared = findings.comparison.measures if findings.comparison else ()
        others = (one.measure.name for one in compared if not one.measure.is_cost)
        owner = group.owner(findings.measure)
        quality = [findings.measure, *[name for name in others if group.owner(name) != owner][:1]]
    views = group.views
    scored = [name for name in quality if any(view.value(name) is not None for view in views)]
    costs = [panel for panel in _COSTS if any(view.value(panel.measure) for view in views)]
    return [*(_Panel(name, group.display_name(name)) for name in scored), *costs]


@dataclass(frozen=True)
class _Stand:
    group: Group
    findings: Findings

    def points(self, line: SweepLine, measure: str) -> list[tuple[float, Aggregate]]:
        """The swept value and the mean of each run that has one, in the mix of the leaderboard; without those that
        stand apart.
        """
        rows = [
            (point.value, self.findings.row_of(self.group, point.position, measure))
            for point in line.points
            if not self.why_not_comparable(point.position, measure)
        ]
        return [(value, row) for value, row in rows if row is not None and row.mean is not None]

    def why_not_comparable(self, position: int, measure: str) -> str:
        """Why a run is on no curve of that measure; empty: it is on one."""
        view = self.group.views[position]
        if view.left_race_after is not None:
            return f"left the race after {view.left_race_after:,} queries"
        why = why_not_ranked(view, self.group.scored_otherwise(measure))
        return "" if why == BASELINE else why

    def left_out(self, sweep: Sweep, panels: Sequence[_Panel]) -> str:
        """The runs that are on no curve, with reasons; empty if there are none, otherwise a sentence preceded by a
        space.
        """
        places = [point.position for line in sweep.lines for point in line.points]
        apart = {
            self.group.views[place].label: why
            for panel in panels
            for place in places
            if (why := self.why_not_comparable(place, panel.measure))
        }
        return f" Left out: {listed_apart(apart)}." if apart else ""


def _draw(stand: _Stand, sweep: Sweep, panels: list[_Panel], new_figure: NewFigure) -> Drawing:
    figure = new_figure(figsize=(WIDTH_IN, 2.7), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for place, line in enumerate(sweep.lines):
            _curve(axes, line.name, place, stand.points(line, panel.measure), panel.measure)
        axes.set_title(panel.title, fontsize=8)
        axes.set_xlabel(sweep.parameter, color=GREY)
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", color=LIGHT, linewidth=0.6)
        values = sweep.values
        if values[0] > 0 and values[-1] / values[0] >= _LOG_FROM:
            axes.set_xscale("log")
        axes.set_xticks(values, [number(value) for value in values])
        axes.minorticks_off()
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=max(1, min(4, len(names))))
    measure = panels[0].measure
    points = {line.name: found for line in sweep.lines if (found := stand.points(line, measure))}
    rows = [row for found in points.values() for _, row in found]
    return Drawing(
        stem=f"sweep_{file_name(sweep.parameter)}",
        title=f"What {sweep.parameter} changes",
        caption=f"Means over {sweep.parameter} (n = {n_of(rows)}, {stand.findings.weighed}); the bands are 95 % "
        "intervals of each point by itself. Whether two points differ takes the paired tests."
        f"{stand.left_out(sweep, panels)}",
        alt=alt_of(
            f"{name} {measure} at {', '.join(f'{number(value)}: {_shown(row, measure)}' for value, row in found)}"
            for name, found in points.items()
        ),
        figure=figure,
    )


def _curve(axes: Axes, name: str, place: int, rows: Sequence[tuple[float, Aggregate]], measure: str) -> None:
    look = style_of(place)
    banded = [(value, limits) for value, row in rows if (limits := interval_of(row))]
    if banded:
        lows, highs = zip(*(limits for _, limits in banded), strict=True)
        axes.fill_between([value for value, _ in banded], lows, highs, color=look.color, alpha=0.15, linewidth=0)
    (curve,) = axes.plot(
        [value for value, _ in rows],
        [row.mean or 0.0 for _, row in rows],
        color=look.color,
        marker=look.marker,
        markersize=4,
        linestyle=look.linestyle,
        linewidth=1.2,
        label=name,
    )
    tell(curve, f"{name}: {'; '.join(f'{number(value)}: {_shown(row, measure)}' for value, row in rows)}")


def _shown(row: Aggregate, measure: str) -> str:
    """A mean with its interval and n; costs with `≥` if not everything was counted."""
    is_cost = measure in {panel.measure for panel in _COSTS}
    return f"{format_value(cost_quantity(row, interval=True))}, n = {n_of([row])}" if is_cost else tip_of(row)
