"""Which differences are more than chance: a forest plot of the pairs of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.display import Drawing
from harness.display.text_format import number, printable
from harness.report.comparison.compare import Comparison
from harness.report.comparison.figure import MOST_PAIRS, drawn_measures, forest, pairs_of
from harness.report.figures.marks import alt_of
from harness.report.verdict.findings import Findings
from harness.statistics.paired_comparison import MeasureComparison

if TYPE_CHECKING:
    from harness.display.plotting import NewFigure

_BEYOND_CHANCE = {
    "a": "blue (A is better)",
    "b": "vermilion (B is better)",
    "differ": "black (they differ, nobody here knows which way is better)",
}


def draw_significance(findings: Findings, new_figure: NewFigure) -> list[Drawing]:
    """A row for each pair, a panel for each of the main measures. Of more pairs than a page holds, those with the
    run that ranks first: the table has all.
    """
    comparison = findings.comparison
    measures = drawn_measures(comparison.measures) if comparison else []
    if comparison is None or not measures:
        return []
    against, first = "", None
    if len(pairs_of(measures)) > MOST_PAIRS:
        first = next(iter(findings.compared_order), 0)
        measures = [_with(compared, first) for compared in measures]
        against = f" Of {len(comparison.shared):,} pairs, those with {comparison.label(first)}; the table has all."
    caption = (
        f"Difference of the means of two runs, A \N{MINUS SIGN} B, over the queries of both ({_n(measures)}), "
        f"with its 95 % CI. {_colours(measures)}.{against}"
    )
    drawn = forest(new_figure, comparison, measures, first)
    return [Drawing("significance", "Differences between runs", caption, _alt(comparison, measures), drawn)]


def _colours(measures: Sequence[MeasureComparison]) -> str:
    """Those that are there, what they mean, and beyond what chance."""
    verdicts = {compared.verdict(pair) for compared in measures for pair in compared.pairs}
    beyond = [said for verdict, said in _BEYOND_CHANCE.items() if verdict in verdicts]
    told = f"{', '.join(beyond)}: beyond chance after Holm's correction for all pairs of the measure"
    tie = "grey and hollow: a tie"
    if not beyond:
        return "Grey and hollow: a tie, no more than chance after Holm's correction"
    return "; ".join([f"{told[0].upper()}{told[1:]}", *([tie] if "tie" in verdicts else [])])


def _with(compared: MeasureComparison, place: int) -> MeasureComparison:
    """Its pairs with that run, which stands first in each; the correction stays that for all pairs."""
    pairs = [pair if pair.a == place else pair.turned for pair in compared.pairs if place in (pair.a, pair.b)]
    return replace(compared, pairs=tuple(pairs))


def _n(measures: Sequence[MeasureComparison]) -> str:
    counts = sorted(pair.n for compared in measures for pair in compared.pairs)
    return f"n = {counts[0]:,}" if counts[0] == counts[-1] else f"n = {counts[0]:,} to {counts[-1]:,}"


def _alt(comparison: Comparison, measures: Sequence[MeasureComparison]) -> str:
    """How many pairs differ by each measure, then which."""
    counted, named = [], []
    for compared in measures:
        apart = [pair for pair in compared.pairs if compared.verdict(pair) != "tie"]
        name = printable(compared.measure.name, 40)
        counted.append(f"{name}: {len(apart):,} of {len(compared.pairs):,} pairs differ beyond chance.")
        for pair in apart:
            names = f"{comparison.label(pair.a)} minus {comparison.label(pair.b)}"
            named.append(f"{name}, {names}: {number(pair.difference)}.")
    return alt_of([*counted, *named])
