"""Which differences are more than chance: a forest plot of the pairs of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.analysis.paired import MeasureComparison
from harness.report.comparison.compare import Comparison
from harness.report.comparison.figure import MOST_PAIRS, drawn_measures, forest, pairs_of
from harness.report.figures.marks import alt_of
from harness.report.findings import Findings
from harness.report.plotting import Drawing
from harness.report.text import number, printable
from harness.report.view import Group

if TYPE_CHECKING:
    from harness.report.plotting import NewFigure


def draw_significance(group: Group, findings: Findings, new_figure: NewFigure) -> list[Drawing]:
    """A row for each pair, a panel for each of the main measures. Of more pairs than a page holds, those with the
    run that ranks first: the table has all.
    """
    comparison = findings.comparison
    measures = drawn_measures(comparison.measures) if comparison else []
    if comparison is None or not measures:
        return []
    against, first = "", None
    if len(pairs_of(measures)) > MOST_PAIRS:
        first = _position(comparison, group, findings)
        measures = [_with(compared, first) for compared in measures]
        against = f" Of {len(comparison.shared):,} pairs, those with {comparison.label(first)}; the table has all."
    caption = (
        f"Difference of the means of two runs, A \N{MINUS SIGN} B, over the queries of both ({_n(measures)}), "
        "with its 95 % CI. Blue: A is better, vermilion: B is better, both beyond chance after Holm's correction "
        f"for all pairs of the measure; grey and hollow: a tie.{against}"
    )
    drawn = forest(new_figure, comparison, measures, first)
    return [Drawing("significance", "Differences between runs", caption, _alt(comparison, measures), drawn)]


def _position(comparison: Comparison, group: Group, findings: Findings) -> int:
    """Where the run that ranks first stands in the comparison; the first run, where the best is not in it."""
    places = {compared.run.run_id: place for place, compared in enumerate(comparison.runs)}
    ranked = (group.views[position].run.run_id for position in findings.order)
    return next((places[run_id] for run_id in ranked if run_id in places), 0)


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
