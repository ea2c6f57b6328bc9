"""Figures with a row for each run and a panel for each quantity: any number of runs, names of any length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.display.number_format import bare
from harness.display.plotting import GREY, LIGHT, WIDTH_IN
from harness.display.text_format import NOTHING
from harness.report.aggregates import cost_quantity
from harness.report.comparable_costs import self_reported_mark
from harness.report.figures.marks import name_of, wrapped
from harness.report.figures.panels import row_height
from harness.report.view import RunView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.display.plotting import NewFigure

LETTERS_PT = 7
_NAME_LETTERS = 26
_SIZES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_LETTER_IN = 0.065
"""How wide a figure of `LETTERS_PT` is."""
_NAMES_IN = 1.5
"""Approximate width of the names and the gaps between panels."""


def row_panels(
    new_figure: NewFigure, views: Sequence[RunView], ratios: Sequence[float] = (1.0,), row_in: float = 0.26
) -> tuple[Figure, list[Axes]]:
    """A figure as wide as a page with panels side by side, rows named by run from the top; `row_in` at least."""
    names = [wrapped(name_of(view), _NAME_LETTERS) for view in views]
    height = 0.95 + len(views) * max(row_in, row_height(names))
    figure = new_figure(figsize=(WIDTH_IN, height), layout="constrained")
    panels = list(figure.subplots(1, len(ratios), sharey=True, squeeze=False, width_ratios=ratios)[0])
    for axes in panels:
        axes.grid(axis="x", color=LIGHT, linewidth=0.6)
        axes.tick_params(axis="both", labelsize=LETTERS_PT)
        axes.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(views)), names)
    panels[0].set_ylim(len(views) - 0.4, -0.6)
    return figure, panels


def print_at(axes: Axes, value: float, row: float, text: str) -> None:
    """`text` a little to the right of `value`."""
    axes.annotate(
        text, (value, row), (3, 0), textcoords="offset points", va="center", fontsize=LETTERS_PT
    ).set_in_layout(False)


def print_nothing(axes: Axes, row: float) -> None:
    """A dash at the left edge for a value that was not measured."""
    axes.annotate(
        NOTHING,
        (0, row),
        (3, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        color=GREY,
    )


def leave_room(axes: Axes, highest: float, share: float, letters: int) -> None:
    """Limits from 0 so that `letters` fit right of `highest`; `share`: of the figure's width, the panel's."""
    width_in = (WIDTH_IN - _NAMES_IN) * share
    axes.set_xlim(0, highest / max(0.3, 1 - (letters + 1) * _LETTER_IN / width_in) if highest > 0 else 1)
    if highest > 0:
        axes.locator_params(axis="x", nbins=max(2, round(width_in * 2)))
        name_ticks(axes)
    else:
        axes.set_xticks([0])


def name_ticks(axes: Axes, which: str = "x") -> None:
    """Numbers in words of few letters, and no offset that a reader would have to multiply with."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for axis in [axes.xaxis] * ("x" in which) + [axes.yaxis] * ("y" in which):
        axis.set_major_formatter(FuncFormatter(lambda value, _: compact(value)))
        axis.set_minor_formatter(NullFormatter())


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
    return [f"{view.label} {_amount(view, measure, unit)}." for view in views]


def _amount(view: RunView, measure: str, unit: str) -> str:
    amount = cost_quantity(view.row(measure), mark=self_reported_mark(view, measure))
    return f"{bare(amount)} {unit} {amount.mark}".rstrip() if amount else "not measured"
