"""Paired tests of single numbers, and their correction.

- McNemar's exact test (McNemar 1947), the binomial test of wins against losses (scipy);
- for all pairs of one metric: Holm's correction (Holm 1979), which limits the chance of any false difference among
  them to 5 %. scipy has none; that of statsmodels takes a tenth of a second, and a report needs it a hundred
  times.
- the interval of the difference of two shares over the same queries: Tango's (1998, Statistics in Medicine
  17:891-908).

Sign flips are in `harness.statistics.permutation_test`.

Tango's interval inverts the score test and works for few queries and without discordant ones. The score test is
not the exact one: where they disagree about 0, the limit is moved so that the interval excludes 0 exactly if p is
at most its level. If only the score test excludes 0, the limit becomes 0; if only the exact test does, it becomes
what Clopper & Pearson's (1934) limit of the share of wins implies for the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from harness.statistics.confidence_intervals import UNKNOWN, Interval, scipy_special

ALPHA = 0.05
_DECIMALS = 12
"""Numbers that differ only after these decimals are equal."""

Numbers = Sequence[float] | NDArray[np.float64]


def rounded(differences: Numbers) -> NDArray[np.float64]:
    """The differences without the noise of floating-point sums."""
    return np.round(np.asarray(differences, dtype=np.float64), _DECIMALS).astype(np.float64)


def mcnemar_p(wins: int, losses: int) -> float:
    """Two-sided exact p of McNemar's test, from the queries that only one system, or only the other, got right."""
    return min(1.0, 2 * float(scipy_special().bdtr(min(wins, losses), wins + losses, 0.5)))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values of one family after Holm's correction, in the same order."""
    n, found, least = len(p_values), [1.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(n), key=lambda at: p_values[at])):
        least = max(least, min(1.0, (n - rank) * p_values[place]))
        found[place] = least
    return found


def holm_levels(p_values: Sequence[float]) -> list[float]:
    """The level at which Holm's correction decided each p value: ALPHA over the number of hypotheses then left.

    A p value is at most its level exactly if it is rejected. Equal p values are decided together, at the strictest
    of their levels, so that their order does not matter.
    """
    adjusted, n = holm(p_values), len(p_values)
    n_rejected = sum(1 for p in adjusted if p <= ALPHA)
    last = ALPHA / max(1, n - n_rejected)
    return [
        ALPHA / (n - sum(1 for other in p_values if other < p)) if after <= ALPHA else last
        for p, after in zip(p_values, adjusted, strict=True)
    ]


_STEPS = 50
"""Halvings of an interval of length 1, beyond the precision that is printed."""
_SLACK = 1 + 1e-9


def share_difference_interval(wins: int, losses: int, n: int, alpha: float = ALPHA) -> Interval:
    """Interval of the difference of two shares over `n` queries: `wins` were right in the first only, `losses` in
    the second only; `UNKNOWN` for n = 0.
    """
    if not n:
        return UNKNOWN
    if wins < losses:
        low, high = share_difference_interval(losses, wins, n, alpha)
        return Interval(None if high is None else 0.0 - high, None if low is None else 0.0 - low)
    z = -float(scipy_special().ndtri(alpha / 2))
    low = _root(lambda at: _score(wins, losses, n, at) > z, -1.0, (wins - losses) / n)
    high = _root(lambda at: _score(wins, losses, n, at) >= -z, (wins - losses) / n, 1.0)
    if mcnemar_p(wins, losses) > alpha * _SLACK:
        low = min(low, 0.0)
    elif low <= 0:
        least = float(scipy_special().betaincinv(wins, losses + 1, alpha / 2))
        low = (2 * least - 1) * (wins + losses) / n
    if wins == losses:
        low = -high  # Exactly symmetric.
    return Interval(low, high)


def _root(is_below: Callable[[float], bool], low: float, high: float) -> float:
    """The point between `low` and `high` where `is_below` becomes false."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return (low + high) / 2


def _score(wins: int, losses: int, n: int, at: float) -> float:
    """Standard errors by which the observed difference exceeds `at`; falls as `at` rises."""
    gap = wins - losses - n * at
    b = (2 * n - wins + losses) * at - wins - losses
    lost = (sqrt(max(0.0, b * b + 8 * n * losses * at * (1 - at))) - b) / (4 * n)
    variance = n * (2 * lost + at * (1 - at))
    if variance <= 0:
        return 0.0 if abs(gap) < 1e-12 else float("inf") if gap > 0 else float("-inf")
    return gap / sqrt(variance)
