"""95 % confidence intervals. Results depend neither on the order of the values nor on the clock.

- proportions (every value 0 or 1, see `can_be_shares`): Wilson's score interval (Wilson 1927), as in Newcombe
  (1998); of votes, which may be few, the exact one of Clopper & Pearson (1934);
- other means: the hull of Student's t and Hall's correction for skew (see below), whose coverage is right for
  values that are mostly 0 or have a long tail. Below 30 values the length of a tail is unknown, so the limits are
  those of 98 %. There is no interval for fewer than 6 values or if all are equal;
- weighted means over strata: for proportions Wilson's limits combined by the square-and-add rule (Newcombe 1998;
  Zou & Donner 2008), because strata that are all right or all wrong have no variance, which would claim certainty;
  otherwise the same hull, from the standard errors of the strata;
- shares over clusters, such as the answers to one query: the same hull, from the clusters' sums over their sizes;
- quantiles: between two order statistics, exact by the binomial distribution (as scipy's `quantile_test`).

Limits stay within `bounds`, the possible values. docs/STATISTICS.md has the measured coverage of each interval.

Why a hull: Student's t assumes symmetric values. Scores that are mostly 0, and times with a long tail, are not:
with 30 values its 95 % interval covers 87 %, as do percentile bootstraps. Hall's transformation (Hall 1992, JRSS B
54:221-228) of the t statistic removes the skewness; for symmetric values with heavy tails it is the worse of the
two. So both must agree: the interval is the hull of the two, p the larger. The correction halves t at most: an
estimated skewness that asks for more comes from one or two of the parts, and would extend the limit without end.
This is a closed form; scipy's BCa and a studentized bootstrap, which cover as well, need thousands of resamples
and fail if a resample is constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import inf, isfinite, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.core.errors import MissingDependency, install

Array = NDArray[np.float64]
_FLAT = 1e-9
"""Skewness that counts as 0."""
_SLACK = 1e-9
"""Tolerance of a sum of sizes."""
_LEAST = 0.5
"""The smallest factor by which the correction for skew reduces t."""
_HALVED = -4.5 - sqrt(6.75), -4.5 + sqrt(6.75)
"""Between these products of skewness and t, Hall's factor would be smaller."""


