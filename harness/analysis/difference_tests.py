"""Is a difference between two systems more than chance? Paired tests over queries.

- every value 0 or 1: McNemar's exact test (McNemar 1947), the binomial test of wins against losses (statsmodels);
- graded values: Wilcoxon's signed-rank test (Wilcoxon 1945), two-sided. Queries on which both are equal are left
  out (not Pratt's ranks), as McNemar's test leaves them out: they say nothing about which system is better. Up to
  100 differences p is exact, given their sizes. scipy's is so only where no two are of one size, which scores such
  as recall hardly ever are, and its approximation is off where differences are few; beyond 100 it is used;
- all pairs of one measure together: Holm's correction (Holm 1979), which holds the chance of any false difference
  among them at 5 % (statsmodels).

No query, or none on which the two differ: p = 1.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import MissingDependency, install

ALPHA = 0.05
POWER = 0.80
MOST_EXACT = 100
_DECIMALS = 12
"""What differs in the last bits only is equal, and two differences that do are of one size."""

Numbers = Sequence[float] | NDArray[np.float64]


def rounded(differences: Numbers) -> NDArray[np.float64]:
    """The differences without the noise of floating-point sums."""
    return np.round(np.asarray(differences, dtype=np.float64), _DECIMALS).astype(np.float64)


def mcnemar_p(wins: int, losses: int) -> float:
    """Two-sided exact p of McNemar's test: so many queries that only one system, or only the other, got right."""
    if not wins + losses:
        return 1.0
    tables = _statsmodels("contingency_tables")
    return float(tables.mcnemar([[0, wins], [losses, 0]], exact=True).pvalue)


def wilcoxon_p(differences: Numbers) -> float:
    """Two-sided p of Wilcoxon's signed-rank test, as described above."""
    different = _without_zeros(differences)
    if not different.size:
        return 1.0
    if different.size <= MOST_EXACT:
        return _exact_p(_signed_ranks(different))
    return float(_scipy_stats().wilcoxon(different, correction=True, method="asymptotic").pvalue)


def leaning(differences: Numbers) -> int:
    """1 where Wilcoxon's positive ranks outweigh the negative ones, -1 where they are outweighed, 0 in balance.

    With a long tail that need not be the sign of the mean: a system can be quicker on most queries and slower on
    average.
    """
    return int(np.sign(_signed_ranks(_without_zeros(differences)).sum()))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values of one family after Holm's correction, in the same order."""
    if not p_values:
        return []
    multitest = _statsmodels("multitest")
    return [float(p) for p in multitest.multipletests(list(p_values), method="holm")[1]]


def detectable_difference(differences: Numbers) -> float | None:
    """The smallest true mean difference that a paired t-test over so many queries finds with 80 % power at 5 %,
    two-sided and before Holm, if differences spread as these do.

    None for fewer than two queries, and where the differences do not spread: then nothing is known of it.
    """
    values = rounded(differences)
    if not values.size or values.min() == values.max():
        return None
    return _detectable_effect(values.size) * float(np.std(values, ddof=1))


@cache
def _detectable_effect(n: int) -> float:
    """In standard deviations of the differences."""
    return float(_statsmodels("power").TTestPower().solve_power(nobs=n, alpha=ALPHA, power=POWER))


def _without_zeros(differences: Numbers) -> NDArray[np.float64]:
    values = rounded(differences)
    different: NDArray[np.float64] = values[values != 0]
    return different


def _signed_ranks(different: NDArray[np.float64]) -> NDArray[np.int64]:
    """The rank of each difference's size with its sign, doubled, so that the mean rank of a tie is whole too."""
    ranks = np.rint(2 * _scipy_stats().rankdata(np.abs(different)))
    signed: NDArray[np.int64] = (np.sign(different) * ranks).astype(np.int64)
    return signed


def _exact_p(signed_ranks: NDArray[np.int64]) -> float:
    """Twice the smaller tail of the sum of positive ranks, were each sign a fair coin."""
    ranks = np.abs(signed_ranks)
    chances = np.zeros(int(ranks.sum()) + 1)
    chances[0] = 1.0
    for rank in ranks:
        # Every sum so far, once without this rank and once with it.
        halves = chances / 2
        chances = halves.copy()
        chances[rank:] += halves[:-rank]
    observed = int(ranks[signed_ranks > 0].sum())
    tail = min(observed, len(chances) - 1 - observed)
    return min(1.0, 2 * float(chances[: tail + 1].sum()))


def _scipy_stats() -> Any:
    try:
        from scipy import stats
    except ImportError as error:
        raise _missing("scipy") from error
    return stats


def _statsmodels(module: str) -> Any:
    try:
        from statsmodels.stats import contingency_tables, multitest, power
    except ImportError as error:
        raise _missing("statsmodels") from error
    return {"contingency_tables": contingency_tables, "multitest": multitest, "power": power}[module]


def _missing(package: str) -> MissingDependency:
    return MissingDependency(f"comparing runs needs {package}", install("report"))
