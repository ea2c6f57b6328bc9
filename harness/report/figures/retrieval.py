"""Where the evidence stands among what was retrieved."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.report.figures.marks import (
    Runs,
    alt_of,
    columns_of,
    interval_of,
    legend_names,
    look_of,
    n_of,
    name_of,
    runs_with,
)
from harness.report.figures.panels import Layout, Panel, draw_panels, how_to_read, panels_with_values, sentences
from harness.report.plotting import LIGHT, WIDTH_IN, Drawing
from harness.report.view import Group

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.report.plotting import NewFigure

_LEVELS = {"": "documents", "fact_": "facts"}
_AT_EVERY_K = ("Hit", "AllHit", "Recall")
_AT_THE_LARGEST = ("MRR", "MAP", "nDCG")
_MOST_LINES = 6
_MEANING = "Hit: any of a query's evidence is found; AllHit: all of it; Recall: the share of it"


def draw_retrieval(group: Group, new_figure: NewFigure) -> list[Drawing]:
    """Hit, AllHit and Recall over k, and the ranking measures at their largest k, of documents and of facts."""
    found = (_draw_at_k(group, new_figure), _draw_ranking(group, new_figure))
    return [drawing for drawing in found if drawing]


def _draw_at_k(group: Group, new_figure: NewFigure) -> Drawing | None:
    cuts = {
        (level, statistic): cutoffs
        for level in _LEVELS
        for statistic in _AT_EVERY_K
        if (cutoffs := _cutoffs(group, f"{level}{statistic}"))
    }
    panels = [_panel(level, statistic, ks[-1]) for (level, statistic), ks in cuts.items()]
    runs = runs_with(group, [panel.measure for panel in panels])
    if not runs:
        return None
    if 1 < len(runs) <= _MOST_LINES and any(len(ks) > 1 for ks in cuts.values()):
        figure, how = _curves(new_figure, runs, cuts), _how_curves(runs, panels)
    else:
        if len(runs) == 1:
            panels = [_panel(level, statistic, k) for (level, statistic), ks in cuts.items() for k in ks]
        panels = panels_with_values(runs, panels)
        figure, how = draw_panels(new_figure, runs, panels, Layout("value (95 % CI)")), how_to_read(runs, panels)
    caption = f"{_MEANING}, among the first k retrieved; higher is better. {how} Null queries have no evidence."
    alt = alt_of(sentences(runs, panels))
    return Drawing("retrieval_at_k", "Evidence among the first k", caption, alt, figure)


def _draw_ranking(group: Group, new_figure: NewFigure) -> Drawing | None:
    every = [
        _panel(level, statistic, ks[-1])
        for level in _LEVELS
        for statistic in _AT_THE_LARGEST
        if (ks := _cutoffs(group, f"{level}{statistic}"))
    ]
    runs = runs_with(group, [panel.measure for panel in every])
    panels = panels_with_values(runs, every)
    if not panels:
        return None
    figure = draw_panels(new_figure, runs, panels, Layout("value (95 % CI)"))
    caption = (
        f"How far up the evidence stands among what was retrieved; higher is better. {how_to_read(runs, panels)}"
    )
    return Drawing("retrieval_ranking", "Rank of the evidence", caption, alt_of(sentences(runs, panels)), figure)


def _cutoffs(group: Group, name: str) -> list[int]:
    """The k at which any run has a value of that measure, ascending."""
    found = (re.fullmatch(rf"{name}@(\d{{1,6}})", measure) for measure in group.measures)
    ks = sorted(int(match[1]) for match in found if match)
    return [k for k in ks if any(view.value(f"{name}@{k}") is not None for view in group.views)]


def _panel(level: str, statistic: str, k: int) -> Panel:
    return Panel(f"{statistic}@{k} of {_LEVELS[level]}", f"{level}{statistic}@{k}")


def _curves(new_figure: NewFigure, runs: Runs, cuts: dict[tuple[str, str], list[int]]) -> Figure:
    """Lines of panels are documents and facts, columns are statistics."""
    levels = list(dict.fromkeys(level for level, _ in cuts))
    statistics = [name for name in _AT_EVERY_K if any((level, name) in cuts for level in levels)]
    figure = new_figure(figsize=(WIDTH_IN, 0.6 + 1.75 * len(levels)), layout="constrained")
    grid = figure.subplots(len(levels), len(statistics), squeeze=False)
    for line, level in zip(grid, levels, strict=True):
        for axes, statistic in zip(line, statistics, strict=True):
            if (level, statistic) not in cuts:
                axes.remove()
                continue
            _curve(axes, runs, f"{level}{statistic}", cuts[level, statistic])
            rows = [view.row(f"{level}{statistic}@{k}") for _, view in runs for k in cuts[level, statistic]]
            axes.set_title(f"{statistic}@k of {_LEVELS[level]}, n = {n_of(rows)}", fontsize=8)
    names = legend_names(name_of(view) for _, view in runs)
    handles = [line for line in grid.flat[0].get_lines() if line.get_gid() == "mean"]
    place: dict[str, Any] = {"loc": "outside upper left", "ncols": columns_of(names, 105), "handlelength": 2.4}
    figure.legend(handles, names, **place)
    figure.supxlabel("k", fontsize=8)
    figure.supylabel("value (95 % CI)", fontsize=8)
    return figure


def _curve(axes: Axes, runs: Runs, name: str, ks: Sequence[int]) -> None:
    """One line for each run over k, evenly spaced; a run's dots stand a little beside the others'."""
    for place, (number, view) in enumerate(runs):
        look = look_of(number)
        shift = 0.09 * (place - (len(runs) - 1) / 2)
        rows = [(at + shift, view.row(f"{name}@{k}")) for at, k in enumerate(ks)]
        known = [(x, row, row.mean) for x, row in rows if row is not None and row.mean is not None]
        for x, row, _ in known:
            limits = interval_of(row)
            if limits:
                axes.plot([x, x], limits, color=look.color, linewidth=0.8)
        style: dict[str, Any] = {"color": look.color, "linestyle": look.linestyle, "marker": look.marker}
        xs, means = [x for x, _, _ in known], [mean for _, _, mean in known]
        (line,) = axes.plot(xs, means, linewidth=1.1, markersize=4, clip_on=False, **style)
        line.set_gid("mean")
    axes.set_xticks(range(len(ks)), [str(k) for k in ks])
    axes.set_xlim(-0.4, len(ks) - 0.6)
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks((0, 0.5, 1), ("0", "0.5", "1"))
    axes.grid(axis="y", color=LIGHT, linewidth=0.6)


def _how_curves(runs: Runs, panels: Sequence[Panel]) -> str:
    n = n_of(view.row(panel.measure) for _, view in runs for panel in panels)
    return f"Marker: mean; upright line: 95 % interval; n = {n} queries."
