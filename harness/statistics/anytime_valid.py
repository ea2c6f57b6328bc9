"""Evidence that may be tested again while a sample grows.

A p value is valid for one test. Of wins against losses, the likelihood under a mixture of all shares of wins, by
Jeffreys' Beta(1/2, 1/2), divided by that under a fair coin is an e-value: without a difference, it exceeds 1 / a
at any time with probability at most a (Ville 1939; Robbins 1970; Howard et al. 2021). So its reciprocal is
a p value that may be tested any number of times.

The same for values x between -1 and 1, against any claim that their mean is at most m: a bettor who stakes the
share s / (1 + m) of his capital on each value's excess over m ends with the product of 1 + s (x - m) / (1 + m). If
the mean were that small, his expected gain would be at most 0 for any s; so the capital of a mixture of bettors is
an e-value against the claim (Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by
betting"; Orabona and Jun 2023 mix by the same Beta(1/2, 1/2), as universal portfolios do). It decreases with m, so
that the claims not refuted form an interval. For values -1, 0 and 1 and m = 0, both sides together are the e-value
above.
"""

from __future__ import annotations

from math import cos, exp, lgamma, log, pi

import numpy as np
from numpy.typing import NDArray

from harness.statistics.power import MOST_QUERIES

_Array = NDArray[np.float64]
_BETTORS = 128
STAKES: _Array = np.array([cos((place + 0.5) * pi / (2 * _BETTORS)) for place in range(_BETTORS)])
"""The stakes s: shares of wins (1 + s) / 2 above a half, distributed as Beta(1/2, 1/2) with equal weights. Any
such list is valid; this many are as good as the integral."""
_HALVINGS = 24
"""Gives limits within a hundred-thousandth of a point."""


def anytime_p(wins: int, losses: int) -> float:
    """Two-sided p, valid at any time: an upper bound of the chance that wins and losses, if equally likely, would
    ever have been as uneven. They count the queries that only one of two systems got right.
    """
    return min(1.0, exp(-log_evidence(wins, losses)))


def log_evidence(wins: int, losses: int) -> float:
    """The natural logarithm of the e-value against a fair coin; 0 without a query on which the two differ."""
    n = wins + losses
    mixed = lgamma(wins + 0.5) + lgamma(losses + 0.5) - lgamma(n + 1.0) - 2 * lgamma(0.5)
    return mixed + n * log(2.0)


def log_gains(value: float | _Array, claimed: float | _Array) -> _Array:
    """The change of the logarithm of each bettor's capital by a value between -1 and 1, against the claim that the
    mean is at most `claimed` (above -1); the bettors are the last axis.
    """
    excess = (np.asarray(value) - claimed) / (1 + np.asarray(claimed))
    gains: _Array = np.log1p(STAKES * excess[..., None])
    return gains


def log_capital(gained: _Array) -> _Array:
    """The natural logarithm of the e-value, from the gains of each bettor so far (last axis)."""
    most = gained.max(axis=-1, keepdims=True)
    capital: _Array = np.log(np.exp(gained - most).mean(axis=-1)) + most[..., 0]
    return capital


def queries_until(values: _Array, chances: _Array, claimed: float, alpha: float) -> int | None:
    """Approximate number of values that refute the claim that their mean is at most `claimed`, if each value
    between -1 and 1 occurs with its probability. None: more than the limit.
    """
    gains, needed = chances @ log_gains(values, claimed), -log(alpha)
    low, high = 0, MOST_QUERIES
    if log_capital(high * gains) < needed:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if log_capital(middle * gains) >= needed else (middle, high)
    return high


def anytime_interval(values: _Array, alpha: float) -> tuple[float, float]:
    """Interval of the mean of values between -1 and 1. The probability that it ever excludes the true mean, while
    values arrive one by one, is at most `alpha`.
    """
    return _lower_limit(values, alpha / 2), -_lower_limit(-values, alpha / 2)


def _lower_limit(values: _Array, alpha: float) -> float:
    """The largest mean that is refuted from below."""
    found, counts = np.unique(np.clip(values, -1, 1), return_counts=True)
    low, high = -1.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if log_capital(counts @ log_gains(found, middle)) >= -log(alpha):
            low = middle
        else:
            high = middle
    return low
