"""95 % confidence intervals. Results depend neither on the order of the values nor on the clock.

- proportions (every value 0 or 1, see `can_be_shares`): Wilson's score interval (Wilson 1927), as in Newcombe
  (1998);
- other means: the hull of Student's t and Hall's correction for skew (`t_intervals`), whose coverage is right for
  values that are mostly 0 or have a long tail. Below 30 values the length of a tail is unknown, so the limits are
  those of 98 %. There is no interval for fewer than 6 values or if all are equal;
- weighted means over strata: for proportions Wilson's limits combined by the square-and-add rule (Newcombe 1998;
  Zou & Donner 2008), because strata that are all right or all wrong have no variance, which would claim certainty;
  otherwise the same hull, from the standard errors of the strata;
- shares over clusters, such as the answers to one query: the same hull, from the clusters' sums over their sizes;
- quantiles: between two order statistics, exact by the binomial distribution (as scipy's `quantile_test`).

Limits stay within `bounds`, the possible values. docs/STATISTICS.md has the measured coverage of each interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import inf, isfinite, sqrt
from typing import NamedTuple

import numpy as np

from harness.core.errors import MissingDependency, install
from harness.statistics.t_intervals import Array, Studentized, n_even, ratio_of_sums, stratified

LEVEL = 0.95
RESAMPLES = 2_000
"""Number of bootstrap samples."""
FEWEST = 6
"""Minimum number of values for an interval of a mean that is no proportion."""
ENOUGH = 30
"""Minimum number of values for limits at 95 %."""
WIDER = 0.98
"""The level for fewer values."""
_TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
_Z = 1.959963984540054
"""97.5 % quantile of the normal distribution."""

Floats = Sequence[float]
Bounds = tuple[float, float]
"""The lowest and highest possible value."""
UNBOUNDED: Bounds = (-inf, inf)


def can_be_shares(ends: Bounds | None) -> bool:
    """Whether values that are all 0 or 1 are treated as failures and successes: only if nothing else is possible.
    Of a count, a time or a cosine a 1 is no success. None: the ends are unknown, and the values decide.
    """
    return ends is None or (ends[0] >= 0 and ends[1] <= 1)


def span_between(ends: Bounds) -> float | None:
    """The largest difference of two values; None if it is unbounded."""
    return ends[1] - ends[0] if isfinite(ends[1] - ends[0]) else None


class Interval(NamedTuple):
    """Lower and upper limit; None: too few values for a limit."""

    low: float | None
    high: float | None


UNKNOWN = Interval(None, None)


class Stratum(NamedTuple):
    """One part of a weighted mean. Weights are relative: they need not sum to 1."""

    weight: float
    values: Floats


def wilson(successes: int, n: int) -> Interval:
    """Wilson's score interval of a proportion; `UNKNOWN` for n = 0."""
    if n == 0:
        return UNKNOWN
    share = successes / n
    scale = 2 * (n + _Z**2)
    centre = (2 * n * share + _Z**2) / scale
    half = _Z / scale * sqrt(4 * n * share * (1 - share) + _Z**2)
    return Interval(0.0 if successes == 0 else centre - half, 1.0 if successes == n else centre + half)


def mean_interval(values: Floats, *, proportion: bool = False, bounds: Bounds = UNBOUNDED) -> Interval:
    """Interval of a mean: Wilson's if `proportion` is set and every value is 0 or 1, otherwise the hull described
    above.
    """
    if proportion and _all_binary(values):
        return wilson(round(sum(values)), len(values))
    return _hull([Stratum(1.0, values)], bounds)


