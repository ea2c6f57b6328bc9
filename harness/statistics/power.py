"""Power of the tests that a comparison makes: which differences a number of queries can detect, and how many
queries are needed.

- shares: exact power of McNemar's test. Of n queries, D ~ Bin(n, discordance) are right in one system only, and of
  those Bin(D, (1 + difference / discordance) / 2) in the better one;
- graded values: the noncentral t distribution with the standard deviation of the differences.

The level is 0.05 over the number of pairs, Holm's first and strictest step, so with more pairs the actual power is
at least as stated. Power is for finding the difference in the right direction. A difference larger than the
discordance raises the discordance: a system cannot win on more queries than differ.

The scatter of differences is estimated from few queries that differ, so it is uncertain: with the observed
scatter, half of all plans would be too small, and one difference among 50 queries is almost no information. So an
upper limit that holds nine times out of ten is used (Browne 1995, Statistics in Medicine 14:1933-1940, on small
pilots).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from harness.statistics.confidence_intervals import ratio_of_sums, scipy_special
from harness.statistics.difference_tests import ALPHA
from harness.statistics.permutation_test import hidden_variance

POWER = 0.80
SURE = 0.90
"""Minimum probability that a number of queries planned from observed differences has that power."""
DISCORDANCE = 0.25
"""Assumed share of queries that two systems answer differently, if nothing is known of them yet."""
STEPS = (0.05, 0.10, 0.20)
"""Differences of shares for which a plan says how many queries are needed."""
MOST_QUERIES = 50_000
_FARTHEST = 25.0
"""Standard errors at which power is 1; from 35 on scipy's noncentral t may be NaN."""


@dataclass(frozen=True)
class DifferenceSpread:
    """Upper limits (nine times out of ten) of the scatter of two systems' differences over queries."""

    sd: float
    """Standard deviation of a query; with weights, of an equally weighted query with the same variance of the
    mean."""
    hidden: float = 0.0
    """With weights: the variance added for differences that few queries of a type may hide, times the square of
    their number. It shrinks with that square: few queries show less than `sd` suggests.
    """
    discordance: float | None = None
    """For shares compared by McNemar's test: the share of queries that the two answer differently."""

    def detectable(self, n: int, pairs: int, highest: float | None) -> float | None:
        """The smallest true difference that `n` queries detect with 80 % power after Holm over `pairs`; None: none
        up to `highest`, the largest possible one.
        """
        if self.discordance is not None:
            return detectable(n, pairs, self.discordance, 1.0)
        return graded_detectable(n, pairs, self._sd_of(n), highest)

    def needed(self, difference: float, pairs: int) -> int | None:
        """Queries that detect a true difference of that size with 80 % power after Holm; None: too many."""
        if self.discordance is not None:
            return queries_needed(difference, pairs, self.discordance)
        alpha = ALPHA / max(1, pairs)
        return _fewest(lambda n: graded_power(n, difference, self._sd_of(n), alpha))

    def _sd_of(self, n: int) -> float:
        """The standard deviation that the test of `n` queries uses."""
        return sqrt(self.sd**2 + self.hidden / n)


def spread_of(
    differences: NDArray[np.float64],
    weights: NDArray[np.float64] | None = None,
    types: NDArray[np.int64] | None = None,
    *,
    binary: bool = False,
    span: float | None = None,
) -> DifferenceSpread | None:
    """The spread of differences of queries; `types` as in `hidden_variance`; `binary`: differences of two values
    that are 0 or 1; `span`: the largest possible one. None if they are all equal, or fewer than two.
    """
    n = len(differences)
    if n < 2 or np.ptp(differences) == 0:
        return None
    share = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    residuals = n * share * (differences - share @ differences)
    sd = _most_spread(residuals)
    if span is not None:
        sd = min(sd, span * sqrt(n * float(share @ share)))
    hidden = 0.0 if weights is None else n**2 * float(hidden_variance(differences[:, None], weights, types)[0])
    discordance = most_discordant(int(np.sum(differences != 0)), n) if binary else None
    return DifferenceSpread(sd, hidden, discordance)


def most_discordant(different: int, n: int) -> float:
    """Upper limit of the share of queries on which two systems differ, if they did on `different` of `n` (Clopper
    & Pearson 1934, one-sided).
    """
    return 1.0 if different >= n else float(scipy_special().betaincinv(different + 1, n - different, SURE))


