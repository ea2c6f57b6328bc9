"""Runs against each other, query by query.

Two runs are compared over the queries for which both have a value: a query that was imputed counts with the worst
value, one whose score failed in either run leaves the pair and is counted. What is easy and what is hard for both
cancels out, so that a paired difference is known more exactly than two means.

All pairs of one measure are one family for Holm's correction. A run has an interval of ranks: at best 1 + the runs
significantly better than it, at worst all but those significantly worse. Intervals, because to be no different is
not transitive: with A = B, B = C and A better than C the ranks are 1-2, 1-3, 2-3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.analysis.difference_tests import (
    ALPHA,
    detectable_difference,
    holm,
    leaning,
    mcnemar_p,
    rounded,
    wilcoxon_p,
)
from harness.analysis.intervals import UNKNOWN, Interval, bootstrap_means
from harness.analysis.paired_values import QueryValues

TestName = Literal["mcnemar", "wilcoxon"]
Verdict = Literal["a", "b", "tie", "differ"]
"""Which run is significantly better; `differ` where they differ and nobody knows which way is better."""
PairPlaces = tuple[int, int]
"""Positions of two runs in the comparison."""
SharedQueries = Mapping[PairPlaces, frozenset[str]]
"""The pairs to compare, each with the queries that both runs were asked."""


@dataclass(frozen=True)
class PairedMeasure:
    """One measure of every run in a comparison."""

    name: str
    higher_is_better: bool | None
    """None: nobody knows; then there are differences but neither wins nor ranks."""
    runs: tuple[QueryValues, ...]
    title: str = ""
    """What a sentence calls it."""
    share: bool = False
    """Its mean is a share of queries."""
    is_cost: bool = False
    """Tokens, seconds, dollars: never a proportion, whatever its values."""

    @cached_property
    def test(self) -> TestName:
        """McNemar's where every value of every run is 0 or 1."""
        values = {value for run in self.runs for value in run.values.values()}
        return "mcnemar" if values <= {0.0, 1.0} and not self.is_cost else "wilcoxon"

    @property
    def is_share(self) -> bool:
        """Whether it is said in per cent: a share of queries, whatever repeats made of its values."""
        return self.share or self.test == "mcnemar"


@dataclass(frozen=True)
class ComparedPair:
    """Run `a` minus run `b`, over `n` queries."""

    a: int
    b: int
    n: int
    n_expected: int
    """Queries that both runs were asked and to which the measure applies in either."""
    mean_a: float
    mean_b: float
    interval: Interval
    """95 %, of the mean difference: percentile bootstrap over queries; unknown where all differences are equal."""
    higher: int
    """Queries on which `a` has the higher value."""
    equal: int
    lower: int
    p: float
    p_holm: float
    detectable: float | None
    """See `detectable_difference`."""
    direction: int
    """1: `a` is higher on average and by ranks; -1: lower; 0: the two disagree, or neither."""

    @property
    def difference(self) -> float:
        """Of the means."""
        return self.mean_a - self.mean_b

    @property
    def ratio(self) -> float | None:
        """Of the means; None where that of `b` is 0."""
        return self.mean_a / self.mean_b if self.mean_b else None

    @property
    def turned(self) -> ComparedPair:
        """Run `b` minus run `a`."""
        low, high = (None if limit is None else -limit for limit in self.interval)
        return replace(
            self,
            a=self.b,
            b=self.a,
            mean_a=self.mean_b,
            mean_b=self.mean_a,
            interval=Interval(high, low),
            higher=self.lower,
            lower=self.higher,
            direction=-self.direction,
        )

    @property
    def significant(self) -> bool:
        """Whether the difference is more than chance after Holm, and has one direction."""
        return self.p_holm <= ALPHA and self.direction != 0


@dataclass(frozen=True)
class MeasureComparison:
    """Every pair of runs by one measure."""

    measure: PairedMeasure
    pairs: tuple[ComparedPair, ...]
    """Without those that have no query in common."""
    n_common: int
    """Queries for which every run has a value."""
    means: tuple[float | None, ...]
    """Of each run over those; None where there are none."""
    ranks: tuple[PairPlaces, ...] | None
    """Of each run, best and worst, from 1; None where not all pairs were compared or no direction is known."""

    def verdict(self, pair: ComparedPair) -> Verdict:
        """What is to be said of a pair: a difference that is not significant is a tie."""
        if not pair.significant:
            return "tie"
        if self.measure.higher_is_better is None:
            return "differ"
        return "a" if (pair.direction > 0) == self.measure.higher_is_better else "b"

    def outcomes(self, pair: ComparedPair) -> tuple[int, int, int]:
        """Queries on which `a` is better, equal and worse; higher, equal and lower where no direction is known."""
        if self.measure.higher_is_better is False:
            return pair.lower, pair.equal, pair.higher
        return pair.higher, pair.equal, pair.lower


