"""Tests of mean differences by random sign flips, and intervals by inversion of the test.

Without a difference, each query's difference could as well have the other sign. p is twice the smaller tail of the
(weighted) mean difference over flips of these signs (Fisher 1935; Edgington & Onghena 2007): over all flips for
few units, else over a seeded sample that includes the observed one, which keeps the level exact (Phipson & Smyth
2010; flips come with their opposites, Hemerik & Goeman 2018). A unit is a query, or a cluster of queries that flip
together.

The interval is the set of differences that this test does not reject. Flipping the subset F of `d - theta` gives a
mean at least as large as the observed one exactly if the mean of `d` over F is at most theta, so its limits are
order statistics of subset means (Hartigan 1969), and it excludes 0 exactly if p is at most its level. With too few
units for a level (fewer than 6 for 95 %) there is no limit.

Flips assume that differences are symmetric around the true one. If they are skewed, their means are too, and
flips alone report a false difference in up to 11 % of cases (30 queries, lognormal). So the test of
`confidence_intervals` has to agree: p is the larger of the two, the interval the hull of both.

With weights, few queries may represent many, and may not show how the systems differ on their type: equal results
on 2 queries that represent a third of the data set made one run "better" in up to 80 % of cases. So for each type
the standard error includes half a difference more in each direction (as Agresti & Min 2005 for shares), as
large as the observed ones.

scipy's `permutation_test` flips one sample at a time, without weights, clusters or an interval; here all pairs of
a comparison get the same flips in one product of matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.statistics.confidence_intervals import Array, Interval, Studentized, ratio_of_sums
from harness.statistics.difference_tests import ALPHA

MOST_EXACT = 13
"""Number of units up to which every flip is tested."""
_FLIPS = 10_000
_BLOCK = 1 << 18
"""Entries of a block of flips: 2 MB, which fits the cache of a core."""
_SEED = 0
_DIGITS = 9
"""Decimals to which weights of one type are equal."""
_SLACK = 1e-9
"""Tolerance for the product of a level and a whole number."""


@dataclass(frozen=True)
class Flipped:
    """Mean differences over random subsets of the units, one column per comparison."""

    means: Array
    """Mean of `d` over each non-empty subset."""
    n_flips: int
    """Including the empty subsets."""
    studentized: Studentized
    """The same differences with their standard errors."""

    @property
    def p_values(self) -> list[float]:
        """Two-sided p of no difference."""
        none = self.n_flips - len(self.means)
        tails = none + np.minimum((self.means <= 0).sum(axis=0), (self.means >= 0).sum(axis=0))
        flipped = np.minimum(1.0, 2 * tails / self.n_flips)
        return [float(p) for p in np.maximum(flipped, self.studentized.p_values())]

    def interval(self, column: int, alpha: float = ALPHA) -> Interval:
        """The differences that are not rejected at `alpha`, two-sided; None for a limit that does not exist."""
        none = self.n_flips - len(self.means)
        place = int(alpha * self.n_flips / 2 + _SLACK) - none
        if place < 0:
            return Interval(None, None)
        last = len(self.means) - 1 - place
        found = np.partition(self.means[:, column], (place, last))
        low, high = self.studentized.intervals(alpha)
        return Interval(float(min(found[place], low[column])) + 0.0, float(max(found[last], high[column])) + 0.0)


def flips_of(
    differences: Array,
    weights: Array | None = None,
    clusters: NDArray[np.int64] | None = None,
    types: NDArray[np.int64] | None = None,
) -> Flipped:
    """The test of each column of `differences` (a row per query), over the same flips; `types` as in
    `hidden_variance`.

    The result does not depend on the order of the columns, and changes sign with them.
    """
    weighed = np.ones(len(differences)) if weights is None else weights
    kept = weighed > 0
    sums, totals = differences[kept] * weighed[kept, None], weighed[kept]
    hidden = np.zeros(sums.shape[1])
    if weights is not None:
        hidden = hidden_variance(differences[kept], totals, None if types is None else types[kept])
    if clusters is not None and len(totals):
        _, places = np.unique(clusters[kept], return_inverse=True)
        sums = np.stack([np.bincount(places, column) for column in sums.T], axis=1)
        totals = np.bincount(places, totals).astype(np.float64)
    return _flipped(sums, totals, hidden)


def hidden_variance(differences: Array, weights: Array, types: NDArray[np.int64] | None = None) -> Array:
    """The variance of each column's mean that few queries of a type may hide; none if all weights are equal.

    `types`: a number for each query; queries of one type have the same weight. None: unknown; then queries of
    equal weight form one type.
    """
    rounded = weights.round(_DIGITS)
    if len(np.unique(rounded)) < 2:
        return np.zeros(differences.shape[1])
    _, first = np.unique(rounded if types is None else types, return_index=True)
    sizes = weights[first]
    different = (differences != 0).sum(axis=0)
    squares = (differences**2).sum(axis=0) / np.where(different > 0, different, 1)
    found: Array = squares * (sizes**2).sum() / weights.sum() ** 2
    return found


def _flipped(sums: Array, totals: Array, hidden: Array) -> Flipped:
    n, columns = sums.shape
    scale, whole = _as_whole_multiples(sums)
    means, n_flips = [], 0
    for masks in _subsets(n, columns):
        below, within = masks @ whole, masks @ totals
        for found, weight in ((below, within), (whole.sum(axis=0) - below, totals.sum() - within)):
            n_flips += len(found)
            some = weight > _SLACK * (totals.max() if n else 1.0)
            # The rounding error of a sum of differences, each rounded by half a unit.
            near = np.where(np.abs(found[some]) <= n / 2, 0.0, found[some])
            means.append(near / scale / weight[some, None])
    studentized = ratio_of_sums(sums, totals)
    errors = np.sqrt(studentized.errors**2 + hidden)
    return Flipped(np.concatenate(means), n_flips, studentized._replace(errors=errors))


def _as_whole_multiples(sums: Array) -> tuple[Array, Array]:
    """Each column as whole multiples of a small part of its largest value, with the factor: such sums are exact in
    any order of addition.
    """
    largest = np.abs(sums).max(axis=0, initial=0.0)
    bits = 50 - int(np.ceil(np.log2(len(sums) + 2)))
    scale = np.where(largest > 0, 2.0**bits / np.where(largest > 0, largest, 1.0), 1.0)
    return scale, np.rint(sums * scale)


def _subsets(n: int, columns: int) -> Iterator[Array]:
    """Blocks of subsets of `n` units, a row each, standing also for their complements."""
    if n <= MOST_EXACT:
        half = np.arange(max(1, 2 ** (n - 1)) if n else 1)
        yield ((half[:, None] >> np.arange(n)) & 1).astype(np.float64)
        return
    # Enough to reach the strictest level of Holm's correction over all columns.
    wanted = max(_FLIPS, int(2.4 * columns / ALPHA)) // 2
    yield np.zeros((1, n))
    rng, step = np.random.default_rng(_SEED), max(1, _BLOCK // n)
    for start in range(1, wanted, step):
        drawn = rng.integers(0, 256, size=(min(step, wanted - start), (n + 7) // 8), dtype=np.uint8)
        yield np.unpackbits(drawn, axis=1, count=n).astype(np.float64)