def pooled_share_interval(sums: Floats, sizes: Floats) -> Interval:
    """Interval of the share sum(`sums`) / sum(`sizes`), with one entry for each independent part, such as all
    answers to one query: the hull over parts.

    It is Wilson's, for the number of parts of equal weight, if each part is all or nothing and sizes make no
    difference: all parts have one size, or one share.
    """
    parts = np.array(sorted(zip(sums, sizes, strict=True)), np.float64).reshape(-1, 2)
    shares = parts[:, 0] / parts[:, 1]
    is_alike = any(len(np.unique(column)) == 1 for column in (shares, parts[:, 1]))
    if is_alike and _all_binary(shares.tolist()):
        n = n_even(parts[:, 1])
        return wilson(round(n * float(np.average(shares, weights=parts[:, 1]))), n)
    if len(parts) < FEWEST or np.ptp(shares) == 0:
        return UNKNOWN
    return _limits(ratio_of_sums(parts[:, :1], parts[:, 1]), len(parts), (0.0, 1.0))


def weighted_mean(strata: Sequence[Stratum]) -> float:
    """The mean of the strata's means by their weights; every stratum must have a value."""
    total = sum(stratum.weight for stratum in strata)
    return sum(stratum.weight / total * float(np.mean(stratum.values)) for stratum in strata)


def weighted_mean_interval(
    strata: Sequence[Stratum], *, proportion: bool = False, bounds: Bounds = UNBOUNDED
) -> Interval:
    """Interval of a `weighted_mean`, see above; `UNKNOWN` if a stratum is too small."""
    if proportion and all(_all_binary(stratum.values) for stratum in strata):
        return _square_and_add(strata)
    return _hull(strata, bounds)


def quantile_interval(values: Floats, p: float) -> Interval:
    """The order-statistic interval of the `p` quantile; None for a limit beyond the smallest or largest value."""
    if not values:
        return UNKNOWN
    ordered = sorted(values)
    low, high = _order_statistics(len(ordered), p)
    return Interval(
        ordered[low] if low >= 0 else None,
        ordered[high] if high < len(ordered) else None,
    )


@lru_cache(maxsize=512)
def _order_statistics(n: int, p: float) -> tuple[int, int]:
    """The positions of the two values, from 0; -1 and `n` if there is none."""
    try:
        from scipy import special
    except ImportError as error:
        raise MissingDependency("confidence intervals need scipy", install("report")) from error
    tail, counts = _TAILS[0], np.arange(n + 1)
    low = int(np.argmax(special.bdtr(counts, n, p) >= tail)) - 1
    return low, int(np.argmax(special.bdtrc(counts, n, p) <= tail))


def percentiles(means: Array) -> Interval:
    """The interval that contains `LEVEL` of these bootstrap means."""
    low, high = np.quantile(means, _TAILS)
    return Interval(float(low), float(high))


def _square_and_add(strata: Sequence[Stratum]) -> Interval:
    total = sum(stratum.weight for stratum in strata)
    mean, below, above = 0.0, 0.0, 0.0
    for weight, values in strata:
        share, proportion = weight / total, float(np.mean(values))
        low, high = wilson(round(sum(values)), len(values))
        if low is None or high is None:
            return UNKNOWN
        mean += share * proportion
        below += (share * (proportion - low)) ** 2
        above += (share * (high - proportion)) ** 2
    return Interval(mean - sqrt(below), mean + sqrt(above))


def _hull(strata: Sequence[Stratum], bounds: Bounds) -> Interval:
    # Sorted, so that rounding does not depend on the order of the queries.
    ordered = [np.sort(np.asarray(stratum.values, np.float64)) for stratum in strata]
    n = sum(len(values) for values in ordered)
    if n < FEWEST or any(len(values) < 2 for values in ordered) or all(own[0] == own[-1] for own in ordered):
        return UNKNOWN
    weights = np.array([stratum.weight for stratum in strata], dtype=np.float64)
    return _limits(stratified(weights / weights.sum(), ordered), n, bounds)


def _limits(found: Studentized, n: int, bounds: Bounds) -> Interval:
    low, high = found.intervals(1 - (LEVEL if n >= ENOUGH else WIDER))
    return Interval(max(bounds[0], float(low[0])), min(bounds[1], float(high[0])))


def _all_binary(values: Floats) -> bool:
    return all(value in {0.0, 1.0} for value in values)
