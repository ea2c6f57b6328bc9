"""Accuracy by query type."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.analysis import OVERALL
from harness.report.plotting import GREY, LIGHT, PALETTE, WIDTH_IN, plotting, save
from harness.report.text import NOTHING, type_name
from harness.report.view import RunView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.report.plotting import NewFigure

_MOST_BARS = 6
_TICKS = (0, 0.25, 0.5, 0.75, 1)
_TICK_NAMES = ("0", "25", "50", "75", "100")


def accuracy_by_type(views: Sequence[RunView], folder: Path, stem: str = "accuracy_by_type") -> list[Path]:
    """Bars of accuracy for each query type and overall, with 95 % intervals; no file where no run has a value."""
    shown = [view for view in views if _value(view, OVERALL) is not None]
    if not shown:
        return []
    types = sorted({query_type for view in shown for query_type in view.frame.query_types.values()})
    groups = [*types, OVERALL] if len(types) > 1 else [OVERALL]
    with plotting() as new_figure:
        draw = _accuracy_bars if len(shown) <= _MOST_BARS else _accuracy_dots
        return save(draw(new_figure, shown, groups), folder, stem)


def _accuracy_bars(new_figure: NewFigure, views: Sequence[RunView], groups: Sequence[str]) -> Figure:
    """Groups side by side, one bar for each run: up to `_MOST_BARS` runs."""
    figure = new_figure(figsize=(WIDTH_IN, 2.9), layout="constrained")
    axes = figure.subplots()
    # `overall` sums up the others: it stands a little apart.
    places = [place + (0.35 if group == OVERALL and place else 0) for place, group in enumerate(groups)]
    bar = min(0.8 / len(views), 0.3)
    for number, view in enumerate(views):
        shift = (number - (len(views) - 1) / 2) * bar
        _bars(axes, view, groups, [place + shift for place in places], (bar, PALETTE[number]))
    axes.set_xticks(places, [_group_name(views, group, len(groups)) for group in groups])
    axes.tick_params(axis="x", length=0)
    axes.set_ylim(0, 1.12)
    axes.set_yticks(_TICKS, _TICK_NAMES)
    axes.set_ylabel("accuracy, % (95 % CI)")
    axes.grid(axis="y", color=LIGHT, linewidth=0.6)
    if len(views) > 1:
        _legend_above(figure, axes, len(views))
    else:
        axes.set_title(_name(views[0]), loc="left")
    return figure


def _accuracy_dots(new_figure: NewFigure, views: Sequence[RunView], groups: Sequence[str]) -> Figure:
    """A panel for each group, a row for each run: any number of runs, as in a sweep."""
    height = 0.9 + 0.24 * len(views)
    figure = new_figure(figsize=(WIDTH_IN, height), layout="constrained")
    panels = figure.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    for axes, group in zip(panels, groups, strict=True):
        for number, view in enumerate(views):
            row = view.row("accuracy", group)
            if row is None or row.mean is None:
                continue
            if row.ci_low is not None and row.ci_high is not None:
                axes.plot([row.ci_low, row.ci_high], [number, number], color=PALETTE[0], linewidth=1.0)
            axes.plot(row.mean, number, marker="o", markersize=3.5, color=PALETTE[0], clip_on=False, zorder=3)
        axes.set_title(_group_name(views, group, len(groups)), fontsize=8)
        axes.set_xlim(-0.03, 1.03)
        axes.set_xticks(_TICKS[::2], _TICK_NAMES[::2])
        axes.grid(axis="both", color=LIGHT, linewidth=0.6)
        axes.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(views)), [textwrap.fill(_name(view), 32) for view in views], fontsize=7)
    panels[0].set_ylim(len(views) - 0.5, -0.5)
    figure.supxlabel("accuracy, % (95 % CI)", fontsize=8)
    return figure


def _bars(
    axes: Axes, view: RunView, groups: Sequence[str], places: Sequence[float], look: tuple[float, str]
) -> None:
    bar, color = look
    label: str | None = _name(view)
    for group, place in zip(groups, places, strict=True):
        row = view.row("accuracy", group)
        if row is None or row.mean is None:
            axes.text(place, 0.015, NOTHING, ha="center", va="bottom", color=GREY)
            continue
        axes.bar(place, row.mean, bar * 0.92, color=color, label=label)
        label = None
        top = row.mean
        if row.ci_low is not None and row.ci_high is not None:
            error = [[max(0.0, row.mean - row.ci_low)], [max(0.0, row.ci_high - row.mean)]]
            axes.errorbar(place, row.mean, yerr=error, color="black", elinewidth=0.8, capsize=2, capthick=0.8)
            top = max(top, row.ci_high)
        text = f"{100 * row.mean:.1f}".removesuffix(".0")
        axes.text(place, top + 0.015, text, ha="center", va="bottom", fontsize=7)


def _name(view: RunView) -> str:
    return view.label if view.run.done() else f"{view.label} (unfinished)"


def _group_name(views: Sequence[RunView], group: str, n_groups: int) -> str:
    """The type, wrapped to its share of the width, and over how many values the means are."""
    rows = [row for view in views if (row := view.row("accuracy", group))]
    counts = sorted({row.n_scored + row.n_imputed for row in rows}) or [0]
    n = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,}–{counts[-1]:,}"  # noqa: RUF001 - an en dash
    return f"{textwrap.fill(type_name(group), max(6, 80 // n_groups))}\nn = {n}"


def _legend_above(figure: Figure, axes: Axes, count: int) -> None:
    handles, names = axes.get_legend_handles_labels()
    # About 105 letters fit beside each other; a key and its space take about 6.
    widths = [len(name) + 6 for name in names]
    columns = count if sum(widths) <= 105 else max(1, 105 // max(widths))
    figure.legend(handles, names, loc="outside upper left", ncols=columns, handlelength=1.2, columnspacing=1.5)


def _value(view: RunView, query_type: str) -> float | None:
    row = view.row("accuracy", query_type)
    return row.mean if row else None
