"""Whether a run keeps within a limit: of its own mean, or of its drop behind a baseline.

A condition **passes** if its whole interval is within the limit, and **fails** if its whole interval is beyond it.
Otherwise it is **underpowered**: so many queries cannot decide it, and the number that could is estimated.

- A run passes only if it meets every condition, so each is tested at 5 % (intersection-union test, Berger 1982): a
  run that breaks a condition passes in at most 2.5 % of cases, however many conditions there are.
- A run fails if it breaks any condition, so a failure needs an interval at 5 % over the number of conditions
  (Bonferroni): a run that meets all of them fails in at most 2.5 % of cases.
- The drop is the mean paired difference, tested as for non-inferiority: on new documents too if the design names
  clusters, and in the worst case of missing values. The own mean is in the natural mix of query types if that is
  known, as in reports; a missing value counts as the worst and as the best possible one.
- Queries needed: for a drop, those over which a run that did not change passes in 80 % of cases; for a mean, and
  for a drop already tested over more queries, those that decide it in 80 % of cases if its true value is the
  observed one. The scatter is an upper limit (`power`), enlarged by the design effect of shared documents (Kish
  1965).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.statistics.confidence_intervals import (
    UNBOUNDED,
    UNKNOWN,
    Array,
    Interval,
    Stratum,
    mean_interval,
    weighted_mean_interval,
    wilson,
)
from harness.statistics.difference_tests import ALPHA
from harness.statistics.non_inferior import disadvantage
from harness.statistics.paired_comparison import ComparedPair, MeasureComparison, PairedMeasure
from harness.statistics.power import DifferenceSpread, most_discordant, queries_needed, rounded_up, spread_of
from harness.statistics.sampling_design import SamplingDesign, are_equal

LimitOutcome = Literal["pass", "fail", "underpowered"]


@dataclass(frozen=True)
class LimitTest:
    outcome: LimitOutcome
    value: float
    """The mean, or the drop of the mean; a missing value counts as the worst possible one."""
    interval: Interval
    """The one that decided."""
    level: float
    """Its level: 0.95, or more for a failure among several conditions."""
    n: int
    """Queries; those with the same text are one."""
    n_needed: int | None = None
    """If underpowered: queries that would decide it; None: more than 50,000, or unknown."""


def mean_within(
    measure: PairedMeasure,
    place: int,
    design: SamplingDesign,
    limit: float,
    *,
    at_least: bool,
    n_conditions: int = 1,
) -> LimitTest:
    """Test whether the mean of the run at `place` is at least, or else at most, `limit`. The run has a value."""
    run = measure.runs[place]
    ids = sorted(run.expected if measure.counts_missing else run)
    natural = design.weights(ids, design.types.keys(), run.expected)
    weights = None if natural is None or are_equal(natural) else natural
    types = design.type_numbers(ids)
    worst, best = (measure.at(place, ids, best=which) for which in (False, True))
    value = float(np.average(worst, weights=weights))

    def interval(n_tests: int) -> Interval:
        found = [_mean_interval(measure, values, weights, types, ALPHA / n_tests) for values in (worst, best)]
        lows, highs = ([limits[end] for limits in found] for end in (0, 1))
        return Interval(
            None if None in lows else min(low for low in lows if low is not None),
            None if None in highs else max(high for high in highs if high is not None),
        )

    spread, gap = spread_of(worst, weights, types, span=measure.span), abs(value - limit)
    if spread is None and measure.span is not None:  # All values are equal.
        others = min(0.5, most_discordant(0, len(ids)))
        spread = DifferenceSpread(measure.span * sqrt(others * (1 - others)))
    needed = spread.needed(gap, 1) if spread and gap else None
    return _decided(value, limit, interval, (len(ids), [needed]), at_least=at_least, n_conditions=n_conditions)


def drop_within(
    compared: MeasureComparison, run: int, baseline: int, most: float, *, n_conditions: int = 1
) -> LimitTest:
    """Test whether the run at place `run` is at most `most` worse than that at `baseline`, in the direction of the
    metric. The metric has a direction, and the two runs are a pair of `compared`.
    """
    pair = next(one for one in compared.pairs if {one.a, one.b} == {run, baseline})
    ahead = pair if pair.a == run else pair.turned
    value = (-1.0 if compared.measure.higher_is_better else 1.0) * ahead.difference + 0.0
    return _decided(
        value,
        most,
        lambda n_tests: disadvantage(compared, run, baseline, n_tests),
        (pair.n, (_drop_needed(compared, pair, gap) for gap in (most, abs(most - value)))),
        at_least=False,
        is_strict=True,
        n_conditions=n_conditions,
    )


def _decided(
    value: float,
    limit: float,
    interval: Callable[[int], Interval],
    queries: tuple[int, Iterable[int | None]],
    *,
    at_least: bool,
    n_conditions: int,
    is_strict: bool = False,
) -> LimitTest:
    """`interval`: at 5 % over this number of tests. `queries`: how many there are, and how many are needed by
    several assumptions, of which the first that needs more counts. `is_strict`: an interval that ends at the limit
    is not within it, as the exact test of shares sets an end to 0 where it does not exclude 0.
    """
    n, candidates = queries
    shown = interval(1)
    if limit not in (shown if is_strict else ()) and _is_within(shown, limit, at_least=at_least):
        return LimitTest("pass", value, shown, 1 - ALPHA, n)
    n_tests = n_conditions if _is_beyond(shown, limit, at_least=at_least) else 1
    shown = interval(n_tests)
    if _is_beyond(shown, limit, at_least=at_least):
        return LimitTest("fail", value, shown, 1 - ALPHA / n_tests, n)
    needed = next((rounded_up(found) for found in candidates if found is not None and found > n), None)
    return LimitTest("underpowered", value, shown, 1 - ALPHA / n_tests, n, needed)


def _is_within(interval: Interval, limit: float, *, at_least: bool) -> bool:
    low, high = interval
    return (low is not None and low >= limit) if at_least else (high is not None and high <= limit)


def _is_beyond(interval: Interval, limit: float, *, at_least: bool) -> bool:
    low, high = interval
    return (high is not None and high < limit) if at_least else (low is not None and low > limit)


def _mean_interval(
    measure: PairedMeasure, values: Array, weights: Array | None, types: NDArray[np.int64] | None, alpha: float
) -> Interval:
    proportion, bounds = measure.is_binary, measure.ends or UNBOUNDED
    if not proportion and np.ptp(values) == 0:
        return _constant_interval(measure, float(values[0]), len(values), alpha)
    if weights is None or types is None:
        return mean_interval(values.tolist(), proportion=proportion, bounds=bounds, alpha=alpha)
    parts = [types == number for number in np.unique(types)]
    strata = [Stratum(float(weights[part].sum()), values[part].tolist()) for part in parts]
    return weighted_mean_interval(strata, proportion=proportion, bounds=bounds, alpha=alpha)


def _constant_interval(measure: PairedMeasure, value: float, n: int, alpha: float) -> Interval:
    """Interval of a mean of equal values. Others may differ as far as the range allows, on at most the share of
    queries that `n` equal ones leave.
    """
    if measure.is_cost and not value:
        return Interval(0.0, 0.0)  # Nothing is charged, such as for a model on this machine.
    least = wilson(n, n, alpha).low
    if measure.ends is None or least is None:
        return UNKNOWN
    low, high = measure.ends
    return Interval(value - (1 - least) * (value - low), value + (1 - least) * (high - value))


def _drop_needed(compared: MeasureComparison, pair: ComparedPair, gap: float) -> int | None:
    """Queries that decide a drop which is this far from its limit; None: more than 50,000, or unknown."""
    span = compared.measure.span
    if gap <= 0 or (pair.spread is None and span is None):
        return None
    if pair.spread is not None:
        found = pair.spread.needed(gap, 1)
    else:  # The runs are equal on every query.
        found = queries_needed(gap / (span or 1.0), 1, most_discordant(0, pair.n))
    return None if found is None else ceil(found * _design_effect(pair))


def _design_effect(pair: ComparedPair) -> float:
    """By how much queries that share documents increase the variance of the mean difference; at least 1."""
    intervals = (pair.interval, pair.interval_clusters or UNKNOWN)
    by_query, by_document = (None if low is None or high is None else high - low for low, high in intervals)
    return max(1.0, (by_document / by_query) ** 2) if by_query and by_document else 1.0
