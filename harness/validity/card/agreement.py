"""How far two columns go together where rows share a question: coefficients with intervals that respect that.

The coefficients are those of `harness.analysis.correlation`: Pearson's, Spearman's of mid-ranks, Kendall's tau-b.
The standard error is the jackknife's that leaves out one question at a time with all its rows (Efron & Tibshirani
1993, chapter 11; by cluster as in Cameron & Miller 2015), on the scale of Fisher's z, with Student's t of as many
degrees of freedom as there are questions but one. Rows of one question may depend on each other in any way.

Everything is a weighted sum over a matrix: a line of ones, and a line for each question that is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from harness.analysis.correlation import Coefficient, Correlation
from harness.analysis.difference_tests import scipy_stats
from harness.analysis.intervals import LEVEL, Interval
from harness.analysis.studentized import Array

FEWEST = 10
"""Questions below which there is no coefficient."""
_EDGE = 1 - 1e-12


def clustered(one: Sequence[float], other: Sequence[float], clusters: Sequence[str]) -> Correlation:
    """The coefficients of two columns of equal length, with 95 % intervals.

    No coefficient below 10 clusters, or where a column never varies; no interval where a coefficient is 1 or -1 or
    one question alone makes a column vary.
    """
    nothing = Correlation(len(one), Coefficient(), Coefficient(), Coefficient())
    if len(set(clusters)) < FEWEST or len(set(one)) == 1 or len(set(other)) == 1:
        return nothing
    x, y, weights = np.asarray(one, np.float64), np.asarray(other, np.float64), _weights(clusters)
    ranks = _mid_ranks(x, weights), _mid_ranks(y, weights)
    lines = np.ones_like(weights)
    return Correlation(
        len(one),
        _coefficient(_pearson(x * lines, y * lines, weights)),
        _coefficient(_pearson(*ranks, weights)),
        _coefficient(_kendall(x, y, weights)),
    )


def pearson_alone(one: Sequence[float], other: Sequence[float], clusters: Sequence[str]) -> Coefficient:
    """The first of the three."""
    if len(set(clusters)) < FEWEST or len(set(one)) == 1 or len(set(other)) == 1:
        return Coefficient()
    weights = _weights(clusters)
    x, y = (np.asarray(column, np.float64) * np.ones_like(weights) for column in (one, other))
    return _coefficient(_pearson(x, y, weights))


def _weights(clusters: Sequence[str]) -> Array:
    """Shape (1 + clusters, rows): all, then all but one cluster."""
    places = {name: place for place, name in enumerate(dict.fromkeys(clusters), start=1)}
    weights = np.ones((1 + len(places), len(clusters)))
    weights[[places[name] for name in clusters], np.arange(len(clusters))] = 0.0
    return weights


def _pearson(x: Array, y: Array, weights: Array) -> Array:
    """A coefficient for each line; NaN where a column does not vary."""
    n = weights.sum(axis=1, keepdims=True)
    x, y = (column - (column * weights).sum(axis=1, keepdims=True) / n for column in (x, y))
    product: Callable[[Array, Array], Array] = lambda a, b: (a * b * weights).sum(axis=1)  # noqa: E731
    return _divided(product(x, y), np.sqrt(product(x, x) * product(y, y)))


def _mid_ranks(x: Array, weights: Array) -> Array:
    """The ranks of the rows that a line keeps, ties in the middle."""
    order = np.argsort(x, kind="stable")
    starts = np.flatnonzero(np.diff(x[order], prepend=-np.inf))
    totals = np.add.reduceat(weights[:, order], starts, axis=1)
    middles = np.cumsum(totals, axis=1) - totals + (totals + 1) / 2
    ranks = np.empty_like(weights)
    ranks[:, order] = np.repeat(middles, np.diff(starts, append=len(x)), axis=1)
    return ranks


def _kendall(x: Array, y: Array, weights: Array) -> Array:
    above_x, above_y = (np.sign(column[:, None] - column[None, :]) for column in (x, y))
    pairs: Callable[[Array], Array] = lambda matrix: ((weights @ matrix) * weights).sum(axis=1)  # noqa: E731
    return _divided(pairs(above_x * above_y), np.sqrt(pairs(above_x**2) * pairs(above_y**2)))


def _divided(above: Array, below: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Array = np.where(below > 1e-12, above / below, np.nan)
    return found


def _coefficient(lines: Array) -> Coefficient:
    value, left_out = float(lines[0]), lines[1:]
    if np.isnan(value):
        return Coefficient()
    value = max(-1.0, min(1.0, value))
    if np.isnan(left_out).any() or max(abs(value), float(np.abs(left_out).max())) >= _EDGE:
        return Coefficient(value)
    scaled, count = np.arctanh(left_out), len(left_out)
    error = np.sqrt((count - 1) / count * ((scaled - scaled.mean()) ** 2).sum())
    half = float(scipy_stats().t.ppf((1 + LEVEL) / 2, count - 1) * error)
    centre = float(np.arctanh(value))
    return Coefficient(value, Interval(float(np.tanh(centre - half)), float(np.tanh(centre + half))))
