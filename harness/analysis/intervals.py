"""95 % confidence intervals. Nothing here depends on the order of the values or on the clock.

- proportions (every value 0 or 1): Wilson's score interval (Wilson 1927), through scipy;
- other means: percentile bootstrap (Efron & Tibshirani 1993), 2,000 resamples, seeded;
- weighted means over strata: for proportions Wilson's limits combined by the square-and-add rule (Newcombe 1998;
  Zou & Donner 2008), since a bootstrap of strata that are all right or all wrong would claim certainty; otherwise
  the bootstrap within each stratum;
- quantiles: between two order statistics, exact by the binomial distribution (scipy's `quantile_test`).

No values: None. One value that is no proportion says nothing about spread: None too. Equal values give a bootstrap
interval of width zero.
"""

from collections.abc import Sequence
from math import isnan, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.errors import MissingDependency

LEVEL = 0.95
RESAMPLES = 2_000
_TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
_BLOCK = 2_000_000

Values = Sequence[float]


class Interval(NamedTuple):
    """Lower and upper limit; None for a limit that so few values cannot give."""

    low: float | None
    high: float | None


UNKNOWN = Interval(None, None)


class Stratum(NamedTuple):
    """One part of a weighted mean. Weights are relative: they need not sum to 1."""

    weight: float
    values: Values


def wilson(successes: int, n: int) -> Interval:
    """Wilson's score interval of a proportion; `UNKNOWN` for n = 0."""
    if n == 0:
        return UNKNOWN
    limits = _scipy_stats().binomtest(successes, n).proportion_ci(confidence_level=LEVEL, method="wilson")
    return Interval(float(limits.low), float(limits.high))


def bootstrap_mean(values: Values, seed: int = 0) -> Interval:
    """Percentile bootstrap interval of a mean; `UNKNOWN` for fewer than two values."""
    if len(values) < 2:
        return UNKNOWN
    return percentiles(_resampled_means(values, np.random.default_rng(seed)))


def mean_interval(values: Values, *, proportions: bool) -> Interval:
    """Wilson where `proportions` are asked for and every value is 0 or 1, otherwise the bootstrap."""
    if proportions and _all_binary(values):
        return wilson(round(sum(values)), len(values))
    return bootstrap_mean(values)


def weighted_mean(strata: Sequence[Stratum]) -> float:
    """The mean of the strata's means by their weights; every stratum must hold a value."""
    total = sum(stratum.weight for stratum in strata)
    return sum(stratum.weight / total * float(np.mean(stratum.values)) for stratum in strata)


def weighted_mean_interval(strata: Sequence[Stratum], *, proportions: bool, seed: int = 0) -> Interval:
    """The interval of `weighted_mean`, see above; `UNKNOWN` where a stratum is too small to give one."""
    total = sum(stratum.weight for stratum in strata)
    if proportions and all(_all_binary(stratum.values) for stratum in strata):
        return _square_and_add(strata, total)
    if any(len(stratum.values) < 2 for stratum in strata):
        return UNKNOWN
    rng = np.random.default_rng(seed)
    means = sum(stratum.weight / total * _resampled_means(stratum.values, rng) for stratum in strata)
    return percentiles(np.asarray(means))


def quantile_interval(values: Values, p: float) -> Interval:
    """The order-statistic interval of the `p` quantile; None for a limit beyond the smallest or largest value."""
    if not values:
        return UNKNOWN
    limits = _scipy_stats().quantile_test(values, q=0, p=p).confidence_interval(confidence_level=LEVEL)
    low, high = float(limits.low), float(limits.high)
    return Interval(None if isnan(low) else low, None if isnan(high) else high)


def _square_and_add(strata: Sequence[Stratum], total: float) -> Interval:
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


def _resampled_means(values: Values, rng: np.random.Generator) -> NDArray[np.float64]:
    # Sorted, so that the order of the queries does not move the interval; in blocks, to bound the memory.
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    if ordered[0] == ordered[-1]:
        return np.full(RESAMPLES, ordered[0])
    means = np.empty(RESAMPLES)
    step = max(1, _BLOCK // n)
    for start in range(0, RESAMPLES, step):
        stop = min(start + step, RESAMPLES)
        means[start:stop] = ordered[rng.integers(n, size=(stop - start, n), dtype=np.int32)].mean(axis=1)
    return means


def percentiles(means: NDArray[np.float64]) -> Interval:
    """The interval that holds `LEVEL` of these bootstrap means."""
    low, high = np.quantile(means, _TAILS)
    return Interval(float(low), float(high))


def _all_binary(values: Values) -> bool:
    return all(value in {0.0, 1.0} for value in values)


def _scipy_stats() -> Any:
    try:
        from scipy import stats
    except ImportError as error:
        raise MissingDependency(
            "confidence intervals need scipy", "install it: pip install 'rag-harness[report]'"
        ) from error
    return stats