class Studentized(NamedTuple):
    """Estimates, one entry each."""

    means: Array
    errors: Array
    """Standard errors."""
    skews: Array
    """Skewness of the estimate itself: that of the values over the root of their number."""
    degrees: Array
    """Degrees of freedom."""

    def p_values(self) -> Array:
        """Two-sided p of a true mean of 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(self.errors > 0, self.means / self.errors, np.where(self.means == 0, 0.0, np.inf))
            factors = np.maximum(_LEAST, 1 + self.skews * t / 3 + (self.skews * t) ** 2 / 27)
            corrected = t * factors + self.skews / 6
        least = np.minimum(np.abs(t), np.abs(np.where(np.isfinite(t), corrected, t)))
        found: Array = 2 * scipy_special().stdtr(self.degrees, -least)
        return found

    def intervals(self, alpha: float) -> tuple[Array, Array]:
        """Lower and upper limits: the hull of both kinds."""
        q = -scipy_special().stdtrit(self.degrees, alpha / 2)
        near, far = self._untransformed(q), self._untransformed(-q)
        low = self.means - self.errors * np.maximum(q, near)
        high = self.means - self.errors * np.minimum(-q, far)
        return low, high

    def _untransformed(self, corrected: Array) -> Array:
        """The t that has this transformed value."""
        skews = np.where(np.abs(self.skews) < _FLAT, 1.0, self.skews)
        products = 3 * (np.cbrt(1 + skews * (corrected - skews / 6)) - 1)
        is_halved = (_HALVED[0] < products) & (products < _HALVED[1])
        turned = np.where(is_halved, (corrected - skews / 6) / _LEAST, products / skews)
        found: Array = np.where(np.abs(self.skews) < _FLAT, corrected, turned)
        return found


def n_even(totals: Array) -> int:
    """Number of equal parts whose mean would have the same variance (Kish 1965)."""
    return int(totals.sum() ** 2 / (totals @ totals) + _SLACK)


def ratio_of_sums(sums: Array, totals: Array) -> Studentized:
    """`sums` over `totals`: one row per independent part (a query, a cluster), one column per estimate.

    Skewness is that of the parts' own means, pooled by size, times that of their sizes: with parts of unlike size
    the cubes of the residuals are those of the largest part alone, whose sign says nothing of the others.
    """
    n, whole = len(totals), totals.sum()
    means, sizes = sums.sum(axis=0) / whole, totals / whole
    apart = sums / totals[:, None] - means
    squares = sizes**2 @ apart**2
    shape = (sizes**3).sum() / (sizes**2).sum() ** 1.5 if n else 0.0
    return Studentized(
        means,
        np.sqrt(squares * n / max(1, n - 1)),
        shape * _skews(sizes @ apart**3, sizes @ apart**2),
        np.full(len(means), max(1.0, n - 1.0)),
    )


def stratified(shares: Array, strata: list[Array]) -> Studentized:
    """The mean of the strata's means by their `shares`, which sum to 1; each stratum has at least two values.

    Degrees of freedom are Satterthwaite's (1946).
    """
    sizes = np.array([len(values) for values in strata], dtype=np.float64)
    means = np.array([values.mean() for values in strata])
    residuals = [values - mean for values, mean in zip(strata, means, strict=True)]
    squares = np.array([(own**2).sum() for own in residuals]) * (shares / sizes) ** 2
    cubes = np.array([(own**3).sum() for own in residuals]) * (shares / sizes) ** 3
    variances = squares * sizes / (sizes - 1)
    whole = variances.sum()
    parts = (variances**2 / (sizes - 1)).sum()
    return Studentized(
        np.array([shares @ means]),
        np.sqrt(np.array([whole])),
        _skews(np.array([cubes.sum()]), np.array([squares.sum()])),
        np.array([whole**2 / parts if parts > 0 else max(1.0, (sizes - 1).sum())]),
    )


def _skews(cubes: Array, squares: Array) -> Array:
    found: Array = np.where(squares > 0, cubes / np.where(squares > 0, squares, 1.0) ** 1.5, 0.0)
    return found


def scipy_special() -> Any:
    """scipy.special, or an error that says how to install it. It loads in a tenth of the time of scipy.stats and
    gives the same numbers.
    """
    try:
        from scipy import special
    except ImportError as error:
        raise MissingDependency("confidence intervals and tests need scipy", install("report")) from error
    return special


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
_ALPHA = 1 - LEVEL

Floats = Sequence[float]
Bounds = tuple[float, float]
"""The lowest and highest possible value."""
UNBOUNDED: Bounds = (-inf, inf)


def can_be_shares(ends: Bounds | None) -> bool:
    """Whether values that are all 0 or 1 are treated as proportions: only if no other value is possible. A count,
    a time or a cosine of 1 is not a success. None: the range is unknown, so the values decide.
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


def wilson(successes: int, n: int, alpha: float = _ALPHA) -> Interval:
    """Wilson's score interval of a proportion; `UNKNOWN` for n = 0."""
    if n == 0:
        return UNKNOWN
    share, z = successes / n, _normal_quantile(alpha)
    scale = 2 * (n + z**2)
    centre = (2 * n * share + z**2) / scale
    half = z / scale * sqrt(4 * n * share * (1 - share) + z**2)
    return Interval(0.0 if successes == 0 else centre - half, 1.0 if successes == n else centre + half)


def exact_share(successes: int, n: int) -> Interval:
    """95 % interval of a proportion that covers for every n (Clopper & Pearson 1934); `UNKNOWN` for n = 0."""
    if n == 0:
        return UNKNOWN
    inverse = scipy_special().betaincinv
    low = float(inverse(successes, n - successes + 1, _ALPHA / 2)) if successes else 0.0
    high = float(inverse(successes + 1, n - successes, 1 - _ALPHA / 2)) if successes < n else 1.0
    return Interval(low, high)


