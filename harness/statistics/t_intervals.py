"""Means of independent parts with their standard errors, with and without a correction for skewness.

Student's t assumes symmetric values. Scores that are mostly 0, and times with a long tail, are not: with 30 values
its 95 % interval covers 87 %, as do percentile bootstraps. Hall's transformation (Hall 1992, JRSS B 54:221-228) of
the t statistic removes the skewness; for symmetric values with heavy tails it is the worse of the two. So both
must agree: the interval is the hull of the two, p the larger. This is a closed form; scipy's BCa and a studentized
bootstrap, which cover as well, need thousands of resamples and fail if a resample is constant. docs/STATISTICS.md
has the measured coverage.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.core.errors import MissingDependency, install

Array = NDArray[np.float64]
_FLAT = 1e-9
"""Skewness that counts as 0."""
_SLACK = 1e-9
"""Tolerance of a sum of sizes."""


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
            corrected = t * (1 + self.skews * t / 3 + (self.skews * t) ** 2 / 27) + self.skews / 6
        least = np.minimum(np.abs(t), np.abs(np.where(np.isfinite(t), corrected, t)))
        found: Array = 2 * _special().stdtr(self.degrees, -least)
        return found

    def intervals(self, alpha: float) -> tuple[Array, Array]:
        """Lower and upper limits: the hull of both kinds."""
        q = -_special().stdtrit(self.degrees, alpha / 2)
        near, far = self._untransformed(q), self._untransformed(-q)
        low = self.means - self.errors * np.maximum(q, near)
        high = self.means - self.errors * np.minimum(-q, far)
        return low, high

    def _untransformed(self, corrected: Array) -> Array:
        """The t that has this transformed value."""
        skews = np.where(np.abs(self.skews) < _FLAT, 1.0, self.skews)
        turned = 3 / skews * (np.cbrt(1 + skews * (corrected - skews / 6)) - 1)
        found: Array = np.where(np.abs(self.skews) < _FLAT, corrected, turned)
        return found


def n_even(totals: Array) -> int:
    """Number of equal parts whose mean would have the same variance (Kish 1965)."""
    return int(totals.sum() ** 2 / (totals @ totals) + _SLACK)


def ratio_of_sums(sums: Array, totals: Array) -> Studentized:
    """`sums` over `totals`: one row per independent part (a query, a cluster), one column per estimate."""
    n, whole = len(totals), totals.sum()
    means = sums.sum(axis=0) / whole
    residuals = (sums - totals[:, None] * means) / whole
    squares = (residuals**2).sum(axis=0)
    return Studentized(
        means,
        np.sqrt(squares * n / max(1, n - 1)),
        _skews((residuals**3).sum(axis=0), squares),
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


def _special() -> Any:
    try:
        from scipy import special
    except ImportError as error:
        raise MissingDependency("confidence intervals need scipy", install("report")) from error
    return special
