"""Which differences are more than chance: a forest plot of the pairs of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.display import Drawing
from harness.display.plotting import GREY, PALETTE, NewFigure
from harness.display.text_format import number, printable
from harness.report.comparison.compare import Comparison
from harness.report.figures.marks import alt_of, row_figure, wrapped
from harness.report.verdict.findings import Findings
from harness.statistics.paired_comparison import MeasureComparison, PairPlaces

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_PAIRS = 28
_MOST_PANELS = 4
_NAME_LETTERS = 30
_COLOURS = {"a": PALETTE[0], "b": PALETTE[5], "tie": GREY, "differ": PALETTE[6]}
_BEYOND_CHANCE = {
    "a": "blue (A is better)",
    "b": "vermilion (B is better)",
    "differ": "black (they differ; the metric has no direction)",
}


def draw_significance(findings: Findings, new_figure: NewFigure) -> list[Drawing]:
    """A row for each pair, a panel for each main measure. Of too many pairs, those with the best run."""
    comparison = findings.ranking.comparison
    measures = [one for one in comparison.measures if one.pairs][:_MOST_PANELS] if comparison else []
    if comparison is None or not measures:
        return []
    against, first = "", None
    if len(_pairs_of(measures)) > _MOST_PAIRS:
        first = next(iter(findings.compared_order), 0)
        measures = [_with(compared, first) for compared in measures]
        against = f" Of {len(comparison.shared):,} pairs, those with {comparison.label(first)}; the table has all."
    counts = sorted(pair.n for compared in measures for pair in compared.pairs)
    n = f"n = {counts[0]:,}" if counts[0] == counts[-1] else f"n = {counts[0]:,} to {counts[-1]:,}"
    caption = (
        f"Difference of the means of two runs, A \N{MINUS SIGN} B, over the queries of both ({n}), "
        f"with its 95 % CI. {_colours(measures)}.{against}"
    )
    drawn = _forest(new_figure, comparison, measures, first)
    return [Drawing("significance", "Differences between runs", caption, _alt(comparison, measures), drawn)]


def _colours(measures: Sequence[MeasureComparison]) -> str:
    verdicts = {compared.verdict(pair) for compared in measures for pair in compared.pairs}
    beyond = [said for verdict, said in _BEYOND_CHANCE.items() if verdict in verdicts]
    if not beyond:
        return "Grey and hollow: a tie, no more than chance after Holm's correction"
    told = f"{', '.join(beyond)}: beyond chance after Holm's correction for all pairs of the measure"
    tie = "; grey and hollow: a tie" if "tie" in verdicts else ""
    return f"{told[0].upper()}{told[1:]}{tie}"


def _with(compared: MeasureComparison, place: int) -> MeasureComparison:
    """The pairs of that run, with it first; they stay corrected for all pairs."""
    pairs = [pair if pair.a == place else pair.turned for pair in compared.pairs if place in (pair.a, pair.b)]
    return replace(compared, pairs=tuple(pairs))


def _alt(comparison: Comparison, measures: Sequence[MeasureComparison]) -> str:
    counted, named = [], []
    for compared in measures:
        apart = [pair for pair in compared.pairs if compared.verdict(pair) != "tie"]
        name = printable(compared.measure.name, 40)
        counted.append(f"{name}: {len(apart):,} of {len(compared.pairs):,} pairs differ beyond chance.")
        for pair in apart:
            names = f"{comparison.label(pair.a)} minus {comparison.label(pair.b)}"
            named.append(f"{name}, {names}: {number(pair.difference)}.")
    return alt_of([*counted, *named])


def _pairs_of(measures: Sequence[MeasureComparison]) -> list[PairPlaces]:
    """Every pair of runs that any of them compares, in order."""
    return list(dict.fromkeys((pair.a, pair.b) for compared in measures for pair in compared.pairs))


def _forest(
    new_figure: NewFigure,
    comparison: Comparison,
    measures: Sequence[MeasureComparison],
    first: int | None = None,
) -> Figure:
    """A panel for each of `measures`, a row for each of their pairs; `first`: the A of every pair, named once."""
    places = _pairs_of(measures)
    names = [_pair_name("" if a == first else comparison.label(a), comparison.label(b)) for a, b in places]
    ratios = [1.0] * len(measures)
    figure, panels = row_figure(new_figure, names, besides_in=1.1, row_in=0.27, ratios=ratios, below=0.5)
    for axes, compared in zip(panels, measures, strict=True):
        _panel(axes, compared, places)
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


def _panel(axes: Axes, compared: MeasureComparison, places: Sequence[PairPlaces]) -> None:
    axes.axvline(0, color=GREY, linewidth=0.8)
    for pair in compared.pairs:
        row, color = places.index((pair.a, pair.b)), _COLOURS[compared.verdict(pair)]
        if pair.interval.low is not None and pair.interval.high is not None:
            axes.plot([pair.interval.low, pair.interval.high], [row, row], color=color)
        filled = color if pair.significant else "white"
        axes.plot(pair.difference, row, marker="o", markersize=4.5, color=color, markerfacecolor=filled)
    better = {True: "A is better \N{RIGHTWARDS ARROW}", False: "\N{LEFTWARDS ARROW} A is better", None: ""}
    # The words of its name on lines of a panel's width.
    lines = wrapped(compared.measure.name.replace("_", " "), 22)
    name = lines.replace("\n", "_\n").replace(" ", "_")
    axes.set_title(f"{name}\n{better[compared.measure.higher_is_better]}", fontsize=7)
    axes.locator_params(axis="x", nbins=3)
