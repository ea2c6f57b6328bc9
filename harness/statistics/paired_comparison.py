"""Compares runs query by query.

All runs of a comparison are compared over one set of queries: those to which the metric applies in any of them. A
missing value counts as the worst possible one in means, and a run is significantly better or worse only if that
holds with the worst and with the best possible value in its place: so omitting hard queries is no advantage. A
metric without a range, such as seconds, is compared over the queries for which each run has a value. Queries with
the same text are one query. Difficulty that both runs share cancels out, so a paired difference is more precise
than two means.

Test, interval and sentence are about one quantity: the mean difference in the natural mix of query types of the
data set, if that mix is known and each type has a query (`SamplingDesign.weights`); the unweighted mean is given
too. All pairs of one metric are one family for Holm's correction (`multiple_comparisons`).

The test by query holds for these documents. If queries share documents, a permutation test flips the sign of all
differences of one document at once: a difference that is significant there too holds for new documents.

A run has an interval of ranks: at best 1 + the runs significantly better than it, at worst all except those
significantly worse. Intervals are needed because ties are not transitive: with A = B, B = C and A better than C
the ranks are 1-2, 1-3, 2-3.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.statistics.confidence_intervals import Array, Bounds, Interval, can_be_shares, span_between
from harness.statistics.difference_tests import ALPHA, rounded
from harness.statistics.multiple_comparisons import Differences, Tested, tested
from harness.statistics.power import DifferenceSpread, spread_of
from harness.statistics.query_values import QueryValues
from harness.statistics.sampling_design import Mix, SamplingDesign, are_equal

TestName = Literal["mcnemar", "flips"]
Verdict = Literal["a", "b", "tie", "differ"]
"""Which run is significantly better; `differ` if they differ and the metric has no direction."""
Population = Literal["documents", "new documents", "queries"]
"""Where a difference was shown: for queries on these documents; also for new documents, because the test by
cluster agrees; or for queries, if they share no documents.
"""
PairPlaces = tuple[int, int]
"""The places of two runs in the comparison."""
SharedQueries = Mapping[PairPlaces, frozenset[str]]
"""The pairs to compare, each with the queries that both runs were asked."""


@dataclass(frozen=True)
class PairedMeasure:
    """One metric of every run in a comparison."""

    name: str
    higher_is_better: bool | None
    """None: unknown; then there are differences, but no wins and ranks."""
    runs: tuple[QueryValues, ...]
    title: str = ""
    """Its name in a sentence."""
    share: bool = False
    """Its mean is a share of queries."""
    is_cost: bool = False
    """Tokens, seconds, dollars: never a proportion."""
    range: Bounds | None = None
    """Lowest and highest possible value; None: unknown."""
    is_of_answered: bool = False
    """It leaves out failed queries, so it is compared over the queries to which it applies in every run."""

    @cached_property
    def is_binary(self) -> bool:
        """Whether every value of every run is 0 or 1, and the metric is no count, time or cosine."""
        if self.is_cost or not can_be_shares(self.range):
            return False
        return {value for run in self.runs for value in run.values()} <= {0.0, 1.0}

    @property
    def is_share(self) -> bool:
        """Whether it is shown in per cent: a share of queries, also with repeats."""
        return self.share or self.is_binary

    @property
    def ends(self) -> Bounds | None:
        """The lowest and the highest possible value; None: unknown or unlimited."""
        ends = self.range or ((0.0, 1.0) if self.is_share else None)
        return None if self.is_cost or ends is None or span_between(ends) is None else ends

    @property
    def span(self) -> float | None:
        """The largest possible difference; None: unknown."""
        return None if self.ends is None else span_between(self.ends)

    @property
    def counts_missing(self) -> bool:
        """Whether a missing value can be replaced by the worst and by the best possible one."""
        return self.ends is not None and self.higher_is_better is not None

    def at(self, place: int, query_ids: Sequence[str], *, best: bool = False) -> Array:
        """The values of a run. A missing one is the worst possible value, or the best."""
        if self.ends is None:
            return self.runs[place].at(query_ids)
        low, high = self.ends
        return self.runs[place].at(query_ids, high if best == self.higher_is_better else low)


@dataclass(frozen=True)
class ComparedPair:
    """Run `a` minus run `b`, over `n` queries."""

    a: int
    b: int
    n: int
    n_expected: int
    """Queries that both runs were asked and to which the metric applies in either."""
    mean_a: float
    mean_b: float
    interval: Interval
    """Of the mean difference, at `level`; excludes 0 exactly if the pair is significant."""
    level: float
    """At least 0.95: see `multiple_comparisons`."""
    higher: int
    """Queries on which `a` has the higher value."""
    equal: int
    lower: int
    p: float
    p_holm: float
    spread: DifferenceSpread | None
    """Upper limit of the scatter of differences, which determines the power; None: they do not vary."""
    detectable: float | None
    """The true difference that so many queries detect with 80 % power after Holm; None: no possible one."""
    population: Population
    n_clusters: int | None = None
    """Groups of queries that mainly cite the same document; None: queries are independent."""
    p_clusters: float | None = None
    """p of the test by cluster, after Holm."""
    interval_clusters: Interval | None = None
    """Of the same difference, for new documents."""
    balanced: ComparedPair | None = None
    """The same with equal weights; None: this pair has equal weights."""

    @property
    def difference(self) -> float:
        """Of the means; 0 if they differ only by rounding of floats."""
        gap = self.mean_a - self.mean_b
        return gap if rounded([gap])[0] else 0.0

    @property
    def direction(self) -> int:
        """1: `a` is higher on average; -1: lower; 0: neither."""
        return int(np.sign(self.difference))

    @property
    def ratio(self) -> float | None:
        """Of the means; None if that of `b` is 0."""
        return self.mean_a / self.mean_b if self.mean_b else None

    @property
    def turned(self) -> ComparedPair:
        """Run `b` minus run `a`."""
        return replace(
            self,
            a=self.b,
            b=self.a,
            mean_a=self.mean_b,
            mean_b=self.mean_a,
            interval=_turned(self.interval),
            higher=self.lower,
            lower=self.higher,
            interval_clusters=None if self.interval_clusters is None else _turned(self.interval_clusters),
            balanced=None if self.balanced is None else self.balanced.turned,
        )

    @property
    def significant(self) -> bool:
        """Whether the difference is significant after Holm."""
        return self.p_holm <= ALPHA and self.direction != 0


@dataclass(frozen=True)
class MeasureComparison:
    """Every pair of runs by one metric."""

    measure: PairedMeasure
    pairs: tuple[ComparedPair, ...]
    """Empty if there is no query for which every run has a value."""
    query_ids: tuple[str, ...]
    """Those queries, in order: means, pairs and ranks are over them."""
    means: tuple[float | None, ...]
    """Of each run over those queries, in `mix`; None if there are none, or if the run is in no pair."""
    ranks: tuple[PairPlaces | None, ...] | None
    """Best and worst rank of each run in a pair, from 1; None if not all pairs were compared or the metric has no
    direction."""
    mix: Mix = "as sampled"
    balanced_means: tuple[float | None, ...] | None = None
    """The means with equal weights; None: `means` have equal weights."""
    drawn: SamplingDesign = SamplingDesign()  # noqa: RUF009 - frozen
    weights: Array | None = None
    """Weights of `query_ids`, 1 on average; None: all equal."""

    @cached_property
    def types(self) -> NDArray[np.int64] | None:
        """The number of the type of each of `query_ids`; None: unknown."""
        return self.drawn.type_numbers(self.query_ids)

    @property
    def n_common(self) -> int:
        """Queries for which every run has a value."""
        return len(self.query_ids)

    @property
    def test(self) -> TestName:
        return "mcnemar" if self.measure.is_binary and self.weights is None else "flips"

    def pair_of(self, one: int, other: int) -> ComparedPair | None:
        """The pair of these two runs, in either order; None if they were not compared."""
        return next((pair for pair in self.pairs if {pair.a, pair.b} == {one, other}), None)

    def verdict(self, pair: ComparedPair) -> Verdict:
        """The verdict on a pair: a difference that is not significant is a tie."""
        if not pair.significant:
            return "tie"
        if self.measure.higher_is_better is None:
            return "differ"
        return "a" if (pair.direction > 0) == self.measure.higher_is_better else "b"

    def outcomes(self, pair: ComparedPair) -> tuple[int, int, int]:
        """Queries on which `a` is better, equal and worse; without a direction: higher, equal and lower."""
        if self.measure.higher_is_better is False:
            return pair.lower, pair.equal, pair.higher
        return pair.higher, pair.equal, pair.lower

    def differences(self, a: int, b: int) -> Array:
        first, second = (self.values(place) for place in (a, b))
        return rounded(first - second)

    def least_difference(self, a: int, b: int) -> Array:
        """Run `a` minus run `b` in the worst case for `a`: its missing values are the worst possible ones, those
        of `b` the best.
        """
        return rounded(self.values(a) - self.values(b, best=True))

    def extremes(self, pairs: Collection[PairPlaces]) -> tuple[Array, Array] | None:
        """The smallest and the largest possible differences of these pairs, a column each; None: no value is
        missing.
        """
        if not any(self.n_missing[place] for pair in pairs for place in pair):
            return None
        against_a = np.stack([self.least_difference(a, b) for a, b in pairs], axis=1)
        against_b = -np.stack([self.least_difference(b, a) for a, b in pairs], axis=1)
        return (against_a, against_b) if self.measure.higher_is_better else (against_b, against_a)

    def values(self, place: int, *, best: bool = False) -> Array:
        """The values of a run on `query_ids`; see `PairedMeasure.at` for missing ones."""
        return self.measure.at(place, self.query_ids, best=best)

    @cached_property
    def clusters(self) -> NDArray[np.int64] | None:
        """The number of the cluster of each of `query_ids`; None: queries are independent."""
        return self.drawn.cluster_numbers(self.query_ids)

    @cached_property
    def n_clusters(self) -> int | None:
        return None if self.clusters is None else len(set(self.clusters.tolist()))

    def to_test(self, values: Array) -> Differences:
        """Differences of two runs each, a column per pair, for tests by query."""
        binary, span = self.measure.is_binary, self.measure.span
        return Differences(values, self.weights, self.types, binary=binary, span=span)

    def tested(
        self, differences: Array, ends: tuple[Array, Array] | None, *, corrected: bool = True
    ) -> tuple[list[Tested], list[Tested]]:
        """The tests of these columns by query, and by cluster for new documents: equal if no cluster has several
        queries. Arguments as in `multiple_comparisons.tested`.
        """
        by_query = self.to_test(differences)
        here = tested(by_query, ends, corrected=corrected)
        if self.clusters is None or self.n_clusters == len(self.clusters):
            return here, here
        return here, tested(replace(by_query, clusters=self.clusters), ends, corrected=corrected)

    def missing(self, place: int) -> NDArray[np.bool_]:
        """For which of `query_ids` a run has no value."""
        return np.isnan(self.measure.runs[place].at(self.query_ids))

    @cached_property
    def n_missing(self) -> tuple[int, ...]:
        return tuple(int(self.missing(place).sum()) for place in range(len(self.measure.runs)))


def compare_measure(
    measure: PairedMeasure, shared: SharedQueries, drawn: SamplingDesign | None = None
) -> MeasureComparison:
    """Compare every pair of `shared` by this metric. The order of runs and queries changes only signs."""
    drawn = drawn or SamplingDesign()
    compared = {place for pair in shared for place in pair}
    asked = frozenset.intersection(*shared.values()) if shared else frozenset()
    expected = [measure.runs[place].expected for place in compared]
    applying = frozenset().union(*expected)
    if measure.is_of_answered and expected:
        applying = applying.intersection(*expected)
    known = [measure.runs[place].keys() for place in compared]
    # Without a range, nothing can replace a missing value.
    ids = sorted(asked & applying & set().union(*known) if measure.counts_missing else asked.intersection(*known))
    natural = drawn.weights(ids, asked, applying)
    weights = None if natural is None or are_equal(natural) else natural
    base = MeasureComparison(measure, (), tuple(ids), (None,) * len(measure.runs), None, drawn=drawn)
    if not ids:
        return base
    balanced = _weighed(base, shared, compared)
    if weights is None:
        return replace(balanced, mix="as sampled" if natural is None else "natural")
    found = _weighed(replace(base, mix="natural", weights=weights), shared, compared)
    pairs = zip(found.pairs, balanced.pairs, strict=True)
    return replace(
        found,
        pairs=tuple(replace(pair, balanced=beside) for pair, beside in pairs),
        balanced_means=balanced.means,
    )


def differing_queries(measure: PairedMeasure, places: PairPlaces, queries: frozenset[str]) -> list[str]:
    """The queries on which the two runs have different values, in order."""
    a, b = (measure.runs[place] for place in places)
    ids = sorted(queries & a.keys() & b.keys())
    differences = rounded(a.at(ids) - b.at(ids))
    return [query_id for query_id, difference in zip(ids, differences, strict=True) if difference]


def _weighed(base: MeasureComparison, shared: SharedQueries, compared: set[int]) -> MeasureComparison:
    """The pairs, means and ranks with the weights of `base`."""
    measure, ends = base.measure, base.extremes(shared)
    differences = np.stack([base.differences(*places) for places in shared], axis=1)
    means = tuple(
        float(np.average(base.values(place), weights=base.weights)) if place in compared else None
        for place in range(len(measure.runs))
    )
    found = replace(base, means=means)
    tests = zip(shared, *base.tested(differences, ends), strict=True)
    pairs = tuple(_pair(found, shared, *one) for one in tests)
    found = replace(found, pairs=pairs)
    ranked = measure.higher_is_better is not None and len(pairs) == comb(len(compared), 2)
    return replace(found, ranks=_ranks(found, compared)) if ranked else found


def _pair(
    compared: MeasureComparison, shared: SharedQueries, places: PairPlaces, test: Tested, on_new: Tested
) -> ComparedPair:
    (a, b), differences = (compared.measure.runs[place] for place in places), compared.differences(*places)
    higher, lower = int(np.sum(differences > 0)), int(np.sum(differences < 0))
    mean_a, mean_b = (compared.means[place] or 0.0 for place in places)
    n_pairs, span = len(shared), compared.measure.span
    is_binary = compared.test == "mcnemar"
    spread = spread_of(differences, compared.weights, compared.types, binary=is_binary, span=span)
    pair = ComparedPair(
        a=places[0],
        b=places[1],
        n=len(differences),
        n_expected=len(shared[places] & (a.expected | b.expected)),
        mean_a=mean_a,
        mean_b=mean_b,
        interval=_within(test.interval, span),
        level=test.level,
        higher=higher,
        equal=len(differences) - higher - lower,
        lower=lower,
        p=test.p,
        p_holm=test.p_holm,
        spread=spread,
        detectable=None if spread is None else spread.detectable(len(differences), n_pairs, span),
        population="queries",
    )
    if compared.n_clusters is None:
        return pair
    return replace(
        pair,
        population="new documents" if pair.significant and on_new.is_significant else "documents",
        n_clusters=compared.n_clusters,
        p_clusters=on_new.p_holm,
        interval_clusters=_within(on_new.interval, span),
    )


def _within(interval: Interval, span: float | None) -> Interval:
    """The possible part of an interval."""
    if span is None:
        return interval
    low, high = interval
    return Interval(None if low is None else max(low, -span), None if high is None else min(high, span))


def _turned(interval: Interval) -> Interval:
    low, high = (None if limit is None else 0.0 - limit for limit in interval)
    return Interval(high, low)


def _ranks(compared: MeasureComparison, places: set[int]) -> tuple[PairPlaces | None, ...]:
    """From 1 + the number of significantly better runs to the number of runs that are not significantly worse."""
    best, worst = dict.fromkeys(places, 1), dict.fromkeys(places, len(places))
    for pair in compared.pairs:
        verdict = compared.verdict(pair)
        if verdict in {"a", "b"}:
            better, worse = (pair.a, pair.b) if verdict == "a" else (pair.b, pair.a)
            worst[better] -= 1
            best[worse] += 1
    every = range(len(compared.measure.runs))
    return tuple((best[place], worst[place]) if place in places else None for place in every)
