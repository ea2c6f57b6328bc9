"""Runs compared with each other, paired by query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.core.errors import ConfigError
from harness.display import printable
from harness.protocols import Measure
from harness.report.comparison.runs import (
    beside_baselines,
    comparable_pairs,
    comparison_notes,
    drawn_queries,
    shared_queries,
)
from harness.report.measures import candidates_to_rank, instead_of
from harness.report.notes import REPEATED
from harness.report.view import Group, RunView
from harness.statistics.confidence_intervals import Interval
from harness.statistics.paired_comparison import MeasureComparison, PairedMeasure, SharedQueries, compare_measure
from harness.statistics.query_values import COSTS, QueryValues
from harness.statistics.recommendation import Lead
from harness.store import RunDir, name_for

SHOWN_COSTS = ("usd", "tokens", "latency_s")
"""In the order in which they decide which of two runs is cheaper."""

_EVALUATE = "run `rag-harness evaluate` on all of them with the same --set"


@dataclass(frozen=True)
class ComparisonChoice:
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
    title: str
    query_type: str | None
    against: int | None
    """Its place in `runs`."""
    runs: tuple[RunView, ...]
    shared: SharedQueries
    measures: tuple[MeasureComparison, ...]
    notes: tuple[str, ...]
    margin: float
    """In points: a run that is worse by less counts as good."""
    main: tuple[str, ...] = ()
    """The metrics that matter most: the one that ranks, those of the leaderboard's columns, and costs."""
    apart: tuple[MeasureComparison, ...] = ()
    """The pairs with a baseline, corrected as a family of their own and without ranks."""

    def label(self, place: int) -> str:
        return self.runs[place].label


def compare_loaded(group: Group, choice: ComparisonChoice, ranked_by: str = "") -> Comparison:
    """The runs of a group over the queries they hold. `ranked_by`: the metric that comes first, if known."""
    runs, against = group.views, None
    if choice.against is not None:
        against = [one.run.path.resolve() for one in runs].index(choice.against.path.resolve())
    shared, known, named = shared_queries(runs, against), group.known, group.ranking.name
    evidence = [one.name for one in known.values() if one.ranks_where_answers_cannot]
    in_order = candidates_to_rank(named, evidence, known)
    first = ranked_by or next((name for name in in_order if all(run.values.get(name) for run in runs)), named)
    chosen, repeated = _select_measures(runs, choice.measures, known, first, ranked_by)
    main = [measure.name for measure in chosen]
    if not choice.measures:
        columns = [name for name, measure in known.items() if measure.column]
        main = [name for name in (first or next(iter(main), ""), named, *columns, *SHOWN_COSTS) if name in main]
    competing, with_baselines = beside_baselines(runs, shared)
    apart, competitors = (tuple(_compared(runs, pairs, chosen)) for pairs in (with_baselines, competing))
    if choice.measures:
        _refuse_incomparable(runs, chosen, competitors)
    held = {one.measure.name: one for one in apart}
    measures = tuple(_with_means_of(held.get(one.measure.name), one) for one in competitors)
    notes = comparison_notes(runs, shared, measures, apart, [measure.name for measure in chosen])
    return Comparison(
        title=group.dataset,
        query_type=printable(choice.query_type) if choice.query_type else None,
        against=against,
        runs=runs,
        shared=shared,
        measures=measures,
        notes=(*notes, *repeated),
        margin=group.margin if choice.margin is None else choice.margin,
        main=tuple(dict.fromkeys(main)),
        apart=apart,
    )


def _with_means_of(apart: MeasureComparison | None, competing: MeasureComparison) -> MeasureComparison:
    """With the means of baselines that have a value on every query over which the others' are."""
    ids = competing.query_ids
    places = {place for pair in apart.pairs for place in (pair.a, pair.b)} if apart else set()
    means, balanced = list(competing.means), list(competing.balanced_means or ())
    for place in places:
        run = competing.measure.runs[place]
        if means[place] is None and ids and run.keys() >= {*ids}:
            means[place] = float(np.average(run.at(ids), weights=competing.weights))
            if balanced:
                balanced[place] = float(np.mean(run.at(ids)))
    return replace(competing, means=tuple(means), balanced_means=tuple(balanced) if balanced else None)


def compare_by(
    runs: Sequence[RunView], names: Iterable[str], known: Mapping[str, Measure]
) -> tuple[MeasureComparison, ...]:
    """Every pair of runs by each of these metrics, of which all have values; without those by which no two may be
    compared.
    """
    chosen = [paired(name, [run.values[name] for run in runs], known) for name in dict.fromkeys(names)]
    return tuple(_compared(runs, shared_queries(runs, None), chosen))


def _compared(
    runs: Sequence[RunView], shared: SharedQueries, chosen: Sequence[PairedMeasure]
) -> Iterator[MeasureComparison]:
    """Each metric between the runs that may be compared by it, if there are at least two."""
    drawn = drawn_queries(runs)
    for measure in chosen:
        if comparable := comparable_pairs(runs, measure.name, shared):
            yield compare_measure(measure, comparable, drawn)


