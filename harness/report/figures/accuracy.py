"""Accuracy over all and by query type."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.analysis import OVERALL
from harness.report.figures.marks import (
    Runs,
    alt_of,
    columns_of,
    dot,
    extremes,
    interval_of,
    legend_names,
    look_of,
    n_of,
    name_of,
    runs_with,
    wrapped,
)
from harness.report.figures.panels import row_height
from harness.report.plotting import GREY, HALF_IN, LIGHT, WIDTH_IN, Drawing
from harness.report.text import NOTHING, percent, population, printable, type_name
from harness.report.view import Group, RunView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.report.plotting import NewFigure

_MOST_BARS = 6
_TICKS = (0, 0.25, 0.5, 0.75, 1)
_TICK_NAMES = ("0", "25", "50", "75", "100")


def draw_accuracy(group: Group, new_figure: NewFigure) -> list[Drawing]:
    """`accuracy_overall`, best first, and `accuracy_by_type`; nothing where no run has a value."""
    runs = runs_with(group, ["accuracy"])
    if not runs:
        return []
    return [_overall(new_figure, runs), *_by_type(group, new_figure, runs)]


def _overall(new_figure: NewFigure, runs: Runs) -> Drawing:
    best_first = sorted(runs, key=lambda run: (-(run[1].value("accuracy") or 0.0), run[0]))
    names = [wrapped(name_of(view), 28) for _, view in best_first]
    height = 0.7 + row_height(names) * len(names)
    figure = new_figure(figsize=(HALF_IN, height), layout="constrained")
    axes = figure.subplots()
    n = n_of(view.row("accuracy") for _, view in runs)
    for place, (number, view) in enumerate(best_first):
        row = view.row("accuracy")
        if row is not None:
            dot(axes, row, place, look_of(number))
            text = percent(row, interval=True) + ("" if n.isdigit() else f"\nn = {population(row)}")
            axes.text(1.03, place, text, transform=axes.get_yaxis_transform(), va="center", fontsize=7)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    _dress_rows(axes, len(names), _TICKS, _TICK_NAMES)
    axes.set_xlabel(f"accuracy, % (95 % CI), n = {n}")
    caption = (
        f"Share of queries answered right, best first, over n = {n} queries. Dot: mean; line: 95 % interval. "
        "Intervals that overlap do not mean a tie: see the paired tests."
    )
    spoken = (
        f"{printable(view.label, 40)} {percent(view.row('accuracy'), interval=True)}." for _, view in best_first
    )
    return Drawing("accuracy_overall", "Accuracy", caption, alt_of(["Accuracy in %.", *spoken]), figure)


def _by_type(group: Group, new_figure: NewFigure, runs: Runs) -> list[Drawing]:
    """Bars for each query type and overall; nothing where there is only one type: `accuracy_overall` has it."""
    types = group.query_types
    if len(types) < 2:
        return []
    draw = _accuracy_bars if len(runs) <= _MOST_BARS else _accuracy_dots
    figure = draw(new_figure, runs, [*types, OVERALL])
    caption = (
        "Share of queries answered right, by query type and over all, with 95 % intervals; n is the number of "
        "queries behind each mean. A query that failed counts as wrong."
    )
    spoken = [extremes(type_name(name), runs, "accuracy", name) for name in [OVERALL, *types]]
    return [Drawing("accuracy_by_type", "Accuracy by query type", caption, alt_of(spoken), figure)]


def _accuracy_bars(new_figure: NewFigure, runs: Runs, groups: Sequence[str]) -> Figure:
    """Groups side by side, one bar for each run: up to `_MOST_BARS` runs."""
    figure = new_figure(figsize=(WIDTH_IN, 2.9), layout="constrained")
    axes = figure.subplots()
    # `overall` sums up the others: it stands a little apart.
    places = [place + (0.35 if group == OVERALL else 0) for place, group in enumerate(groups)]
    bar = min(0.8 / len(runs), 0.3)
    for place, run in enumerate(runs):
        shift = (place - (len(runs) - 1) / 2) * bar
        _bars(axes, run, groups, ([middle + shift for middle in places], bar))
    axes.set_xticks(places, [_group_name(runs, group, len(groups)) for group in groups])
    axes.tick_params(axis="x", length=0)
    axes.set_ylim(0, 1.12)
    axes.set_yticks(_TICKS, _TICK_NAMES)
    axes.set_ylabel("accuracy, % (95 % CI)")
    axes.grid(axis="y", color=LIGHT, linewidth=0.6)
    if len(runs) > 1:
        _legend_above(figure, runs)
    else:
        axes.set_title(wrapped(name_of(runs[0][1]), 90), loc="left")
    return figure


def _accuracy_dots(new_figure: NewFigure, runs: Runs, groups: Sequence[str]) -> Figure:
    """A panel for each group, a row for each run: any number of runs, as in a sweep."""
    names = [wrapped(name_of(view)) for _, view in runs]
    figure = new_figure(figsize=(WIDTH_IN, 0.9 + row_height(names) * len(runs)), layout="constrained")
    panels = figure.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    for axes, group in zip(panels, groups, strict=True):
        for place, (number, view) in enumerate(runs):
            row = view.row("accuracy", group)
            if row is not None:
                dot(axes, row, place, look_of(number))
        axes.set_title(_group_name(runs, group, len(groups)), fontsize=8)
        _dress_rows(axes, len(runs), _TICKS[::2], _TICK_NAMES[::2])
    panels[0].set_yticks(range(len(runs)), names, fontsize=7)
    figure.supxlabel("accuracy, % (95 % CI)", fontsize=8)
    return figure


def _dress_rows(axes: Axes, n_rows: int, ticks: Sequence[float], names: Sequence[str]) -> None:
    axes.set_xlim(-0.03, 1.03)
    axes.set_xticks(ticks, names)
    axes.set_ylim(n_rows - 0.5, -0.5)
    axes.grid(axis="both", color=LIGHT, linewidth=0.6)
    axes.tick_params(axis="y", length=0)


def _bars(
    axes: Axes, run: tuple[int, RunView], groups: Sequence[str], where: tuple[Sequence[float], float]
) -> None:
    (number, view), (places, bar) = run, where
    look = look_of(number)
    for group, place in zip(groups, places, strict=True):
        row = view.row("accuracy", group)
        if row is None or row.mean is None:
            axes.text(place, 0.015, NOTHING, ha="center", va="bottom", color=GREY)
            continue
        axes.bar(place, row.mean, bar * 0.92, color=look.color, hatch=look.hatch, edgecolor="white", linewidth=0)
        top, limits = row.mean, interval_of(row)
        if limits:
            error = [[row.mean - limits[0]], [limits[1] - row.mean]]
            axes.errorbar(place, row.mean, yerr=error, color="black", elinewidth=0.8, capsize=2, capthick=0.8)
            top = limits[1]
        text = f"{100 * row.mean:.1f}".removesuffix(".0")
        axes.text(place, top + 0.015, text, ha="center", va="bottom", fontsize=7)


def _group_name(runs: Runs, group: str, n_groups: int) -> str:
    """The type, wrapped to its share of the width, and over how many values the means are."""
    n = n_of(view.row("accuracy", group) for _, view in runs)
    return f"{textwrap.fill(type_name(group), max(6, 80 // n_groups))}\nn = {n}"


def _legend_above(figure: Figure, runs: Runs) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=look.color, hatch=look.hatch, edgecolor="white", linewidth=0)
        for look in (look_of(number) for number, _ in runs)
    ]
    names = legend_names(name_of(view) for _, view in runs)
    columns = columns_of(names, 105)
    figure.legend(handles, names, loc="outside upper left", ncols=columns, handlelength=1.6, columnspacing=1.5)
