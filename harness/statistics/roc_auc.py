"""The area under the ROC curve, with a 95 % interval: does a score distinguish relevant from irrelevant items?

AUC is the chance that a positive scores higher than a negative, with ties counted half: the statistic of Mann and
Whitney (1947), divided by the number of pairs. 0.5 is chance, 1 perfect order, 0 perfectly reversed order.

Positives and negatives of one query are dependent, so the interval is a percentile bootstrap (Efron & Tibshirani
1993) over queries. The result does not depend on the order of queries or values.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.statistics.confidence_intervals import RESAMPLES, UNKNOWN, Interval, percentiles

Matrix = NDArray[np.float64]


class QueryScores(NamedTuple):
    """The scores of one query's items; either list may be empty."""

    positives: Sequence[float]
    negatives: Sequence[float]


class Auc(NamedTuple):
    """The area under the curve with its interval."""

    value: float | None
    """None without positives or without negatives."""
    interval: Interval


def auc(queries: Iterable[QueryScores], seed: int = 0) -> Auc:
    """AUC of all positives against all negatives, of the same query or not.

    The interval is `UNKNOWN` for fewer than two queries. Memory is quadratic in their number.
    """
    given = [QueryScores(sorted(one.positives), sorted(one.negatives)) for one in queries]
    ordered = sorted(one for one in given if one.positives or one.negatives)
    won, pairs = _wins(ordered), _pairs(ordered)
    if not pairs.sum():
        return Auc(None, UNKNOWN)
    value = float(won.sum() / pairs.sum())
    if len(ordered) < 2:
        return Auc(value, UNKNOWN)
    draws = np.random.default_rng(seed).multinomial(len(ordered), [1 / len(ordered)] * len(ordered), RESAMPLES)
    weights: Matrix = draws.astype(np.float64)
    above, below = (np.einsum("ri,ri->r", weights @ matrix, weights) for matrix in (won, pairs))
    # A resample without positives or without negatives has no area.
    return Auc(value, percentiles(above[below > 0] / below[below > 0]))


def _wins(queries: Sequence[QueryScores]) -> Matrix:
    """Number of positives of query i that score above negatives of query j, ties as half; shape (queries,
    queries).
    """
    ends = np.cumsum([0, *(len(one.positives) for one in queries)])
    positives = np.array([value for one in queries for value in one.positives], dtype=np.float64)
    won = np.zeros((len(queries), len(queries)))
    for column, one in enumerate(queries):
        negatives = np.array(one.negatives, dtype=np.float64)
        below = np.searchsorted(negatives, positives, side="left")
        not_above = np.searchsorted(negatives, positives, side="right")
        sums = np.concatenate([[0.0], np.cumsum((below + not_above) / 2)])
        won[:, column] = sums[ends[1:]] - sums[ends[:-1]]
    return won


def _pairs(queries: Sequence[QueryScores]) -> Matrix:
    """Products of the numbers of positives of query i and negatives of query j, and the reverse."""
    positives = [len(one.positives) for one in queries]
    negatives = [len(one.negatives) for one in queries]
    return np.outer(positives, negatives).astype(np.float64)
