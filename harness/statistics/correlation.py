"""Correlation of two columns of scores: Pearson, Spearman and Kendall, each with a 95 % interval.

Intervals are symmetric on the scale of Fisher's z, and the wider of two. One has the standard error for normal
values: Pearson's 1 / sqrt(n - 3) (Fisher 1921), Spearman's sqrt((1 + r^2 / 2) / (n - 3)) and Kendall's sqrt(0.437
/ (n - 4)) (Bonett & Wright 2000). The other allows for skew, ties and clusters (see below), with
Student's quantile. Below 30 clusters the limits are those of 98 %. There is no interval over fewer than 10
clusters, if all but a few values of a column are equal, or if the columns agree perfectly, because it is then
unknown how rare a disagreement is. Kendall's coefficient is tau-b, because scores have ties. docs/STATISTICS.md
has the measured coverage.

The second standard error comes from the influence of each point. A coefficient is a smooth function of means over
points (Pearson) or over pairs and triples of points (Spearman, Kendall), so that to first order it changes with
each point by that point's influence (Hoeffding 1948; Hampel 1974). Sums of influences over the points of a cluster
give the sandwich estimator of clustered data (Liang & Zeger 1986). No distribution of values is assumed, and they
may be tied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import atanh, isnan, sqrt, tanh
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.core.errors import MissingDependency, install
from harness.core.records import EvaluationRecord
from harness.statistics.columnar_scores import SCORED, ScoreColumn, ScoreColumns
from harness.statistics.confidence_intervals import (
    ENOUGH,
    FEWEST,
    LEVEL,
    RESAMPLES,
    UNKNOWN,
    WIDER,
    Array,
    Interval,
    percentiles,
)
from harness.statistics.run_frame import Frame
from harness.statistics.sampling_design import numbers_of

_SEED = 0


class QueryScores(NamedTuple):
    """The scores of one query's items; either list may be empty."""

    positives: Sequence[float]
    negatives: Sequence[float]


class Auc(NamedTuple):
    value: float | None
    """None without positives or without negatives."""
    interval: Interval


def auc(queries: Iterable[QueryScores]) -> Auc:
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
    draws = np.random.default_rng(_SEED).multinomial(len(ordered), [1 / len(ordered)] * len(ordered), RESAMPLES)
    weights: Array = draws.astype(np.float64)
    above, below = (np.einsum("ri,ri->r", weights @ matrix, weights) for matrix in (won, pairs))
    # A resample without positives or without negatives has no area.
    return Auc(value, percentiles(above[below > 0] / below[below > 0]))


def _wins(queries: Sequence[QueryScores]) -> Array:
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


def _pairs(queries: Sequence[QueryScores]) -> Array:
    """Products of the numbers of positives of query i and negatives of query j, and the reverse."""
    positives = [len(one.positives) for one in queries]
    negatives = [len(one.negatives) for one in queries]
    return np.outer(positives, negatives).astype(np.float64)


_ROWS = 512
"""Points whose pairs with all others are in memory at once."""
_FEWEST_DEGREES = 4.0
"""A lower minimum made intervals much wider and coverage no better."""
_LEAST = 1e-9


class Influences(NamedTuple):
    """The influence of every point on each coefficient; their mean is 0."""

    pearson: Array
    spearman: Array
    kendall: Array


def influences(one: Array, other: Array) -> Influences:
    """For two columns of equal length, neither constant. Time is quadratic in the length, memory linear."""
    return Influences(_of_product(*map(_standard, (one, other))), _of_ranks(one, other), _of_pairs(one, other))


class InfluenceSpread(NamedTuple):
    """Sampling variation of an estimate."""

    error: float
    """Standard error."""
    degrees: float
    """Degrees of freedom."""


def spread_of(influence: Array, clusters: NDArray[np.int64]) -> InfluenceSpread:
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


def _standard(column: Array) -> Array:
    centred = column - column.mean()
    found: Array = centred / np.sqrt((centred**2).mean())
    return found


def _of_product(x: Array, y: Array) -> Array:
    found: Array = x * y - (x * y).mean() * (x**2 + y**2) / 2
    return found


def _of_ranks(one: Array, other: Array) -> Array:
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
    found: Array = moved / scale - product / scale * (own[0] + own[1]) / 2
    return found


def _above(column: Array, weights: Array) -> Array:
    """For each point the mean of the weights of all points, with the sign of their order."""
    order = np.argsort(column, kind="stable")
    ordered, sums = column[order], np.concatenate([[0.0], np.cumsum(weights[order])])
    below = sums[np.searchsorted(ordered, column, side="left")]
    above = sums[-1] - sums[np.searchsorted(ordered, column, side="right")]
    found: Array = (below - above) / len(column)
    return found


def _of_pairs(one: Array, other: Array) -> Array:
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
    found: Array = 2 * (both - both.mean()) / scale - tau * (own[0] + own[1])
    return found


