"""All pairs of one metric: their tests with Holm's correction, and matching intervals.

Unweighted differences of shares: McNemar's exact test with Tango's interval (`binary`). All others: sign flips
with their inversion (`flips`).

The interval of a pair has the level at which Holm's correction decided it: 0.05 over the number of pairs that were
left then, and for all pairs that are not significant 0.05 over their number. So each holds the true difference at
least 95 times of 100, and it excludes 0 exactly if the pair is significant. (Simultaneous coverage of all
intervals is not promised at 95 %, except for pairs without a difference: see docs/STATISTICS.md.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.statistics.confidence_intervals import UNKNOWN, Array, Interval, n_even
from harness.statistics.difference_tests import ALPHA, holm, holm_levels, mcnemar_p, share_difference_interval
from harness.statistics.permutation_test import flips_of


class Tested(NamedTuple):
    p: float
    p_holm: float
    interval: Interval
    level: float
    """Level of the interval: at least 0.95."""

    @property
    def is_significant(self) -> bool:
        """Whether the pair is significantly different after Holm's correction."""
        return self.p_holm <= ALPHA


@dataclass(frozen=True)
class Differences:
    """Run `a` minus run `b` on the same queries: one row per query, one column per pair."""

    values: Array
    weights: Array | None = None
    """One per query; None: all equal."""
    types: NDArray[np.int64] | None = None
    """Types of the queries, which determine weights; None: unknown."""
    clusters: NDArray[np.int64] | None = None
    """Clusters of the queries: those with the same number are dependent. None: all are independent."""
    binary: bool = False
    """Every value of every run is 0 or 1."""
    span: float | None = None
    """The largest possible difference; None: unknown."""

    @property
    def by_wins(self) -> bool:
        """Whether McNemar's test applies."""
        return self.binary and self.weights is None and self.clusters is None

    @property
    def n_even(self) -> int:
        """Number of equally weighted units whose mean would have the same variance."""
        totals = np.ones(len(self.values)) if self.weights is None else self.weights
        if self.clusters is not None:
            totals = np.bincount(self.clusters, totals).astype(np.float64)
        return n_even(totals)


def tested(
    differences: Differences, ends: tuple[Array, Array] | None = None, *, corrected: bool = True
) -> list[Tested]:
    """Every pair of a family, or each alone if not `corrected`. `ends`: the smallest and largest possible
    differences if values are missing. A difference must then be significant for both, and the interval spans both.
    """
    if not differences.values.shape[1]:
        return []
    p_values, interval = _found(differences) if ends is None else _found_between(differences, ends)
    after = holm(p_values) if corrected else p_values
    levels = holm_levels(p_values) if corrected else [ALPHA] * len(p_values)
    return [
        Tested(p, p_holm, interval(place, alpha), 1 - alpha)
        for place, (p, p_holm, alpha) in enumerate(zip(p_values, after, levels, strict=True))
    ]


def intervals_at(differences: Differences, alpha: float) -> list[Interval]:
    """The interval of each column, independent of the others."""
    interval = _found(differences)[1]
    return [interval(place, alpha) for place in range(differences.values.shape[1])]


_Found = tuple[list[float], Callable[[int, float], Interval]]


def _found(differences: Differences) -> _Found:
    return _by_wins(differences.values) if differences.by_wins else _by_flips(differences)


def _found_between(differences: Differences, ends: tuple[Array, Array]) -> _Found:
    """The p value of the end that is nearer to no difference; 1 if the ends are on both sides of it."""
    least, most = (_found(replace(differences, values=values)) for values in ends)
    weights = np.ones(len(differences.values)) if differences.weights is None else differences.weights
    lows, highs = (np.average(values, axis=0, weights=weights) for values in ends)
    p_values = [
        least[0][at] if low > 0 else most[0][at] if high < 0 else 1.0
        for at, (low, high) in enumerate(zip(lows, highs, strict=True))
    ]
    return p_values, lambda at, alpha: Interval(least[1](at, alpha).low, most[1](at, alpha).high)


def _by_wins(values: Array) -> _Found:
    wins, losses = (np.sum(values > 0, axis=0), np.sum(values < 0, axis=0))
    counts = [(int(won), int(lost)) for won, lost in zip(wins, losses, strict=True)]
    p_values = [mcnemar_p(*count) for count in counts]
    return p_values, lambda place, alpha: share_difference_interval(*counts[place], len(values), alpha)


def _by_flips(differences: Differences) -> _Found:
    flipped = flips_of(differences.values, differences.weights, differences.clusters, differences.types)
    flat = np.ptp(differences.values, axis=0) == 0

    def interval(place: int, alpha: float) -> Interval:
        if not flat[place]:
            return flipped.interval(place, alpha)
        return UNKNOWN if differences.values[0, place] else _never_differing(differences, alpha)

    return flipped.p_values, interval


def _never_differing(differences: Differences, alpha: float) -> Interval:
    """Interval of two runs that are equal on every query. On others they may differ by the span, on at most the
    share of queries that this number of equal ones allows. Sign flips cannot show that.
    """
    low, high = share_difference_interval(0, 0, differences.n_even, alpha)
    if differences.span is None or low is None or high is None:
        return UNKNOWN
    return Interval(low * differences.span, high * differences.span)
