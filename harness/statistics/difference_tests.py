"""Paired tests of single numbers, and their correction.

- McNemar's exact test (McNemar 1947), the binomial test of wins against losses (scipy);
- for all pairs of one metric: Holm's correction (Holm 1979), which limits the chance of any false difference among
  them to 5 %. scipy has none; that of statsmodels takes a tenth of a second, and a report needs it a hundred
  times.

Sign flips are in `harness.statistics.permutation_test`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.core.errors import MissingDependency, install

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


def scipy_stats() -> Any:
    """scipy.stats, or an error that says how to install it. It takes over a second to load, so quantiles and tails
    use `scipy_special`, which gives the same numbers.
    """
    try:
        from scipy import stats
    except ImportError as error:
        raise _missing("scipy") from error
    return stats


def scipy_special() -> Any:
    """scipy.special, in the same way."""
    try:
        from scipy import special
    except ImportError as error:
        raise _missing("scipy") from error
    return special


def _missing(package: str) -> MissingDependency:
    return MissingDependency(f"comparing runs needs {package}", install("report"))
