"""What so many queries can show, and how many it takes: power of the tests that a comparison makes.

- shares: exact power of McNemar's test. Of n queries, D ~ Bin(n, discordance) are right in one system alone,
  and of those Bin(D, (1 + difference / discordance) / 2) in the better one;
- graded values: the noncentral t distribution with the standard deviation of the differences.

Under the correction in force: the level is 0.05 over the number of pairs, Holm's first and strictest step, so that
with more pairs the power is at least what is said. Power is that of finding the difference the right way round. A
difference that is larger than the discordance raises it: a system cannot be ahead on more queries than they
differ.

How two runs scatter is known from the queries at hand, and badly from the few that differ: planned with what was
seen half of all plans are too small, and one difference among 50 queries says next to nothing. So a spread is the
upper limit that holds nine times of ten (Browne 1995, Statistics in Medicine 14:1933-1940, on small pilots).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from harness.statistics.difference_tests import ALPHA, scipy_special
from harness.statistics.permutation_test import hidden_variance
from harness.statistics.t_intervals import ratio_of_sums

POWER = 0.80
SURE = 0.90
"""How often what runs were seen to differ leads to a number of queries that has that power, at least."""
DISCORDANCE = 0.25
"""Assumed share of queries that two systems answer differently, if nothing is known of them yet."""
STEPS = (0.05, 0.10, 0.20)
"""Differences of shares for which a plan says how many queries are needed."""
MOST_QUERIES = 50_000
_FARTHEST = 25.0
"""Standard errors at which power is 1; from 35 on scipy's noncentral t may be no number."""


@dataclass(frozen=True)
class DifferenceSpread:
    """How the differences of two systems scatter over queries, at most: limits that hold nine times of ten."""

    sd: float
    """Standard deviation of a query; with weights, of an equally weighted query with the same variance of the
    mean."""
    hidden: float = 0.0
    """With weights: the variance added for what few queries of a type may hide, times the square of their number.
    It shrinks with that square: few queries show less than `sd` suggests."""
    discordance: float | None = None
    """Of shares that McNemar's test compares: the share of queries that the two answer differently."""

    def detectable(self, n: int, pairs: int, highest: float | None) -> float | None:
        """The smallest true difference that `n` queries find with 80 % power after Holm over so many pairs; None:
        none up to `highest`, the largest that can be.
        """
        if self.discordance is not None:
            return detectable(n, pairs, self.discordance, 1.0)
        return graded_detectable(n, pairs, self._sd_of(n), highest)

    def needed(self, difference: float, pairs: int) -> int | None:
        """Queries that find a true difference of that size with 80 % power after Holm; None: too many."""
        if self.discordance is not None:
            return queries_needed(difference, pairs, self.discordance)
        alpha = ALPHA / max(1, pairs)
        return _fewest(lambda n: graded_power(n, difference, self._sd_of(n), alpha))

    def _sd_of(self, n: int) -> float:
        """The standard deviation that the test of `n` queries goes by."""
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
    """The largest share of queries on which two systems may differ that did so on `different` of `n` (Clopper &
    Pearson 1934, one-sided).
    """
    return 1.0 if different >= n else float(scipy_special().betaincinv(different + 1, n - different, SURE))


def _most_spread(residuals: NDArray[np.float64]) -> float:
    """The largest standard deviation behind residuals that are not all 0: the larger limit of two, that of normal
    values and that of a mean of squares, which knows of few large ones among many that are 0.
    """
    n, squares = len(residuals), residuals**2
    variance = float(squares.sum()) / (n - 1)
    normal = variance * (n - 1) / float(scipy_special().chdtri(n - 1, SURE))
    _, high = ratio_of_sums(squares[:, None], np.ones(n)).intervals(2 * (1 - SURE))
    return sqrt(max(normal, float(high[0]) * n / (n - 1)))


def smallest_p(n: int) -> float:
    """The two-sided p of `n` queries that all speak for one system: no test of signs gives a smaller one."""
    return float(min(1.0, 2.0 ** (1 - n)))


def can_show_anything(n: int, pairs: int) -> bool:
    """Whether any outcome of `n` queries is more than chance after Holm over so many pairs."""
    return smallest_p(n) <= ALPHA / max(1, pairs)


def share_power(n: int, difference: float, discordance: float, alpha: float) -> float:
    """Of McNemar's exact test at `alpha`, for a true difference of shares of at least 0."""
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
    """For 0 to `n` discordant queries: how many one of the two systems must win to be significant."""
    special, different = scipy_special(), np.arange(1, n + 1)
    most = np.ceil(special.bdtrik(1 - alpha / 2, different, 0.5))
    # The inverse is rounded: one less may do as well.
    fewer = np.maximum(most - 1, 0)
    most = np.where(special.bdtrc(fewer, different, 0.5) <= alpha / 2, fewer, most)
    return np.concatenate(([1], most.astype(np.int64) + 1))


def graded_power(n: int, difference: float, sd: float, alpha: float) -> float:
    """Of a paired t-test at `alpha`, where differences spread by `sd`; 0 for fewer than two queries."""
    if n < 2 or not can_show_anything(n, ceil(ALPHA / alpha - 1e-9)):
        return 0.0
    if sd <= 0:
        return float(difference > 0)
    special = scipy_special()
    beyond = -special.stdtrit(n - 1, alpha / 2)
    return float(1 - special.nctdtr(n - 1, min(sqrt(n) * difference / sd, _FARTHEST), beyond))


@lru_cache(maxsize=4096)
def detectable(n: int, pairs: int = 1, discordance: float = DISCORDANCE, highest: float = 1.0) -> float | None:
    """The smallest true difference of shares that `n` queries show with 80 % power; None: none up to `highest`."""
    alpha = ALPHA / max(1, pairs)
    return _least(lambda difference: share_power(n, difference, discordance, alpha), highest)


def graded_detectable(n: int, pairs: int, sd: float, highest: float | None = None) -> float | None:
    """The same of graded values; `highest` None: no difference is too large."""
    alpha = ALPHA / max(1, pairs)
    top = 1e3 * sd if highest is None else highest
    return _least(lambda difference: graded_power(n, difference, sd, alpha), top)


@lru_cache(maxsize=4096)
def queries_needed(difference: float, pairs: int = 1, discordance: float = DISCORDANCE) -> int | None:
    """Queries that show a true difference of shares with 80 % power; None: more than `MOST_QUERIES`.

    From there on more queries have it too, but for the saw teeth of a test that counts.
    """
    alpha = ALPHA / max(1, pairs)
    return _fewest(lambda n: share_power(n, difference, discordance, alpha))


def rounded_up(queries: int) -> int:
    """Upwards to two digits: no number of queries that are needed is known more exactly."""
    step: int = 10 ** max(0, len(str(queries)) - 2)
    return -(-queries // step) * step


def _least(power: Callable[[float], float], highest: float) -> float | None:
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
