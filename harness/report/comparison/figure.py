"""Differences between runs as a forest plot: what is more than chance is filled, a tie is hollow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.display.plotting import GREY, LIGHT, PALETTE, WIDTH_IN, plotting, save
from harness.report.comparison.compare import Comparison
from harness.report.figures.marks import wrapped
from harness.statistics.paired_comparison import ComparedPair, MeasureComparison, PairPlaces

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.display.plotting import NewFigure

MOST_PAIRS = 28
"""As many rows as a page holds."""
_MOST_PANELS = 4
_NAME_LETTERS = 30


def draw_differences(comparison: Comparison, folder: Path, stem: str = "differences") -> list[Path]:
    """A panel for each of the first measures, a row for each pair: A - B with its interval.

    No file where there is nothing to draw, or more pairs than a page holds.
    """
    measures = drawn_measures(comparison.measures)
    if not measures or len(pairs_of(measures)) > MOST_PAIRS:
        return []
    with plotting() as new_figure:
        return save(forest(new_figure, comparison, measures), folder, stem)


def drawn_measures(measures: Sequence[MeasureComparison]) -> list[MeasureComparison]:
    """The first that have a pair, as many as stand beside each other."""
    return [compared for compared in measures if compared.pairs][:_MOST_PANELS]


def pairs_of(measures: Sequence[MeasureComparison]) -> list[PairPlaces]:
    """Every pair of runs that any of them compares, in order."""
    return list(dict.fromkeys((pair.a, pair.b) for compared in measures for pair in compared.pairs))


def forest(
    new_figure: NewFigure,
    comparison: Comparison,
    measures: Sequence[MeasureComparison],
    first: int | None = None,
) -> Figure:
    """A panel for each of `measures`, a row for each of their pairs; `first`: the A of every pair, named once."""
    places = pairs_of(measures)
    names = [_pair_name("" if a == first else comparison.label(a), comparison.label(b)) for a, b in places]
    row_in = max(0.27, 0.08 + 0.125 * max(name.count("\n") + 1 for name in names))
    figure = new_figure(figsize=(WIDTH_IN, 1.1 + row_in * len(places)), layout="constrained")
    panels = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
    for axes, compared in zip(panels, measures, strict=True):
        _panel(axes, compared, places)
    panels[0].set_yticks(range(len(places)), names, fontsize=7)
    panels[0].set_ylim(len(places) - 0.5, -0.5)
    figure.supxlabel(
        "difference of means with its CI (at least 95 %); filled: more than chance (Holm)", fontsize=8
    )
    if first is not None:
        figure.suptitle(wrapped(f"A: {comparison.label(first)}", 100), x=0.01, ha="left", fontsize=8)
    return figure


def _pair_name(a: str, b: str) -> str:
    """`A - B` on one line, or each on lines of its own."""
    line = f"{a} \N{MINUS SIGN} {b}".strip()
    if len(line) <= _NAME_LETTERS:
        return line
    return "\n".join(wrapped(name, _NAME_LETTERS) for name in (a, f"\N{MINUS SIGN} {b}") if name)


def _measure_name(name: str) -> str:
    """Its words on lines of a panel's width."""
    return wrapped(name.replace("_", " "), 22).replace("\n", "_\n").replace(" ", "_")


def _panel(axes: Axes, compared: MeasureComparison, places: Sequence[PairPlaces]) -> None:
    axes.axvline(0, color=GREY, linewidth=0.8)
    for pair in compared.pairs:
        row, color = places.index((pair.a, pair.b)), _colour(compared, pair)
        if pair.interval.low is not None and pair.interval.high is not None:
            axes.plot([pair.interval.low, pair.interval.high], [row, row], color=color)
        filled = color if pair.significant else "white"
        axes.plot(pair.difference, row, marker="o", markersize=4.5, color=color, markerfacecolor=filled)
    better = {True: "A is better \N{RIGHTWARDS ARROW}", False: "\N{LEFTWARDS ARROW} A is better", None: ""}
    way = better[compared.measure.higher_is_better]
    axes.set_title(f"{_measure_name(compared.measure.name)}\n{way}", fontsize=7)
    axes.grid(axis="x", color=LIGHT, linewidth=0.6)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=3)


def _colour(compared: MeasureComparison, pair: ComparedPair) -> str:
    """Blue where A is better, vermilion where B is, grey for a tie."""
    return {"a": PALETTE[0], "b": PALETTE[5], "tie": GREY, "differ": PALETTE[6]}[compared.verdict(pair)]
