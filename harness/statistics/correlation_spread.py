"""The influence of each point on a correlation coefficient, from which its standard error is computed.

A coefficient is a smooth function of means over points (Pearson) or over pairs and triples of points (Spearman,
Kendall), so that to first order it changes with each point by that point's influence (Hoeffding 1948; Hampel
1974). Sums of influences over the points of a cluster give the sandwich estimator of clustered data (Liang & Zeger
1986). No distribution of values is assumed, and they may be tied.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
_ROWS = 512
"""Points whose pairs with all others are in memory at once."""
_FEWEST_DEGREES = 4.0
"""A lower minimum made intervals much wider and coverage no better."""
_LEAST = 1e-9


class Influences(NamedTuple):
    """The influence of every point on each coefficient; their mean is 0."""

    pearson: Values
    spearman: Values
    kendall: Values


def influences(one: Values, other: Values) -> Influences:
    """For two columns of equal length, neither constant. Time is quadratic in the length, memory linear."""
    return Influences(_of_product(*map(_standard, (one, other))), _of_ranks(one, other), _of_pairs(one, other))


class InfluenceSpread(NamedTuple):
    """Sampling variation of an estimate."""

    error: float
    """Standard error."""
    degrees: float
    """Degrees of freedom."""


def spread_of(influence: Values, clusters: NDArray[np.int64]) -> InfluenceSpread:
    """Standard error and degrees of freedom of a coefficient; points with the same cluster number (from 0, without
    gaps) are not independent; for at least two numbers.

    Degrees of freedom are those of the error itself (Satterthwaite 1946): if a few points dominate, they are far
    fewer than the clusters.
    """
    sums = np.bincount(clusters, weights=influence)
    n, square = len(sums), float((sums**2).mean())
    error = float(np.sqrt(square * n * n / (n - 1)) / len(influence))
    if square == 0:
        return InfluenceSpread(0.0, n - 1)
    kurtosis = float((sums**4).mean()) / square**2
    return InfluenceSpread(
        error * float(np.sqrt(1 + kurtosis / n)),
        max(_FEWEST_DEGREES, min(n - 1, 2 * n / max(kurtosis - 1, _LEAST))),
    )


def _standard(column: Values) -> Values:
    centred = column - column.mean()
    found: Values = centred / np.sqrt((centred**2).mean())
    return found


def _of_product(x: Values, y: Values) -> Values:
    found: Values = x * y - (x * y).mean() * (x**2 + y**2) / 2
    return found


def _of_ranks(one: Values, other: Values) -> Values:
    """A point also changes the ranks of all others."""
    x, y = _above(one, np.ones_like(one)), _above(other, np.ones_like(other))
    product = (x * y).mean()
    squares = [(ranks**2).mean() for ranks in (x, y)]
    moved = x * y - _above(one, y) - _above(other, x) - 3 * product
    own = [
        (ranks**2 - 2 * _above(column, ranks) - 3 * square) / square
        for column, ranks, square in zip((one, other), (x, y), squares, strict=True)
    ]
    scale = np.sqrt(squares[0] * squares[1])
    found: Values = moved / scale - product / scale * (own[0] + own[1]) / 2
    return found


def _above(column: Values, weights: Values) -> Values:
    """For each point the mean of the weights of all points, with the sign of their order."""
    order = np.argsort(column, kind="stable")
    ordered, sums = column[order], np.concatenate([[0.0], np.cumsum(weights[order])])
    below = sums[np.searchsorted(ordered, column, side="left")]
    above = sums[-1] - sums[np.searchsorted(ordered, column, side="right")]
    found: Values = (below - above) / len(column)
    return found


def _of_pairs(one: Values, other: Values) -> Values:
    """Influence on tau-b: concordance over the root of the shares of pairs without ties."""
    both, untied_one, untied_other = (np.empty_like(one) for _ in range(3))
    for start in range(0, len(one), _ROWS):
        rows = slice(start, start + _ROWS)
        x, y = (np.sign(column[rows, None] - column[None, :]) for column in (one, other))
        both[rows], untied_one[rows], untied_other[rows] = (
            part.mean(axis=1) for part in (x * y, np.abs(x), np.abs(y))
        )
    scale = np.sqrt(untied_one.mean() * untied_other.mean())
    tau = both.mean() / scale
    own = [(part - part.mean()) / part.mean() for part in (untied_one, untied_other)]
    found: Values = 2 * (both - both.mean()) / scale - tau * (own[0] + own[1])
    return found