def _most_spread(residuals: NDArray[np.float64]) -> float:
    """Upper limit of the standard deviation of residuals that are not all 0. It is the larger of two limits: for
    normal values, and for a mean of squares, which allows for few large values among many zeros.
    """
    n, squares = len(residuals), residuals**2
    variance = float(squares.sum()) / (n - 1)
    normal = variance * (n - 1) / float(scipy_special().chdtri(n - 1, SURE))
    _, high = ratio_of_sums(squares[:, None], np.ones(n)).intervals(2 * (1 - SURE))
    return sqrt(max(normal, float(high[0]) * n / (n - 1)))


def can_show_anything(n: int, pairs: int) -> bool:
    """Whether any outcome of `n` queries can be significant after Holm over `pairs`. The smallest two-sided p of a
    sign test is that of all `n` in favour of one system.
    """
    return min(1.0, 2.0 ** (1 - n)) <= ALPHA / max(1, pairs)


def share_power(n: int, difference: float, discordance: float, alpha: float) -> float:
    """Power of McNemar's exact test at `alpha`, for a true difference of shares of at least 0."""
    special = scipy_special()
    psi = min(1.0, max(discordance, difference))
    if n < 1 or psi <= 0:
        return 0.0
    middle, reach = n * psi, 7 * sqrt(n * psi * (1 - psi)) + 20
    different = np.arange(max(1, int(middle - reach)), min(n, int(middle + reach)) + 1)
    logs = special.gammaln(n + 1) - special.gammaln(different + 1) - special.gammaln(n - different + 1)
    chances = np.exp(logs + special.xlogy(different, psi) + special.xlog1py(n - different, -psi))
    fewest = _fewest_wins(alpha, 1 << n.bit_length())[different]
    won = special.bdtrc(fewest - 1.0, different, min(1.0, (1 + difference / psi) / 2))
    return float(chances @ np.where(fewest > different, 0.0, won))


@lru_cache(maxsize=64)
def _fewest_wins(alpha: float, n: int) -> NDArray[np.int64]:
    """For 0 to `n` discordant queries: number of wins of one system for significance."""
    special, different = scipy_special(), np.arange(1, n + 1)
    most = np.ceil(special.bdtrik(1 - alpha / 2, different, 0.5))
    # The inverse is rounded: one fewer may be enough.
    fewer = np.maximum(most - 1, 0)
    most = np.where(special.bdtrc(fewer, different, 0.5) <= alpha / 2, fewer, most)
    return np.concatenate(([1], most.astype(np.int64) + 1))


def graded_power(n: int, difference: float, sd: float, alpha: float) -> float:
    """Power of a paired t-test at `alpha` for differences with deviation `sd`; 0 for fewer than two queries."""
    if n < 2 or not can_show_anything(n, ceil(ALPHA / alpha - 1e-9)):
        return 0.0
    if sd <= 0:
        return float(difference > 0)
    special = scipy_special()
    beyond = -special.stdtrit(n - 1, alpha / 2)
    return float(1 - special.nctdtr(n - 1, min(sqrt(n) * difference / sd, _FARTHEST), beyond))


@lru_cache(maxsize=4096)
def detectable(n: int, pairs: int = 1, discordance: float = DISCORDANCE, highest: float = 1.0) -> float | None:
    """The smallest true difference of shares found by `n` queries with 80 % power; None: none up to `highest`."""
    alpha = ALPHA / max(1, pairs)
    return _smallest_detectable(lambda difference: share_power(n, difference, discordance, alpha), highest)


def graded_detectable(n: int, pairs: int, sd: float, highest: float | None = None) -> float | None:
    """The same for graded values; `highest` None: differences are unlimited."""
    alpha = ALPHA / max(1, pairs)
    top = 1e3 * sd if highest is None else highest
    return _smallest_detectable(lambda difference: graded_power(n, difference, sd, alpha), top)


@lru_cache(maxsize=4096)
def queries_needed(difference: float, pairs: int = 1, discordance: float = DISCORDANCE) -> int | None:
    """Queries that detect a true difference of shares with 80 % power; None: more than `MOST_QUERIES`.

    More queries have that power too, except for the sawtooth pattern of an exact test.
    """
    alpha = ALPHA / max(1, pairs)
    return _fewest(lambda n: share_power(n, difference, discordance, alpha))


def rounded_up(queries: int) -> int:
    """Round up to two digits, and to tens: a required number of queries is not known more precisely."""
    step: int = 10 ** max(1, len(str(queries)) - 2)
    return -(-queries // step) * step


def _smallest_detectable(power: Callable[[float], float], highest: float) -> float | None:
    if highest <= 0 or power(highest) < POWER:
        return None
    low, high = 0.0, highest
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high


def _fewest(power: Callable[[int], float]) -> int | None:
    low, high = 0, 1
    while power(high) < POWER:
        if high == MOST_QUERIES:
            return None
        low, high = high, min(2 * high, MOST_QUERIES)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high
