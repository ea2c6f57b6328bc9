"""Runs against each other, paired by query: what is more than chance, and what is a tie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.core.errors import ConfigError
from harness.display.text_format import printable
from harness.report.comparison.choosing import MeasureBook, select_measures
from harness.report.comparison.notes import bracket_notes, comparison_notes, unpaired_pairs
from harness.report.comparison.runs import (
    ComparedRun,
    beside_brackets,
    comparable_pairs,
    drawn_queries,
    finished_runs,
    load_compared,
    shared_queries,
)
from harness.report.measures import known_measures, margin_choice, ranking_choice
from harness.report.titles import dataset_title
from harness.statistics import Prices
from harness.statistics.paired_comparison import MeasureComparison, PairedMeasure, SharedQueries, compare_measure
from harness.statistics.paired_values import COSTS
from harness.store import RunDir


@dataclass(frozen=True)
class Choice:
    """What to compare."""

    measures: tuple[str, ...] = ()
    """Empty: every measure that all runs have."""
    query_type: str | None = None
    """Only these queries; with or without the `_query` that types end in."""
    baseline: RunDir | None = None
    """Only pairs with this run."""
    margin: float | None = None
    """In points, by how much a run may be worse and count as good; None: what the configs say."""


@dataclass(frozen=True)
class Comparison:
    """What came out."""

    title: str
    """Of the data set."""
    query_type: str | None
    baseline: int | None
    """Its position among the runs."""
    runs: tuple[ComparedRun, ...]
    shared: SharedQueries
    measures: tuple[MeasureComparison, ...]
    notes: tuple[str, ...]
    """What to know before believing a number."""
    margin: float
    """In points: what is worse by less is as good."""
    apart: tuple[MeasureComparison, ...] = ()
    """The pairs with a bracket where other pairs compete: a family of their own, in which nobody is ranked."""

    def label(self, position: int) -> str:
        """The name of a run."""
        return self.runs[position].label


def compare_runs(runs: Sequence[RunDir], prices: Prices, choice: Choice | None = None) -> Comparison:
    """Compare all pairs of runs, or every run with the baseline, which need not be named among the runs. Runs that
    are not finished are left out, with a note: what a part of the queries says is not what they all will.

    What cannot be compared is one ConfigError line: fewer than two finished runs, an unfinished baseline,
    other data sets, no query in common, a measure or query type that is not there.
    """
    choice = choice or Choice()
    named = [*runs, choice.baseline] if choice.baseline else runs
    loaded = load_compared(named, choice.query_type, prices)
    finished = finished_runs(loaded, choice.baseline)
    found = compare_loaded(finished, choice)
    left = [one.label for one in loaded if one not in finished]
    return replace(found, notes=(*(f"{label} is unfinished and not compared." for label in left), *found.notes))


def compare_loaded(runs: Sequence[ComparedRun], choice: Choice) -> Comparison:
    """`compare_runs` of runs that were read already, the baseline among them, over the queries they hold."""
    baseline = _position(runs, choice.baseline)
    shared = shared_queries(runs, baseline)
    book = MeasureBook(
        known_measures(evaluation for run in runs for evaluation in run.evaluations),
        ranking_choice([run.manifest for run in runs]).name,
    )
    chosen, repeated = select_measures([(run.label, run.values) for run in runs], choice.measures, book)
    competing, with_brackets = beside_brackets(runs, shared)
    apart = tuple(_compared(runs, with_brackets, chosen, wanted=False))
    held = {one.measure.name: one for one in apart}
    measures = tuple(
        _with_means_of(held.get(one.measure.name), one)
        for one in _compared(runs, competing, chosen, wanted=bool(choice.measures))
    )
    notes = comparison_notes(runs, shared, measures, [measure.name for measure in chosen], with_brackets)
    beside = [*bracket_notes(runs, with_brackets), *unpaired_pairs(runs, with_brackets, apart)]
    return Comparison(
        title=dataset_title(runs[0].manifest),
        query_type=printable(choice.query_type) if choice.query_type else None,
        baseline=baseline,
        runs=tuple(runs),
        shared=shared,
        measures=measures,
        notes=(*beside, *notes, *repeated),
        margin=margin_choice([run.manifest for run in runs]) if choice.margin is None else choice.margin,
        apart=apart,
    )


def _with_means_of(apart: MeasureComparison | None, competing: MeasureComparison) -> MeasureComparison:
    """With the means of brackets that have a value on every query over which the others' are."""
    ids = competing.query_ids
    places = {place for pair in apart.pairs for place in (pair.a, pair.b)} if apart else set()
    means, balanced = list(competing.means), list(competing.balanced_means or ())
    for place in places:
        run = competing.measure.runs[place]
        if means[place] is None and ids and run.values.keys() >= {*ids}:
            means[place] = float(np.average(run.at(ids), weights=competing.weights))
            if balanced:
                balanced[place] = float(np.mean(run.at(ids)))
    return replace(competing, means=tuple(means), balanced_means=tuple(balanced) if balanced else None)


def _compared(
    runs: Sequence[ComparedRun], shared: SharedQueries, chosen: Sequence[PairedMeasure], *, wanted: bool
) -> Iterator[MeasureComparison]:
    """Each measure between the runs that may be compared by it; none where there are no two of them."""
    drawn = drawn_queries(runs)
    for measure in chosen:
        comparable = comparable_pairs(runs, measure.name, shared)
        if comparable:
            yield compare_measure(measure, comparable, drawn)
        elif wanted:
            raise _incomparable(runs, measure.name)


def _incomparable(runs: Sequence[ComparedRun], measure: str) -> ConfigError:
    """Why no two runs can be compared by a measure that was asked for."""
    unpriced = [f"{run.label} {run.why_unpriced}" for run in runs if run.why_unpriced]
    if measure in COSTS and unpriced:
        return ConfigError(f"'{printable(measure)}': {'; '.join(unpriced)}", "leave it out of --measures")
    return ConfigError(
        f"'{printable(measure)}': no two runs were scored in one way (version, parameters, models, weights)",
        "run: rag-harness evaluate with the same --set for all of them",
    )


def _position(runs: Sequence[ComparedRun], baseline: RunDir | None) -> int | None:
    if baseline is None:
        return None
    return [one.run.path.resolve() for one in runs].index(baseline.path.resolve())