def _refuse_incomparable(
    runs: Sequence[RunView], wanted: Sequence[PairedMeasure], found: Sequence[MeasureComparison]
) -> None:
    compared = {one.measure.name for one in found}
    for name in (one.name for one in wanted if one.name not in compared):
        why, fix = "no two runs were scored in one way (version, parameters, models, weights)", _EVALUATE
        unpriced = [f"{run.label} {run.why_unpriced}" for run in runs if run.why_unpriced]
        if name in COSTS and unpriced:
            why, fix = "; ".join(unpriced), "leave it out of --measures"
        raise ConfigError(f"'{printable(name)}': {why}", fix)


def _select_measures(
    runs: Sequence[RunView], wanted: Sequence[str], known: Mapping[str, Measure], first: str, ranked_by: str
) -> tuple[list[PairedMeasure], list[str]]:
    """The metrics to compare, and notes on those that repeat another. `ranked_by`: one that baselines may lack.

    Without `wanted` every metric of which each run has a value: the one that ranks, known ones, unknown ones, then
    costs; without those that have the values of an earlier one, and costs that are 0 throughout.
    """
    rank = {name: n for n, name in enumerate(dict.fromkeys((first, *known)))}
    last = {name: len(rank) + 1 + n for n, name in enumerate(COSTS)}
    names = {name for run in runs for name in run.values}
    ordered = sorted(names, key=lambda name: (rank.get(name, last.get(name, len(rank))), name))
    evaluate = f"rag-harness evaluate {' '.join(name_for(run.run) for run in runs)}"
    common = [name for name in ordered if name == ranked_by or all(run.values.get(name) for run in runs)]
    if not common:
        raise ConfigError("the runs have no measure in common", f"run: {evaluate}")
    for name in wanted:
        if name not in common:
            lacking = [run.label for run in runs if not run.values.get(name)]
            what = f"'{printable(name)}' has no value in {lacking[0]}"
            scored = [printable(one) for one in common]
            raise ConfigError(what, instead_of(name, scored, [run.manifest for run in runs], known, evaluate))
    if wanted:
        return [paired(name, [run.values[name] for run in runs], known) for name in dict.fromkeys(wanted)], []
    shown: list[PairedMeasure] = []
    repeated: dict[str, list[str]] = {}
    for name in common:
        held = [run.values.get(name, QueryValues.of({}, frozenset())) for run in runs]
        if name in COSTS and not any(any(own.values()) for own in held):
            continue
        one = paired(name, held, known)
        twin = next((other for other in shown if _is_the_same(other, one)), None)
        if twin is None:
            shown.append(one)
        else:
            repeated.setdefault(printable(twin.name), []).append(printable(one.name))
    notes = [f"{REPEATED}{', '.join(them)} (the values of {of} in every run)." for of, them in repeated.items()]
    return shown, notes


def gap_of(
    compared: MeasureComparison, lead: Lead, best: int, *, is_won: bool = False
) -> tuple[float, float | None, float | None]:
    """The mean of another run minus that of the leading one, with the interval that decides between them.
    `is_won`: the best is significantly better than every other run.

    Where the correction for all pairs keeps two runs tied, or the lead holds on these documents only, the interval
    of this comparison alone, for new documents, would say something else.
    """
    pair = compared.pair_of(best, lead.place)
    if is_won or pair is None:
        return lead.gap(compared)
    is_here = pair.significant and pair.population == "documents"
    if not is_here and (not lead.is_shown or pair.significant):
        return lead.gap(compared)
    on_new = None if is_here else pair.interval_clusters
    ends = [end for end in (*pair.interval, *(on_new or ())) if end is not None]
    if not ends:
        return lead.gap(compared)
    # The pair's is that of a minus b, the lead's that of the best run, positive if better.
    is_turned = (pair.a == lead.place) != (compared.measure.higher_is_better is False)
    low, high = min(ends), max(ends)
    return replace(lead, interval=Interval(-high, -low) if is_turned else Interval(low, high)).gap(compared)


def _is_the_same(one: PairedMeasure, other: PairedMeasure) -> bool:
    """Whether they are the same values under two names; costs never count as the same."""
    if one.is_cost or other.is_cost or one.higher_is_better != other.higher_is_better:
        return False
    return all(own.expected == its.expected and own == its for own, its in zip(one.runs, other.runs, strict=True))


def paired(name: str, values: Sequence[QueryValues], known: Mapping[str, Measure]) -> PairedMeasure:
    if name not in known:
        is_cost, title = name in COSTS, COSTS.get(name, name)
        return PairedMeasure(name, False if is_cost else None, tuple(values), title=title, is_cost=is_cost)
    measure = known[name]
    return PairedMeasure(
        name,
        # What only describes, such as how long contexts are, makes no run better.
        None if measure.failure_value is None else measure.higher_is_better,
        tuple(values),
        title=measure.display_name,
        share=measure.is_share,
        range=measure.range,
        is_of_answered=not measure.counts_failures,
    )