_ROUNDING = 1e-12
_FEWEST = 5
"""Minimum number of values for a coefficient."""
FEWEST_CLUSTERS = 10
"""Clusters, or pairs without clusters, below which there is no interval, since the variance of a coefficient
cannot be estimated."""


@dataclass(frozen=True)
class Coefficient:
    """One coefficient; without a value if it is undefined: too few values, or a constant column."""

    value: float | None = None
    interval: Interval = UNKNOWN


@dataclass(frozen=True)
class Correlation:
    n: int
    pearson: Coefficient
    spearman: Coefficient
    kendall: Coefficient


@dataclass(frozen=True)
class TwinCorrelation:
    """A metric and the metric that it approximates, over the queries that both scored."""

    measure: str
    twin: str
    """The cheaper metric, or the one without a judge's verdict."""
    correlation: Correlation


def correlate(
    one: Sequence[float], other: Sequence[float], clusters: Sequence[Hashable] | None = None
) -> Correlation:
    """The coefficients of two columns of equal length, with at least 5 pairs.

    `clusters`: for each pair the document or other item that it shares; None: pairs are independent.
    """
    n = len(one)
    if n != len(other) or (clusters is not None and len(clusters) != n):
        raise ValueError(f"columns of {n} and {len(other)} values cannot be paired")
    if n < _FEWEST or len(set(one)) == 1 or len(set(other)) == 1:
        return Correlation(n, Coefficient(), Coefficient(), Coefficient())
    stats, names = _scipy_stats(), range(n) if clusters is None else clusters
    values = [float(test(one, other).statistic) for test in (stats.pearsonr, stats.spearmanr, stats.kendalltau)]
    # Too few values that differ from the most frequent one say as little as too few clusters.
    is_few = any(n - max(Counter(column).values()) < FEWEST for column in (one, other))
    if is_few or len({*names}) < FEWEST_CLUSTERS:
        return Correlation(n, *(Coefficient(_within_one(value)) for value in values))
    moved = influences(np.asarray(one, np.float64), np.asarray(other, np.float64))
    normal = (1 / sqrt(n - 3), sqrt((1 + values[1] ** 2 / 2) / (n - 3)), sqrt(0.437 / (n - 4)))
    numbers = numbers_of(names)
    return Correlation(
        n, *(_coefficient(*each, clusters=numbers) for each in zip(values, normal, moved, strict=True))
    )


def _within_one(value: float) -> float:
    """Without the rounding of a perfect correlation."""
    return 1.0 if value > 1 - _ROUNDING else max(-1.0, value)


def _coefficient(value: float, normal_error: float, moved: Array, clusters: NDArray[np.int64]) -> Coefficient:
    """With the wider of both intervals; `normal_error`: the standard error for normal values."""
    if 1 - abs(value) < _ROUNDING:
        return Coefficient(_within_one(value))
    error, degrees = spread_of(moved, clusters)
    stats, tail = _scipy_stats(), (1 + (LEVEL if clusters.max() + 1 >= ENOUGH else WIDER)) / 2
    own = float(stats.t.ppf(tail, degrees)) * error / (1 - value**2)
    half = max(float(stats.norm.ppf(tail)) * normal_error, own)
    return Coefficient(value, Interval(tanh(atanh(value) - half), tanh(atanh(value) + half)))


def twin_correlations(
    frame: Frame, scores: ScoreColumns, evaluations: Iterable[EvaluationRecord]
) -> tuple[TwinCorrelation, ...]:
    """Every twin of a run's evaluators with the metric it approximates, if both were scored.

    Only computed values count, not the worst value of a failed query, on which any two metrics agree. Repeats of a
    query are averaged first.
    """
    twins = [pair for evaluation in evaluations for pair in sorted(evaluation.twins.items())]
    columns = scores.only({name for pair in twins for name in pair})
    values = {measure: _by_query(frame, column) for measure, column in columns.by_measure.items()}
    found = []
    for twin, measure in twins:
        shared = sorted(values.get(twin, {}).keys() & values.get(measure, {}).keys())
        if shared:
            one, other = ([values[name][query] for query in shared] for name in (measure, twin))
            alike = [frame.clusters.get(query, query) for query in shared] if frame.clusters else None
            found.append(TwinCorrelation(measure, twin, correlate(one, other, alike)))
    return tuple(found)


def _by_query(frame: Frame, column: ScoreColumn) -> dict[str, float]:
    computed = np.where(column.states == SCORED, column.values, np.nan).tolist()
    known = ([value for value in own if not isnan(value)] for own in computed)
    return {query: fmean(own) for query, own in zip(frame.places, known, strict=True) if own}


def _scipy_stats() -> Any:
    """scipy.stats, which takes over a second to load: elsewhere `scipy_special` does."""
    try:
        from scipy import stats
    except ImportError as error:
        raise MissingDependency("correlations need scipy", install("report")) from error
    return stats
