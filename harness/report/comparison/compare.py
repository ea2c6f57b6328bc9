"""Runs compared with each other, paired by query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.core.errors import ConfigError
from harness.display.text_format import printable
from harness.report.comparison.choosing import MeasureBook, select_measures
from harness.report.comparison.notes import baseline_notes, comparison_notes, unpaired_pairs
from harness.report.comparison.runs import (
    ComparedRun,
    beside_baselines,
    comparable_pairs,
    drawn_queries,
    finished_runs,
    load_compared,
    shared_queries,
)
from harness.report.labels import dataset_title
from harness.report.measures import known_measures, margin_choice, ranking_choice
from harness.statistics import Prices
from harness.statistics.paired_comparison import MeasureComparison, PairedMeasure, SharedQueries, compare_measure
from harness.statistics.query_values import COSTS
from harness.store import RunDir

SHOWN_COSTS = ("usd", "tokens", "latency_s")
"""In the order in which they decide which of two runs is cheaper."""


@dataclass(frozen=True)
class Choice:
    """What to compare."""

    measures: tuple[str, ...] = ()
    """Empty: every measure that all runs have."""
    query_type: str | None = None
    """Only these queries; with or without the `_query` that types end in."""
    against: RunDir | None = None
    """Only pairs with this run."""
    margin: float | None = None
    """By how many points a run may be worse and still count as good; None: from the configs."""


@dataclass(frozen=True)
class Comparison:
    """What came out."""

    title: str
    """Of the data set."""
    query_type: str | None
    against: int | None
    """Its position among the runs."""
    runs: tuple[ComparedRun, ...]
    shared: SharedQueries
    measures: tuple[MeasureComparison, ...]
    notes: tuple[str, ...]
    """What to know before believing a number."""
    margin: float
    """In points: a run that is worse by less counts as good."""
    main: tuple[str, ...] = ()
    """The metrics that matter most, in order: the one that ranks, those of the leaderboard's columns, and
    costs.
    """
    apart: tuple[MeasureComparison, ...] = ()
    """The pairs with a baseline, corrected as a family of their own and without ranks."""

    @property
    def samples_differ(self) -> bool:
        """Whether any two runs were asked different queries; then only their common queries are compared."""
        return any(one.rows is not self.runs[0].rows and one.rows != self.runs[0].rows for one in self.runs)

    @property
    def documents_differ(self) -> bool:
        """Whether any two runs searched different documents."""
        digests = {one.manifest.dataset.get("corpus_digest") for one in self.runs}
        return len(digests) > 1

    def label(self, position: int) -> str:
        """The name of a run."""
        return self.runs[position].label


def compare_runs(runs: Sequence[RunDir], prices: Prices, choice: Choice | None = None) -> Comparison:
    """Compare all pairs of runs, or every run with `choice.against`, which need not be among them. Unfinished runs
    are left out, with a note.

    Raises ConfigError for fewer than two finished runs, an unfinished `against`, different data sets, no common
    query, or an unknown metric or query type.
    """
    choice = choice or Choice()
    named = [*runs, choice.against] if choice.against else runs
    loaded = load_compared(named, choice.query_type, prices)
    finished = finished_runs(loaded, choice.against)
    _refuse_races(finished)
    found = compare_loaded(finished, choice)
    left = [one.label for one in loaded if one not in finished]
    return replace(found, notes=(*(f"{label} is unfinished and not compared." for label in left), *found.notes))


def compare_loaded(runs: Sequence[ComparedRun], choice: Choice) -> Comparison:
    """`compare_runs` for runs in memory, `choice.against` among them, over the queries they hold."""
    against = _position(runs, choice.against)
    shared = shared_queries(runs, against)
    book = MeasureBook(
        known_measures(evaluation for run in runs for evaluation in run.evaluations),
        ranking_choice([run.manifest for run in runs]).name,
    )
    chosen, repeated = select_measures([(run.label, run.values) for run in runs], choice.measures, book)
    competing, with_baselines = beside_baselines(runs, shared)
    apart = tuple(_compared(runs, with_baselines, chosen, wanted=False))
    held = {one.measure.name: one for one in apart}
    measures = tuple(
        _with_means_of(held.get(one.measure.name), one)
        for one in _compared(runs, competing, chosen, wanted=bool(choice.measures))
    )
    notes = comparison_notes(runs, shared, measures, [measure.name for measure in chosen], with_baselines)
    beside = [*baseline_notes(runs, with_baselines), *unpaired_pairs(runs, with_baselines, apart)]
    return Comparison(
        title=dataset_title(runs[0].manifest),
        query_type=printable(choice.query_type) if choice.query_type else None,
        against=against,
        runs=tuple(runs),
        shared=shared,
        measures=measures,
        notes=(*beside, *notes, *repeated),
        margin=margin_choice([run.manifest for run in runs]) if choice.margin is None else choice.margin,
        main=_main([one.name for one in chosen], book, choice),
        apart=apart,
    )


def _main(chosen: Sequence[str], book: MeasureBook, choice: Choice) -> tuple[str, ...]:
    if choice.measures:
        return tuple(chosen)
    columns = [name for name, measure in book.known.items() if measure.column]
    wanted = (book.first or next(iter(chosen), ""), *columns, *SHOWN_COSTS)
    return tuple(dict.fromkeys(name for name in wanted if name in chosen))


def _with_means_of(apart: MeasureComparison | None, competing: MeasureComparison) -> MeasureComparison:
    """With the means of baselines that have a value on every query over which the others' are."""
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
    """Each metric between the runs that may be compared by it, if there are at least two."""
    drawn = drawn_queries(runs)
    for measure in chosen:
        comparable = comparable_pairs(runs, measure.name, shared)
        if comparable:
            yield compare_measure(measure, comparable, drawn)
        elif wanted:
            raise _incomparable(runs, measure.name)


def _incomparable(runs: Sequence[ComparedRun], measure: str) -> ConfigError:
    """The error for a metric by which no two runs can be compared."""
    unpriced = [f"{run.label} {run.why_unpriced}" for run in runs if run.why_unpriced]
    if measure in COSTS and unpriced:
        return ConfigError(f"'{printable(measure)}': {'; '.join(unpriced)}", "leave it out of --measures")
    return ConfigError(
        f"'{printable(measure)}': no two runs were scored in one way (version, parameters, models, weights)",
        "run: rag-harness evaluate with the same --set for all of them",
    )


def _refuse_races(runs: Sequence[ComparedRun]) -> None:
    """Raise ConfigError for runs of a race."""
    raced = [one.label for one in runs if one.run.race() is not None]
    if raced:
        what = f"{raced[0]} was in a race, which stops by its results: no other test of it is valid"
        raise ConfigError(what, "see the result of the race: rag-harness report")


def _position(runs: Sequence[ComparedRun], against: RunDir | None) -> int | None:
    if against is None:
        return None
    return [one.run.path.resolve() for one in runs].index(against.path.resolve())
