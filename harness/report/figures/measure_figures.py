"""The figures that metrics ask for: a panel for each, or a curve where they are points of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.display import Drawing, printable
from harness.protocols import Measure, Panel, PanelFigure
from harness.report.figures.curves import Curve, draw_curves, how_to_read_curves
from harness.report.figures.kinds import draw_kinds
from harness.report.figures.marks import DrawnRuns, alt_of, runs_with
from harness.report.figures.panels import (
    Layout,
    Subplot,
    draw_panels,
    from_zero,
    how_to_read,
    sentences,
    tight,
)
from harness.report.view import Group

if TYPE_CHECKING:
    from harness.display.plotting import NewFigure

_MOST_CURVES = 6
"""Runs in one panel."""
_MOST_RUNS_WITH_ALL = 5
_MAIN_ROWS = 2
"""Rows of panels that are drawn of more runs than those."""
_ZOOMED = " The axis begins where the values do, not at 0."

Placed = Sequence[tuple[Measure, Panel]]


def draw_measured(group: Group, names: Sequence[str], new_figure: NewFigure) -> list[Drawing]:
    """The figures of these measures, in the order in which they are first named."""
    wanted: dict[PanelFigure, list[tuple[Measure, Panel]]] = {}
    for measure in (group.known[name] for name in names if name in group.known):
        if measure.panel:
            wanted.setdefault(measure.panel.figure, []).append((measure, measure.panel))
    drawn = (_draw(group, figure, placed, new_figure) for figure, placed in wanted.items())
    return [drawing for drawing in drawn if drawing]


def _draw(group: Group, figure: PanelFigure, placed: Placed, new_figure: NewFigure) -> Drawing | None:
    for measure, _ in placed:
        if measure.labels:
            return draw_kinds(group, figure, measure, new_figure)
    runs = runs_with(group, [measure.name for measure, _ in placed])
    # A metric without values would be an empty panel, or an end of a curve without a point.
    placed = [(measure, panel) for measure, panel in placed if _has_values(runs, measure)]
    every = _subplots(runs, placed)
    if not every:
        return None
    curved = [(measure, panel) for measure, panel in placed if panel.curve]
    curves = _curves(curved)
    if 1 < len(runs) <= _MOST_CURVES and any(len(curve.points) > 1 for curve in curves):
        drawn = draw_curves(new_figure, runs, curves, printable(figure.along))
        shown, subplots, how = curved, _subplots(runs, curved), how_to_read_curves(runs, curves)
    else:
        subplots = _main_rows(runs, every)
        shown = [(measure, panel) for measure, panel in placed if measure.name in {s.measure for s in subplots}]
        columns = max(_row_lengths(subplots)) if subplots[0].row else 0
        limits = tight(runs, subplots) if figure.zoomed else from_zero(runs, subplots)
        drawn = draw_panels(new_figure, runs, subplots, Layout("value (95 % CI)", limits, columns))
        how = f"{how_to_read(runs, subplots)}{_ZOOMED if figure.zoomed else ''}"
        how += "" if len(subplots) == len(every) else " The other scores are in the table."
    caption = f"{figure.says}; {_direction(shown)}. {how}"
    return Drawing(figure.stem, figure.title, caption, alt_of(sentences(runs, subplots)), drawn)


def _has_values(runs: DrawnRuns, measure: Measure) -> bool:
    return any(view.value(measure.name) is not None for _, view in runs)


def _curves(placed: Placed) -> list[Curve]:
    """In the order in which they are first named, their points by place."""
    found: dict[str, dict[float, str]] = {}
    for measure, panel in placed:
        title = f"{panel.curve} ({panel.row})" if panel.row else panel.curve
        found.setdefault(printable(title), {})[panel.at] = measure.name
    return [Curve(title, tuple(sorted(points.items()))) for title, points in found.items()]


def _subplots(runs: DrawnRuns, placed: Placed) -> list[Subplot]:
    """Row by row; of one run all points of a curve, of several the farthest."""
    kept = [(measure, panel) for measure, panel in placed if not _is_repeated(runs, measure, panel)]
    if len(runs) > 1:
        ends = {(panel.row, panel.curve): panel.at for _, panel in sorted(kept, key=lambda one: one[1].at)}
        kept = [(m, panel) for m, panel in kept if not panel.curve or panel.at == ends[panel.row, panel.curve]]
    rows = list(dict.fromkeys(panel.row for _, panel in kept))
    return [
        Subplot(printable(panel.title or measure.spoken), measure.name, printable(row))
        for row in rows
        for measure, panel in kept
        if panel.row == row
    ]


def _main_rows(runs: DrawnRuns, subplots: Sequence[Subplot]) -> list[Subplot]:
    """Of many runs the main rows."""
    rows = list(dict.fromkeys(subplot.row for subplot in subplots))
    kept = rows if len(runs) <= _MOST_RUNS_WITH_ALL else rows[:_MAIN_ROWS]
    return [subplot for subplot in subplots if subplot.row in kept]


def _is_repeated(runs: DrawnRuns, measure: Measure, panel: Panel) -> bool:
    return bool(panel.repeats) and all(view.value(measure.name) == view.value(panel.repeats) for _, view in runs)


def _row_lengths(subplots: Sequence[Subplot]) -> list[int]:
    rows = [subplot.row for subplot in subplots]
    return [rows.count(row) for row in dict.fromkeys(rows)]


def _direction(placed: Placed) -> str:
    ways = {measure.higher_is_better for measure, _ in placed}
    return "higher is better" if ways == {True} else "lower is better" if ways == {False} else "see each measure"
