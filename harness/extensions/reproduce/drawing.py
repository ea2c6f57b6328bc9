"""Figures drawn from the numbers of a table."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from harness.core.errors import need
from harness.display import Quantity, Table, format_value, printable
from harness.display.plotting import GREY, LIGHT, PALETTE, WIDTH_IN, NewFigure
from harness.extensions.reproduce.paper import PaperRuns, numbers_of
from harness.report.figures.marks import panel_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_LEVEL_NAMES = 8
"""Names of rows that fit side by side."""


def _numeric(table: Table) -> list[int]:
    return [at for at in range(1, len(table.header)) if numbers_of(row[at] for row in table.rows)]


def bars(table: Table, _runs: PaperRuns, new_figure: NewFigure) -> Figure:
    """A group of bars for each row and a bar for each column with numbers, with 95 % intervals where known."""
    columns = _numeric(table)[: len(PALETTE)]
    figure = new_figure(figsize=(WIDTH_IN, 3.0), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / max(1, len(columns))
    for place, at in enumerate(columns):
        left = (place - (len(columns) - 1) / 2) * width
        for row, entries in enumerate(table.rows):
            entry = entries[at]
            if isinstance(entry, Quantity) and entry.value is not None:
                _bar(axes, row + left, width, entry, PALETTE[place])
        axes.bar([0], [0], width=0, color=PALETTE[place], label=printable(table.header[at], 40))
    names = [textwrap.fill(printable(str(row[0]), 40), 16) for row in table.rows]
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.6, len(names) - 0.4)
    if len(names) > _MOST_LEVEL_NAMES:
        axes.tick_params(axis="x", labelrotation=30, labelsize=7)
    axes.grid(axis="y", color=LIGHT, linewidth=0.6)
    if len(columns) > 1:
        figure.legend(loc="outside upper right", ncols=4, fontsize=7)
    else:
        axes.set_ylabel(printable(table.header[columns[0]], 40))
    return figure


def _bar(axes: Axes, x: float, width: float, entry: Quantity, colour: str) -> None:
    value = entry.value or 0.0
    axes.bar(x, value, width * 0.92, color=colour)
    if entry.low is not None and entry.high is not None:
        axes.plot([x, x], [entry.low, entry.high], color=GREY, linewidth=0.8)
    shown = format_value(Quantity(value, unit=entry.unit))
    axes.annotate(shown, (x, value), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=6)


def lines(table: Table, _runs: PaperRuns, new_figure: NewFigure) -> Figure:
    """A panel for each column over the first column with numbers, such as seconds."""
    first, *others = _numeric(table)
    figure = new_figure(figsize=(WIDTH_IN, 0.6 + 1.5 * len(others)), layout="constrained")
    panels: list[Axes] = list(figure.subplots(len(others), 1, sharex=True, squeeze=False).flat)
    for place, (at, axes) in enumerate(zip(others, panels, strict=True)):
        points = [(row[first], row[at]) for row in table.rows]
        known = [(x.value, y.value) for x, y in points if isinstance(x, Quantity) and isinstance(y, Quantity)]
        axes.plot(*zip(*known, strict=True), color=PALETTE[place % len(PALETTE)], linewidth=1)
        axes.set_ylabel(printable(table.header[at], 30))
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", color=LIGHT, linewidth=0.6)
    panels[-1].set_xlabel(printable(table.header[first], 40))
    return figure


def histograms(table: Table, _runs: PaperRuns, new_figure: NewFigure, *, of: str = "answers") -> Figure:
    """A panel for each column with the distribution of its numbers in ten equal classes; scores over 0 to 1."""
    columns = _numeric(table)
    figure, panels = panel_grid(new_figure, len(columns), min(2, len(columns)), 0.4, 1.9)
    for at, axes in zip(columns, panels, strict=True):
        numbers = numbers_of(row[at] for row in table.rows)
        span = (min(0.0, *numbers), 1.0) if min(numbers) >= -1 and max(numbers) <= 1 else None
        axes.hist(numbers, bins=10, range=span, color=PALETTE[0])
        axes.set_title(printable(table.header[at], 60), fontsize=8)
        axes.set_ylabel(of)
        axes.grid(axis="y", color=LIGHT, linewidth=0.6)
    return figure


def network(table: Table, _runs: PaperRuns, new_figure: NewFigure) -> Figure:
    """The triplets of a table (columns source, relation, target) as a graph."""
    need("evaluator-kg", "networkx")
    import networkx as nx

    graph = nx.DiGraph()
    for _, source, relation, target, *_ in table.rows:
        graph.add_edge(printable(str(source), 24), printable(str(target), 24), name=printable(str(relation), 24))
    places = nx.spring_layout(graph, seed=42, k=1.2)
    figure = new_figure(figsize=(WIDTH_IN, 5.0), layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    for source, target, data in graph.edges(data=True):
        (x, y), (to_x, to_y) = places[source], places[target]
        axes.annotate("", (to_x, to_y), (x, y), arrowprops={"arrowstyle": "->", "color": GREY, "lw": 0.6})
        axes.text((x + to_x) / 2, (y + to_y) / 2, data["name"], fontsize=5, color=GREY, ha="center")
    for name, (x, y) in places.items():
        axes.plot(x, y, "o", color=PALETTE[4], markersize=9)
        axes.text(x, y, textwrap.fill(name, 14), fontsize=6, ha="center", va="center")
    return figure
