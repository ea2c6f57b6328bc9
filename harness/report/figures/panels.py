"""Figures with a row for each run and a panel for each measure or quantity: dots with their intervals, or bars."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.display import NOTHING, format_value
from harness.display.number_format import bare
from harness.display.plotting import GREY, HALF_IN, WIDTH_IN
from harness.report.figures import marks
from harness.report.figures.marks import LETTERS_PT, DrawnRuns
from harness.report.quantities import cost_of, population
from harness.report.view import RunView
from harness.statistics import Aggregate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.display.plotting import NewFigure

Limits = tuple[float, float]
UNIT: Limits = (0.0, 1.0)
VALUE = "value (95 % CI)"
_NAME_LETTER_IN, _TITLE_LETTER_IN = 0.056, 0.067
_COUNT_IN = 0.65
"""Width of "145 of 150" beside a panel."""
_NARROWEST_IN = 1.0
_SIZES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_LETTER_IN = 0.065
"""How wide a figure of `LETTERS_PT` is."""
_NAMES_IN = 1.5
"""Approximate width of the names and the gaps between panels."""


@dataclass(frozen=True)
class Subplot:
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
        return ": ".join(self.headings)


def draw_panels(
    new_figure: NewFigure, runs: DrawnRuns, panels: Sequence[Subplot], limits: Limits, beside: int
) -> Figure:
    """Of one run, one panel with a row for each measure; of several, a panel for each measure, so many beside each
    other (0: as many as suit their number).
    """
    if len(runs) == 1:
        return _one_run(new_figure, runs[0], panels, limits)
    names = marks.names_of(view for _, view in runs)
    columns, letters = _fitting(runs, panels, beside, max(map(marks.cells, names)))
    lines = -(-len(panels) // columns)
    height = 0.3 + lines * (0.62 + marks.row_height(names) * len(runs))
    figure = new_figure(figsize=(WIDTH_IN, height), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False)
    for place, axes in enumerate(grid.flat):
        if place >= len(panels):
            axes.remove()
            continue
        _panel(axes, runs, panels[place], limits, letters)
        axes.set_yticks(range(len(runs)), names if place % columns == 0 else [""] * len(runs), fontsize=7)
    figure.supxlabel(VALUE, fontsize=8)
    return figure


def limits_of(runs: DrawnRuns, panels: Sequence[Subplot], *, zoomed: bool) -> Limits:
    """From just below the lowest to just above the highest limit of any interval; not `zoomed`: from 0 to 1 where
    everything lies there, otherwise from 0.
    """
    rows = [row for _, view in runs for panel in panels if (row := view.row(panel.measure))]
    ends = [end for row in rows if row.mean is not None for end in (marks.interval_of(row) or (row.mean,))]
    if zoomed:
        room = 0.05 * max(max(ends) - min(ends), 0.05)
        return min(ends) - room, max(ends) + room
    low, high = min(0.0, *ends), max(0.0, *ends)
    if low == 0 and high <= 1:
        return UNIT
    room = 0.03 * (high - low)
    return low - room, high + room


def sentences(runs: DrawnRuns, panels: Sequence[Subplot]) -> list[str]:
    """For an alt text: the lowest and the highest value of each panel."""
    return [marks.extremes(panel.named, runs, panel.measure) for panel in panels]


def how_to_read(runs: DrawnRuns, panels: Sequence[Subplot]) -> str:
    """The end of a caption: the meaning of dots and lines, and n."""
    rows = [view.row(panel.measure) for _, view in runs for panel in panels]
    failed = any(row is not None and row.n_failed for row in rows)
    covered = " “a of b”: only a of b scores have a value." if failed else ""
    return f"Dot: mean; line: 95 % interval; {marks.queries_of((view for _, view in runs), rows)}.{covered}"


def _panel(axes: Axes, runs: DrawnRuns, panel: Subplot, limits: Limits, letters: int) -> None:
    """n is in the title unless it is shown for each row."""
    rows = [view.row(panel.measure) for _, view in runs]
    numbered = [(row, number) for row, (number, _) in zip(rows, runs, strict=True)]
    title = "\n".join(textwrap.fill(line, letters) for line in panel.headings)
    if _same_n(rows):
        title += f"\nn = {format_value(population(rows[0]))}"
        marks.dot_rows(axes, numbered)
    else:
        _counted_rows(axes, numbered)
    _dress(axes, len(runs), limits)
    axes.set_title(title, fontsize=8)


def _counted_rows(axes: Axes, rows: Sequence[tuple[Aggregate | None, int]]) -> None:
    marks.dot_rows(axes, rows, lambda row: format_value(population(row)), color=GREY)
    axes.text(1.03, 1.02, "n", transform=axes.transAxes, fontsize=LETTERS_PT, color=GREY)


def _same_n(rows: Sequence[Aggregate | None]) -> bool:
    return all(rows) and len({population(row) for row in rows}) == 1


def _one_run(new_figure: NewFigure, run: tuple[int, RunView], panels: Sequence[Subplot], limits: Limits) -> Figure:
    number, view = run
    names = [textwrap.fill(panel.named, 40) for panel in panels]
    figure, (axes,) = marks.row_figure(new_figure, names, besides_in=0.85, width_in=HALF_IN)
    _counted_rows(axes, [(view.row(panel.measure), number) for panel in panels])
    axes.set_title(marks.wrapped(marks.name_of(view), 48), fontsize=8)
    axes.set_xlabel(VALUE)
    _dress(axes, len(panels), limits)
    return figure


def _dress(axes: Axes, n_rows: int, limits: Limits) -> None:
    if limits == UNIT:
        axes.set_xlim(-0.03, 1.03)
        axes.set_xticks((0, 0.5, 1), ("0", "0.5", "1"))
    else:
        axes.set_xlim(*limits)
        axes.locator_params(axis="x", nbins=4)
    marks.dress_rows(axes, n_rows, grid="both", below=0.5)


def _fitting(runs: DrawnRuns, panels: Sequence[Subplot], beside: int, longest: int) -> tuple[int, int]:
    """Into how many columns panels go beside names of `longest` letters, and how many letters a title has."""
    counted = any(not _same_n([view.row(panel.measure) for _, view in runs]) for panel in panels)
    suiting = 2 if len(panels) in {2, 4} else 4 if len(panels) > 6 else min(len(panels), 3)
    columns = beside or suiting
    while True:
        width = (WIDTH_IN - longest * _NAME_LETTER_IN) / columns - 0.1 - counted * _COUNT_IN / 2
        if width >= _NARROWEST_IN or columns <= 2:
            return columns, max(10, int(width / _TITLE_LETTER_IN))
        columns = columns // 2 if beside else columns - 1


def print_nothing(axes: Axes, row: float) -> None:
    """A dash at the left edge for a value that was not measured."""
    place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    axes.annotate(NOTHING, (0, row), (3, 0), va="center", color=GREY, **place)


def leave_room(axes: Axes, highest: float, share: float, letters: int) -> None:
    """Limits from 0 so that `letters` fit right of `highest`; `share`: of the figure's width, the panel's."""
    width_in = (WIDTH_IN - _NAMES_IN) * share
    axes.set_xlim(0, highest / max(0.3, 1 - (letters + 1) * _LETTER_IN / width_in) if highest > 0 else 1)
    name_ticks(axes)
    if highest > 0:
        axes.locator_params(axis="x", nbins=max(2, round(width_in * 2)))
    else:
        axes.set_xticks([0])


def name_ticks(axes: Axes) -> None:
    """Numbers in words of few letters, and no offset that a reader would have to multiply with."""
    from matplotlib.ticker import NullFormatter

    axes.xaxis.set_major_formatter(lambda value, _: compact(value))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", labelsize=LETTERS_PT)


def compact(value: float) -> str:
    """`9,500`, `12.5k`, `3M`: for an axis; a table holds the number itself."""
    if 0 < abs(value) < 1e-4:
        return f"{value:.0e}"
    if abs(value) < 1e4:
        return f"{value:,.4g}" if abs(value) < 1e3 else f"{value:,.0f}"
    size, letter = next((size, letter) for size, letter in _SIZES if abs(value) >= size)
    return f"{value / size:.4g}{letter}"


def spoken(views: Sequence[RunView], measure: str, unit: str) -> list[str]:
    """`kg 2,208 tokens.`, `kg ≥ 2,208 tokens as reported.` of each run, for an alt text."""
    costs = [(view.label, cost_of(view, measure)) for view in views]
    said = [(label, f"{bare(one)} {unit} {one.mark}".rstrip() if one else "not measured") for label, one in costs]
    return [f"{label} {amount}." for label, amount in said]