def compare_measure(measure: PairedMeasure, shared: SharedQueries) -> MeasureComparison:
    """Every pair of `shared` by this measure. The order of runs and queries changes nothing but signs."""
    differences = [_differences(measure, place, queries) for place, queries in shared.items()]
    found = [one for one in differences if one.query_ids]
    intervals = difference_intervals([one.values for one in found])
    raw = [
        _pair(measure, shared[one.place], one, interval) for one, interval in zip(found, intervals, strict=True)
    ]
    adjusted = holm([pair.p for pair in raw])
    pairs = tuple(replace(pair, p_holm=p) for pair, p in zip(raw, adjusted, strict=True))
    common = frozenset.intersection(*shared.values(), *(frozenset(run.values) for run in measure.runs))
    means = tuple(_mean(run, sorted(common)) if common else None for run in measure.runs)
    compared = MeasureComparison(measure, pairs, len(common), means, None)
    n = len(measure.runs)
    ranked = measure.higher_is_better is not None and len(pairs) == n * (n - 1) // 2
    return replace(compared, ranks=_ranks(compared)) if ranked else compared


def differing_queries(measure: PairedMeasure, place: PairPlaces, queries: frozenset[str]) -> list[str]:
    """The queries on which the two runs have different values, in order."""
    found = _differences(measure, place, queries)
    return [query_id for query_id, difference in zip(found.query_ids, found.values, strict=True) if difference]


@dataclass(frozen=True)
class _Differences:
    """Run `a` minus run `b`, query by query."""

    place: PairPlaces
    query_ids: list[str]
    values: NDArray[np.float64]


def _differences(measure: PairedMeasure, place: PairPlaces, queries: frozenset[str]) -> _Differences:
    paired = _paired(measure, place, queries)
    a, b = (_values(measure.runs[position], paired) for position in place)
    return _Differences(place, paired, rounded(a - b))


def _pair(
    measure: PairedMeasure, queries: frozenset[str], found: _Differences, interval: Interval
) -> ComparedPair:
    a, b = (measure.runs[position] for position in found.place)
    differences = found.values
    higher, lower = int(np.sum(differences > 0)), int(np.sum(differences < 0))
    p = mcnemar_p(higher, lower) if measure.test == "mcnemar" else wilcoxon_p(differences)
    mean_a, mean_b = _mean(a, found.query_ids), _mean(b, found.query_ids)
    return ComparedPair(
        a=found.place[0],
        b=found.place[1],
        n=len(differences),
        n_expected=len(queries & (a.expected | b.expected)),
        mean_a=mean_a,
        mean_b=mean_b,
        interval=interval,
        higher=higher,
        equal=len(differences) - higher - lower,
        lower=lower,
        p=p,
        p_holm=p,
        detectable=detectable_difference(differences),
        direction=_direction(mean_a - mean_b, leaning(differences)),
    )


def difference_interval(differences: NDArray[np.float64]) -> Interval:
    """95 % interval of a mean difference; of -differences it is the same with the signs turned.

    `UNKNOWN` where all differences are equal, since a bootstrap would claim certainty.
    """
    return difference_intervals([differences])[0]


def difference_intervals(columns: Sequence[NDArray[np.float64]]) -> list[Interval]:
    """`difference_interval` of each column."""
    sides = [(sorted(column.tolist()), sorted((-column).tolist())) for column in columns]
    # One of the two is resampled, whichever the caller gave: a - b and b - a then have the same limits.
    resampled = bootstrap_means([min(side) for side in sides])
    return [
        UNKNOWN if not own or own[0] == own[-1] else _seen_from(own, mirrored, interval)
        for (own, mirrored), interval in zip(sides, resampled, strict=True)
    ]


def _seen_from(own: list[float], mirrored: list[float], interval: Interval) -> Interval:
    low, high = interval
    if low is None or high is None or own < mirrored:
        return interval
    if own > mirrored:
        return Interval(_turned(high), _turned(low))
    half = (high - low) / 2  # As many above 0 as below, of the same sizes: so is the interval.
    return Interval(_turned(half), half)


def _turned(limit: float) -> float:
    return 0.0 - limit


def _paired(measure: PairedMeasure, place: PairPlaces, queries: frozenset[str]) -> list[str]:
    a, b = (measure.runs[position] for position in place)
    return sorted(queries & a.values.keys() & b.values.keys())


def _values(run: QueryValues, query_ids: Sequence[str]) -> NDArray[np.float64]:
    return np.array([run.values[query_id] for query_id in query_ids], dtype=np.float64)


def _mean(run: QueryValues, query_ids: Sequence[str]) -> float:
    return float(np.mean(_values(run, query_ids)))


def _direction(difference: float, ranks: int) -> int:
    return ranks if difference * ranks > 0 else 0


def _ranks(compared: MeasureComparison) -> tuple[PairPlaces, ...]:
    n = len(compared.measure.runs)
    best, worst = [1] * n, [n] * n
    for pair in compared.pairs:
        verdict = compared.verdict(pair)
        if verdict in {"a", "b"}:
            better, worse = (pair.a, pair.b) if verdict == "a" else (pair.b, pair.a)
            worst[better] -= 1
            best[worse] += 1
    return tuple(zip(best, worst, strict=True))
