"""Difference of two shares over the same queries, from the queries that only one of the two got right.

p is McNemar's (1947), exact; the interval of the difference is Tango's (1998, Statistics in Medicine 17:891-908),
which inverts the score test and works for few queries and without discordant ones. The score test is not the exact
one: where they disagree about 0, the limit is moved so that the interval excludes 0 exactly if p is at most its
level. If only the score test excludes 0, the limit becomes 0; if only the exact test does, it becomes what Clopper
& Pearson's (1934) limit of the share of wins implies for the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

from harness.statistics.confidence_intervals import UNKNOWN, Interval
from harness.statistics.difference_tests import ALPHA, mcnemar_p, scipy_special

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
