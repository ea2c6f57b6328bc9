"""Differences between runs as a forest plot: what is more than chance is filled, a tie is hollow."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.analysis.paired import MeasureComparison, Pair
from harness.report.comparison.compare import Comparison
from harness.report.plotting import GREY, LIGHT, PALETTE, WIDTH_IN, plotting, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_PANELS = 4
_MOST_PAIRS = 28


def draw_differences(comparison: Comparison, folder: Path, stem: str = "differences") -> list[Path]:
    """A panel for each of the first measures, a row for each pair: A - B with its 95 % interval.

    No file where there is nothing to draw, or more pairs than a page holds.
    """
    measures = [compared for compared in comparison.measures if compared.pairs][:_MOST_PANELS]
    places = list(dict.fromkeys((pair.a, pair.b) for compared in measures for pair in compared.pairs))
    if not measures or len(places) > _MOST_PAIRS:
        return []
    with plotting() as new_figure:
        figure = new_figure(figsize=(WIDTH_IN, 1.1 + 0.27 * len(places)), layout="constrained")
        panels = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
        for axes, compared in zip(panels, measures, strict=True):
            _panel(axes, compared, places)
        names = [f"{comparison.label(a)} - {comparison.label(b)}" for a, b in places]
        panels[0].set_yticks(range(len(places)), [textwrap.fill(name, 34) for name in names], fontsize=7)
        panels[0].set_ylim(len(places) - 0.5, -0.5)
        figure.supxlabel("difference of means with 95 % CI; filled: more than chance (Holm)", fontsize=8)
        return save(figure, folder, stem)


def _panel(axes: Axes, compared: MeasureComparison, places: Sequence[tuple[int, int]]) -> None:
    axes.axvline(0, color=GREY, linewidth=0.8)
    for pair in compared.pairs:
        row = places.index((pair.a, pair.b))
        if pair.interval.low is not None and pair.interval.high is not None:
            axes.plot([pair.interval.low, pair.interval.high], [row, row], color=_colour(compared, pair))
        filled = _colour(compared, pair) if pair.significant else "white"
        axes.plot(
            pair.difference, row, marker="o", markersize=4.5, color=_colour(compared, pair), markerfacecolor=filled
        )
    better = {True: "A is better to the right", False: "A is better to the left", None: ""}
    way = better[compared.measure.higher_is_better]
    axes.set_title(f"{compared.measure.name}\n{way}", fontsize=7)
    axes.grid(axis="x", color=LIGHT, linewidth=0.6)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4)


def _colour(compared: MeasureComparison, pair: Pair) -> str:
    """Blue where A is better, vermilion where B is, grey for a tie."""
    return {"a": PALETTE[0], "b": PALETTE[5], "tie": GREY, "differ": PALETTE[6]}[compared.verdict(pair)]
