"""Small multiples: a panel for each measure, a row for each run, a dot with its interval in each."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.display import NOTHING, format_value
from harness.display.plotting import GREY, HALF_IN, LIGHT, WIDTH_IN
from harness.report.aggregates import population
from harness.report.figures.marks import (
    DrawnRuns,
    cells,
    dot,
    extremes,
    interval_of,
    name_of,
    queries_of,
    style_of,
    wrapped,
)
from harness.report.view import RunView
from harness.statistics import Aggregate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.display.plotting import NewFigure

Limits = tuple[float, float]
UNIT: Limits = (0.0, 1.0)
_NAME_LETTER_IN, _TITLE_LETTER_IN = 0.056, 0.067
_COUNT_IN = 0.65
"""Width of "145 of 150" beside a panel."""
_NARROWEST_IN = 1.0


@dataclass(frozen=True)
class Subplot:
    """One panel."""

    title: str
    measure: str
    row: str = ""
    """Heading of the row of panels that it belongs to."""

    @property
    def headings(self) -> list[str]:
        """The heading of its row, if any, and its title."""
        return [self.row, self.title] if self.row else [self.title]

    @property
    def named(self) -> str:
        """Both on one line."""
        return ": ".join(self.headings)


@dataclass(frozen=True)
class Layout:
    """Settings shared by all panels."""

    xlabel: str
    limits: Limits = UNIT
    columns: int = 0
    """Panels beside each other; 0: as many as suit their number."""


def draw_panels(new_figure: NewFigure, runs: DrawnRuns, panels: Sequence[Subplot], layout: Layout) -> Figure:
    """Of one run, one panel with a row for each measure; of several, a panel for each measure."""
    if len(runs) == 1:
        return _one_run(new_figure, runs[0], panels, layout)
    names = [wrapped(name_of(view), 28) for _, view in runs]
    columns, letters = _fitting(runs, panels, layout, max(map(cells, names)))
    lines = -(-len(panels) // columns)
    height = 0.3 + lines * (0.62 + row_height(names) * len(runs))
    figure = new_figure(figsize=(WIDTH_IN, height), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False)
    for place, axes in enumerate(grid.flat):
        if place >= len(panels):
            axes.remove()
            continue
        _panel(axes, runs, panels[place], layout.limits)
        axes.set_title(_title(runs, panels[place], letters), fontsize=8)
        axes.set_yticks(range(len(runs)), names if place % columns == 0 else [""] * len(runs), fontsize=7)
    figure.supxlabel(layout.xlabel, fontsize=8)
    return figure


def row_height(names: Sequence[str]) -> float:
    """Height of a row in inches at which names do not overlap."""
    return 0.08 + 0.12 * max(name.count("\n") + 1 for name in names)


def tight(runs: DrawnRuns, panels: Sequence[Subplot]) -> Limits:
    """From just below the lowest to just above the highest limit of any interval."""
    ends = _ends(runs, panels)
    room = 0.05 * max(max(ends) - min(ends), 0.05)
    return min(ends) - room, max(ends) + room


def from_zero(runs: DrawnRuns, panels: Sequence[Subplot]) -> Limits:
    """From 0 to 1 where everything lies there, else as far as the values go."""
    ends = [0.0, *_ends(runs, panels)]
    low, high = min(ends), max(ends)
    if low == 0 and high <= 1:
        return UNIT
    room = 0.03 * (high - low)
    return low - room, high + room


def _ends(runs: DrawnRuns, panels: Sequence[Subplot]) -> list[float]:
    """The limits of every interval; of a mean without one, itself."""
    rows = [row for _, view in runs for panel in panels if (row := view.row(panel.measure))]
    return [end for row in rows if row.mean is not None for end in (interval_of(row) or (row.mean,))]


def sentences(runs: DrawnRuns, panels: Sequence[Subplot]) -> list[str]:
    """For an alt text: the lowest and the highest value of each panel."""
    return [extremes(panel.named, runs, panel.measure) for panel in panels]


def _panel(axes: Axes, runs: DrawnRuns, panel: Subplot, limits: Limits) -> None:
    rows = [view.row(panel.measure) for _, view in runs]
    same = _same_n(rows)
    for height, ((number, _), row) in enumerate(zip(runs, rows, strict=True)):
        if row is None or row.mean is None:
            _nothing(axes, height)
            continue
        dot(axes, row, height, style_of(number))
        if not same:
            _beside(axes, row, height)
    if not same:
        _n_above(axes)
    _dress(axes, len(runs), limits)


def _title(runs: DrawnRuns, panel: Subplot, width: int) -> str:
    """The title, with n unless n is shown for each row."""
    rows = [view.row(panel.measure) for _, view in runs]
    title = "\n".join(textwrap.fill(line, width) for line in panel.headings)
    return f"{title}\nn = {format_value(population(rows[0]))}" if _same_n(rows) else title


def _same_n(rows: Sequence[Aggregate | None]) -> bool:
    return all(rows) and len({population(row) for row in rows}) == 1


def _one_run(new_figure: NewFigure, run: tuple[int, RunView], panels: Sequence[Subplot], layout: Layout) -> Figure:
    number, view = run
    names = [textwrap.fill(panel.named, 40) for panel in panels]
    height = 0.85 + row_height(names) * len(panels)
    figure = new_figure(figsize=(HALF_IN, height), layout="constrained")
    axes = figure.subplots()
    for place, panel in enumerate(panels):
        row = view.row(panel.measure)
        if row is not None:
            dot(axes, row, place, style_of(number))
            _beside(axes, row, place)
    _n_above(axes)
    axes.set_title(wrapped(name_of(view), 48), fontsize=8)
    axes.set_yticks(range(len(panels)), names, fontsize=7)
    axes.set_xlabel(layout.xlabel)
    _dress(axes, len(panels), layout.limits)
    return figure


def _dress(axes: Axes, n_rows: int, limits: Limits) -> None:
    low, high = limits
    if limits == UNIT:
        axes.set_xlim(-0.03, 1.03)
        axes.set_xticks((0, 0.5, 1), ("0", "0.5", "1"))
    else:
        axes.set_xlim(low, high)
        axes.locator_params(axis="x", nbins=4)
    axes.set_ylim(n_rows - 0.5, -0.5)
    axes.grid(axis="both", color=LIGHT, linewidth=0.6)
    axes.tick_params(axis="y", length=0)


def _beside(axes: Axes, row: Aggregate, height: float) -> None:
    place = axes.get_yaxis_transform()
    axes.text(1.03, height, format_value(population(row)), transform=place, va="center", fontsize=7, color=GREY)


def _n_above(axes: Axes) -> None:
    axes.text(1.03, 1.02, "n", transform=axes.transAxes, fontsize=7, color=GREY)


def _nothing(axes: Axes, height: float) -> None:
    place = axes.get_yaxis_transform()
    axes.text(0.5, height, NOTHING, transform=place, ha="center", va="center", fontsize=7, color=GREY)


def _fitting(runs: DrawnRuns, panels: Sequence[Subplot], layout: Layout, longest: int) -> tuple[int, int]:
    """Into how many columns panels go beside names of `longest` letters, and how many letters a title has."""
    counted = any(not _same_n([view.row(panel.measure) for _, view in runs]) for panel in panels)
    columns = layout.columns or _columns(len(panels))
    while True:
        width = (WIDTH_IN - longest * _NAME_LETTER_IN) / columns - 0.1 - counted * _COUNT_IN / 2
        if width >= _NARROWEST_IN or columns <= 2:
            return columns, max(10, int(width / _TITLE_LETTER_IN))
        columns = columns // 2 if layout.columns else columns - 1


def _columns(count: int) -> int:
    if count in {2, 4}:
        return 2
    return 4 if count > 6 else min(count, 3)


def how_to_read(runs: DrawnRuns, panels: Sequence[Subplot]) -> str:
    """The end of a caption: the meaning of dots and lines, and n."""
    rows = [view.row(panel.measure) for _, view in runs for panel in panels]
    failed = any(row is not None and row.n_failed for row in rows)
    covered = " “a of b”: only a of b scores have a value." if failed else ""
    return f"Dot: mean; line: 95 % interval; {queries_of((view for _, view in runs), rows)}.{covered}"