@lru_cache(maxsize=64)
def _normal_quantile(alpha: float) -> float:
    """1.96 at 95 %."""
    return round(NormalDist().inv_cdf(1 - alpha / 2), 15)


def mean_interval(
    values: Floats, *, proportion: bool = False, bounds: Bounds = UNBOUNDED, alpha: float = _ALPHA
) -> Interval:
    """Interval of a mean: Wilson's if `proportion` is set and every value is 0 or 1, otherwise the hull described
    above.
    """
    if proportion and _all_binary(values):
        return wilson(round(sum(values)), len(values), alpha)
    return _hull([Stratum(1.0, values)], bounds, alpha)


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
    return limits(ratio_of_sums(parts[:, :1], parts[:, 1]), len(parts), (0.0, 1.0))


def weighted_mean(strata: Sequence[Stratum]) -> float:
    """The mean of the strata's means by their weights; every stratum must have a value."""
    total = sum(stratum.weight for stratum in strata)
    return sum(stratum.weight / total * float(np.mean(stratum.values)) for stratum in strata)


def weighted_mean_interval(
    strata: Sequence[Stratum], *, proportion: bool = False, bounds: Bounds = UNBOUNDED, alpha: float = _ALPHA
) -> Interval:
    """Interval of a `weighted_mean`, see above; `UNKNOWN` if a stratum is too small."""
    if proportion and all(_all_binary(stratum.values) for stratum in strata):
        return _square_and_add(strata, alpha)
    return _hull(strata, bounds, alpha)


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
    special, tail, counts = scipy_special(), _TAILS[0], np.arange(n + 1)
    low = int(np.argmax(special.bdtr(counts, n, p) >= tail)) - 1
    return low, int(np.argmax(special.bdtrc(counts, n, p) <= tail))


def percentiles(means: Array) -> Interval:
    """The interval that contains `LEVEL` of these bootstrap means."""
    low, high = np.quantile(means, _TAILS)
    return Interval(float(low), float(high))


def _square_and_add(strata: Sequence[Stratum], alpha: float) -> Interval:
    total = sum(stratum.weight for stratum in strata)
    mean, below, above = 0.0, 0.0, 0.0
    for weight, values in strata:
        share, proportion = weight / total, float(np.mean(values))
        low, high = wilson(round(sum(values)), len(values), alpha)
        if low is None or high is None:
            return UNKNOWN
        mean += share * proportion
        below += (share * (proportion - low)) ** 2
        above += (share * (high - proportion)) ** 2
    return Interval(mean - sqrt(below), mean + sqrt(above))


def _hull(strata: Sequence[Stratum], bounds: Bounds, alpha: float) -> Interval:
    # Sorted, so that rounding does not depend on the order of the queries.
    ordered = [np.sort(np.asarray(stratum.values, np.float64)) for stratum in strata]
    n = sum(len(values) for values in ordered)
    if n < FEWEST or any(len(values) < 2 for values in ordered) or all(own[0] == own[-1] for own in ordered):
        return UNKNOWN
    weights = np.array([stratum.weight for stratum in strata], dtype=np.float64)
    return limits(stratified(weights / weights.sum(), ordered), n, bounds, alpha)


def limits(found: Studentized, n: int, bounds: Bounds, alpha: float = _ALPHA) -> Interval:
    """Of the first estimate, from `n` independent values, within `bounds`; wider below `ENOUGH` values."""
    low, high = found.intervals(alpha if n >= ENOUGH else (1 - WIDER) * (alpha / _ALPHA))
    return Interval(max(bounds[0], float(low[0])), min(bounds[1], float(high[0])))


def _all_binary(values: Floats) -> bool:
    return all(value in {0.0, 1.0} for value in values)
