"""The measure that ranks, over all queries and by query type."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.display import NOTHING, Drawing, file_name, format_value, printable
from harness.display.plotting import GREY, HALF_IN, LIGHT, WIDTH_IN, tell
from harness.display.text_format import type_name
from harness.report.figures import marks
from harness.report.figures.marks import DrawnRuns, Scale
from harness.report.quantities import population, values_in
from harness.report.view import Group, RunView
from harness.statistics import OVERALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.display.plotting import NewFigure

_LABEL_LETTERS = 32  # As many as are as long as the axis of bars is high.
_MOST_BARS = 4
"""Beside each other in a type: numbers above more of them touch."""
_EDGE: Mapping[str, Any] = {"edgecolor": "white", "linewidth": 0}


def draw_by_type(group: Group, measure: str, new_figure: NewFigure) -> list[Drawing]:
    """`<measure>_overall`, best run first and unfinished runs last, and `<measure>_by_type`; nothing without a
    value.
    """
    runs = marks.runs_with(group, [measure])
    if not runs:
        return []
    scale = Scale.of(group, measure)
    known = group.known.get(measure)
    summary = known.summary if known else scale.name
    says = f"{summary[:1].upper()}{summary[1:]}"
    return [_overall(group, scale, runs, says, new_figure), *_by_type(group, scale, runs, says, new_figure)]


def _overall(group: Group, scale: Scale, runs: DrawnRuns, says: str, new_figure: NewFigure) -> Drawing:
    known = group.known.get(scale.measure)
    sign = 1 if known and known.higher_is_better is False else -1
    best_first = sorted(
        runs, key=lambda run: (not run[1].is_complete, sign * (run[1].value(scale.measure) or 0.0), run[0])
    )
    names = marks.names_of(view for _, view in best_first)
    figure, (axes,) = marks.row_figure(new_figure, names, besides_in=0.7, width_in=HALF_IN, grid="both", below=0.5)
    rows = [view.row(scale.measure) for _, view in runs]
    n, same_n = marks.n_of(rows), len({values_in(row) for row in rows if row}) == 1
    for place, (number, view) in enumerate(best_first):
        row = view.row(scale.measure)
        if row is not None:
            marks.dot(axes, row, place, marks.style_of(number))
            text = scale.text(row, interval=True)
            text += "" if same_n else f"\nn = {format_value(population(row))}"
            axes.text(1.03, place, text, transform=axes.get_yaxis_transform(), va="center", fontsize=7)
    scale.dress(axes, "x")
    axes.set_xlabel(f"{scale.label}, n = {n}")
    caption = (
        f"{says}, best first, over {marks.queries_of(group.views, rows)}. "
        "Dot: mean; line: 95 % interval. Intervals that overlap do not mean a tie: see the paired tests."
    )
    spoken = (
        f"{printable(marks.name_of(view), 60)} {scale.text(view.row(scale.measure), interval=True)}."
        for _, view in best_first
    )
    alt = marks.alt_of([f"{scale.title}{' in %' if scale.is_share else ''}.", *spoken])
    return Drawing(f"{file_name(scale.measure)}_overall", scale.title, caption, alt, figure)


def _by_type(group: Group, scale: Scale, runs: DrawnRuns, says: str, new_figure: NewFigure) -> list[Drawing]:
    """Bars for each query type and overall; nothing for a single type, which the other figure shows. Evidence
    metrics have no value for queries without evidence.
    """
    rows = {name: [view.row(scale.measure, name) for _, view in runs] for name in group.query_types}
    types = [name for name, own in rows.items() if any(row is not None and row.mean is not None for row in own)]
    if len(types) < 2:
        return []
    draw = _as_bars if len(runs) <= _MOST_BARS and scale.is_unit else _as_dots
    figure = draw(new_figure, scale, runs, [*types, OVERALL])
    caption = (
        f"{says}, by query type and over all, with 95 % intervals; n is the number of "
        f"{marks.counted_in(group.views)} behind each mean. A query that failed counts with the worst value."
    )
    spoken = [marks.extremes(type_name(name), runs, scale.measure, name) for name in [OVERALL, *types]]
    title = f"{scale.title} by query type"
    return [Drawing(f"{file_name(scale.measure)}_by_type", title, caption, marks.alt_of(spoken), figure)]


def _as_bars(new_figure: NewFigure, scale: Scale, runs: DrawnRuns, groups: Sequence[str]) -> Figure:
    """Groups side by side, one bar for each run: up to `_MOST_BARS` runs."""
    figure = new_figure(figsize=(WIDTH_IN, 2.9), layout="constrained")
    axes = figure.subplots()
    # A gap before `overall`, which summarises the others.
    places = [place + (0.35 if group == OVERALL else 0) for place, group in enumerate(groups)]
    bar = min(0.8 / len(runs), 0.3)
    for at, (number, view) in enumerate(runs):
        shift = (at - (len(runs) - 1) / 2) * bar
        for group, place in zip(groups, places, strict=True):
            _bar(axes, scale, (number, view), group, place + shift, bar)
    axes.set_xticks(places, [_group_name(scale, runs, group, len(groups)) for group in groups])
    axes.tick_params(axis="x", length=0)
    scale.dress(axes, "y")
    axes.set_ylim(0, 1.12)
    axes.set_ylabel(marks.wrapped(scale.label, _LABEL_LETTERS))
    axes.grid(axis="y", color=LIGHT, linewidth=0.6)
    if len(runs) > 1:
        looks = {marks.name_of(view): marks.style_of(number) for number, view in runs}
        drawn = {name: {"facecolor": look.color, "hatch": look.hatch, **_EDGE} for name, look in looks.items()}
        marks.key_above(figure, drawn, handlelength=1.6, columnspacing=1.5)
    else:
        axes.set_title(marks.wrapped(marks.name_of(runs[0][1]), 90), loc="left")
    return figure


def _as_dots(new_figure: NewFigure, scale: Scale, runs: DrawnRuns, groups: Sequence[str]) -> Figure:
    """A panel for each group, a row for each run: any number of runs, as in a sweep, and any values."""
    names, ratios = marks.names_of((view for _, view in runs), 32), [1.0] * len(groups)
    figure, panels = marks.row_figure(new_figure, names, besides_in=0.9, ratios=ratios, grid="both", below=0.5)
    for axes, group in zip(panels, groups, strict=True):
        for place, (number, view) in enumerate(runs):
            row = view.row(scale.measure, group)
            if row is not None:
                marks.dot(axes, row, place, marks.style_of(number))
        axes.set_title(_group_name(scale, runs, group, len(groups)), fontsize=8)
        scale.dress(axes, "x", every=2)
    figure.supxlabel(scale.label, fontsize=8)
    return figure


def _bar(axes: Axes, scale: Scale, run: tuple[int, RunView], group: str, place: float, width: float) -> None:
    number, view = run
    row, look = view.row(scale.measure, group), marks.style_of(number)
    if row is None or row.mean is None:
        axes.text(place, 0.015, NOTHING, ha="center", va="bottom", color=GREY)
        return
    (drawn,) = axes.bar(place, row.mean, width * 0.92, color=look.color, hatch=look.hatch, **_EDGE)
    tell(drawn, f"{marks.name_of(view)}, {type_name(group)}: {marks.tip_of(row)}")
    top, limits = row.mean, marks.interval_of(row)
    if limits:
        error = [[row.mean - limits[0]], [limits[1] - row.mean]]
        axes.errorbar(place, row.mean, yerr=error, color="black", elinewidth=0.8, capsize=2, capthick=0.8)
        top = limits[1]
    axes.text(place, top + 0.015, scale.short(row.mean), ha="center", va="bottom", fontsize=7)


def _group_name(scale: Scale, runs: DrawnRuns, group: str, n_groups: int) -> str:
    """The type, wrapped to its share of the width, and over how many values the means are."""
    n = marks.n_of(view.row(scale.measure, group) for _, view in runs)
    return f"{textwrap.fill(type_name(group), max(6, 80 // n_groups))}\nn = {n}"
