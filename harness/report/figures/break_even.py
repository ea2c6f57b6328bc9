"""A query with its share of the index, over the number of queries that share it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.display import Drawing, Quantity
from harness.display.number_format import bare
from harness.display.plotting import GREY, LIGHT, WIDTH_IN
from harness.display.text_format import counted
from harness.report.figures.marks import alt_of, legend_names, look_of, n_of, name_of, wrapped
from harness.report.figures.rows import LETTERS_PT, name_ticks
from harness.report.tables.break_even import UNITS, CostUnit, Lines, competing, is_bounded, lines_of, outside
from harness.report.view import Group, RunView
from harness.statistics.break_even import CostLine, cheapest_changes, crossing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness.display.plotting import NewFigure

_FEWEST_SHOWN, _MOST_SHOWN = 10_000, 10_000_000
_POINTS = 61
_MARK_EVERY = 10
_LETTERS = 26
"""Of a line of the legend."""
_APART = 1.9
"""The factor from which on two numbers on the axis do not run into each other."""


def draw_break_even(group: Group, new_figure: NewFigure) -> list[Drawing]:
    """A line for each run, in tokens and in dollars; only of runs whose index and queries were counted."""
    return [_draw(group, unit, new_figure) for unit in UNITS if lines_of(group, unit)]


def _draw(group: Group, unit: CostUnit, new_figure: NewFigure) -> Drawing:
    lines = lines_of(group, unit)
    n_run = len(group.widest.frame.query_types)
    legend_in = 0.2 + sum(0.125 * (wrapped(name_of(view), _LETTERS).count("\n") + 1) + 0.05 for view, _ in lines)
    figure = new_figure(figsize=(WIDTH_IN, max(3.3, 0.4 + legend_in)), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("log")
    end = _last_shown(competing(lines, unit), n_run)
    for view, line in lines:
        if line.index or line.per_query:
            _curve(axes, (view, line), group.views.index(view), end)
    _mark_crossings(axes, [line for _, line in competing(lines, unit)], end)
    axes.axvline(n_run, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
    axes.annotate(
        f" this run: {n_run:,}", (n_run, 1), xycoords=("data", "axes fraction"), va="bottom", fontsize=LETTERS_PT
    )
    axes.set_xlim(1, end)
    _widen(axes)
    axes.set_xlabel("queries that share the index")
    axes.set_ylabel(f"{unit.name} a query, index included")
    axes.grid(color=LIGHT, linewidth=0.6)
    name_ticks(axes, "xy")
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right center", fontsize=LETTERS_PT, handlelength=2.6)
    title = f"Break-even, {unit.name}"
    return Drawing(f"break_even_{unit.measure}", title, _caption(group, lines, unit), _alt(lines, unit), figure)


def _last_shown(lines: Lines, n_run: int) -> float:
    changes = cheapest_changes([line for _, line in lines])
    wanted = max(_FEWEST_SHOWN, 10 * n_run, *(5 * change for change in changes))
    return float(10 ** np.ceil(np.log10(min(wanted, _MOST_SHOWN))))


def _curve(axes: Axes, own: tuple[RunView, CostLine], number: int, end: float) -> None:
    view, line = own
    look, queries = look_of(number), np.geomspace(1, end, _POINTS)
    axes.plot(
        queries,
        [line.amortised(n) for n in queries],
        color=look.color,
        linestyle=look.linestyle,
        linewidth=1.3,
        marker=look.marker,
        markersize=4,
        # Not all at one place, so that a line under another shows.
        markevery=(3 * number % _MARK_EVERY, _MARK_EVERY),
        label=legend_names([wrapped(name_of(view), _LETTERS)])[0],
    )
    bands = [line.band(n) for n in queries]
    if all(low is not None and high is not None and low > 0 for low, high in bands):
        low, high = zip(*bands, strict=True)
        axes.fill_between(queries, low, high, color=look.color, alpha=0.15, linewidth=0)


def _widen(axes: Axes) -> None:
    """Costs that are nearly alike must not fill the height, and need ticks between the powers of ten."""
    from matplotlib.ticker import LogLocator

    low, high = axes.get_ylim()
    if high / low < 100:
        axes.set_ylim(low / 2, high * 2)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))


def _mark_crossings(axes: Axes, lines: Sequence[CostLine], end: float) -> None:
    """A ring where two lines cross, small where others are lower anyway; a number where the cheapest changes."""
    changes = cheapest_changes(list(lines))
    for place, one in enumerate(lines):
        for other in lines[:place]:
            at = crossing(one, other)
            if at is not None and 1 <= at <= end:
                size, color = (8, "black") if at in changes else (3.5, GREY)
                axes.plot(
                    at, one.amortised(at), "o", markersize=size, color=color, markerfacecolor="none", zorder=4
                )
    last = 0.0
    for at in changes:
        if 1 <= at <= end and at > _APART * last:
            last = at
            height = min(line.amortised(at) for line in lines)
            axes.annotate(
                f"{at:,.0f}",
                (at, height),
                (0, -8),
                textcoords="offset points",
                ha="center",
                va="top",
                fontsize=7.5,
            )


def _caption(group: Group, lines: Lines, unit: CostUnit) -> str:
    n = n_of(view.row(unit.measure) for view, _ in lines)
    text = (
        f"Mean {unit.name} of a query with its share of the index, by how many queries share it (log scales). "
        f"Bands: 95 % CI of the mean query (n = {n}). Large rings: from so many queries on another system is the "
        "cheapest; small ones: other crossings. Dotted: the queries of this run."
    )
    absent = len(group.views) - len(lines)
    if absent:
        text += f" No line: {counted(absent, 'run')} whose index or queries were not counted or have no price."
    text += outside(lines, unit)
    free = [view.label for view, line in lines if not (line.index or line.per_query)]
    return f"{text} Nothing at all, so no line: {', '.join(free)}." if free else text


def _alt(lines: Lines, unit: CostUnit) -> str:
    """Who is cheapest from when on, and where everybody ends."""
    compared = competing(lines, unit)
    if not compared:
        return alt_of(["No run may be called the cheapest.", *_ends(lines, unit)])
    changes = cheapest_changes([line for _, line in compared])
    first, *later = [min(compared, key=lambda own: own[1].total(at * 1.0001))[0].label for at in (0.5, *changes)]
    told = [f"{label} from about {at:,.0f} queries on" for label, at in zip(later, changes, strict=True)]
    cheapest = ", then ".join([f"{first} at first", *told]) if told else f"{first}, however many queries"
    return alt_of([f"Cheapest: {cheapest}.", *_ends(lines, unit)])


def _ends(lines: Lines, unit: CostUnit) -> list[str]:
    ends = [
        f"{view.label}: {bare(Quantity(line.amortised(_FEWEST_SHOWN), at_least=is_bounded(view, unit)))}."
        for view, line in lines
    ]
    return [f"{unit.name} a query over {_FEWEST_SHOWN:,} queries:", *ends]
