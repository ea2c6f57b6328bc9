"""Correlation of two columns of scores: Pearson, Spearman and Kendall, each with a 95 % interval.

Intervals are symmetric on the scale of Fisher's z, and the wider of two. One has the standard error for normal
values: Pearson's 1 / sqrt(n - 3) (Fisher 1921), Spearman's sqrt((1 + r^2 / 2) / (n - 3)) and Kendall's sqrt(0.437
/ (n - 4)) (Bonett & Wright 2000). The other allows for skew, ties and clusters (`correlation_spread`), with
Student's quantile. Below 30 clusters the limits are those of 98 %. There is no interval over fewer than 10
clusters, if all but a few values of a column are equal, or if the columns agree perfectly, because it is then
unknown how rare a disagreement is. Kendall's coefficient is tau-b, because scores have ties. docs/STATISTICS.md
has the measured coverage.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import atanh, sqrt, tanh
from statistics import fmean
from typing import Self

import numpy as np
from numpy.typing import NDArray

from harness.core.records import EvaluationRecord
from harness.statistics.aggregate import Frame
from harness.statistics.columnar_scores import SCORED, ScoreColumns, ScoresOrColumns, in_columns
from harness.statistics.confidence_intervals import ENOUGH, FEWEST, LEVEL, UNKNOWN, WIDER, Interval
from harness.statistics.correlation_spread import Influences, influences, spread_of
from harness.statistics.difference_tests import scipy_stats

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
    """The correlation of two columns of `n` pairs."""

    n: int
    pearson: Coefficient
    spearman: Coefficient
    kendall: Coefficient


@dataclass(frozen=True)
class TwinCorrelation:
    """A metric and the one that it stands in for, over the queries that both scored."""

    measure: str
    twin: str
    """The cheaper metric, or the one without a judge's verdict."""
    correlation: Correlation


def correlate(
    one: Sequence[float], other: Sequence[float], clusters: Sequence[Hashable] | None = None
) -> Correlation:
    """The coefficients of two columns of equal length, with at least 5 pairs.

    `clusters`: for each pair what it shares with others, such as the document; None: nothing.
    """
    n = len(one)
    if n != len(other) or (clusters is not None and len(clusters) != n):
        raise ValueError(f"columns of {n} and {len(other)} values cannot be paired")
    if n < _FEWEST or len(set(one)) == 1 or len(set(other)) == 1:
        return Correlation(n, Coefficient(), Coefficient(), Coefficient())
    stats, spread = scipy_stats(), _Spread.of(one, other, clusters)
    return Correlation(
        n,
        spread.coefficient("pearson", stats.pearsonr(one, other).statistic, lambda _: 1 / sqrt(n - 3)),
        spread.coefficient(
            "spearman", stats.spearmanr(one, other).statistic, lambda r: sqrt((1 + r * r / 2) / (n - 3))
        ),
        spread.coefficient("kendall", stats.kendalltau(one, other).statistic, lambda _: sqrt(0.437 / (n - 4))),
    )


def twin_correlations(
    frame: Frame, scores: ScoresOrColumns, evaluations: Iterable[EvaluationRecord]
) -> tuple[TwinCorrelation, ...]:
    """Every twin of a run's evaluators with the metric it stands in for, if both were scored.

    Only computed values count, not the worst value of a failed query, on which any two metrics agree. Repeats of a
    query are averaged first.
    """
    twins = [pair for evaluation in evaluations for pair in sorted(evaluation.twins.items())]
    named = {name for pair in twins for name in pair}
    columns = in_columns(scores).only(named)
    values = {measure: _by_query(columns, measure) for measure in columns.by_measure}
    found = []
    for twin, measure in twins:
        shared = sorted(values.get(twin, {}).keys() & values.get(measure, {}).keys())
        if shared:
            one, other = ([values[name][query] for query in shared] for name in (measure, twin))
            alike = [frame.clusters.get(query, query) for query in shared] if frame.clusters else None
            found.append(TwinCorrelation(measure, twin, correlate(one, other, alike)))
    return tuple(found)


def _by_query(columns: ScoreColumns, measure: str) -> dict[str, float]:
    ids, column = list(columns.query_ids), columns.by_measure[measure]
    repeats: dict[str, list[float]] = {}
    for row in column.rows(SCORED):
        repeats.setdefault(ids[column.queries[row]], []).append(float(column.values[row]))
    return {query: fmean(values) for query, values in repeats.items()}


@dataclass(frozen=True)
class _Spread:
    """Sampling variation of the coefficients of two columns."""

    moved: Influences
    clusters: NDArray[np.int64]
    is_known: bool
    """False: too few clusters, or too few values that differ from the most frequent one."""

    @classmethod
    def of(cls, one: Sequence[float], other: Sequence[float], clusters: Sequence[Hashable] | None) -> Self:
        names: Sequence[Hashable] = range(len(one)) if clusters is None else clusters
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        is_few = len(places) < FEWEST_CLUSTERS
        is_few = is_few or any(len(column) - max(Counter(column).values()) < FEWEST for column in (one, other))
        return cls(
            influences(np.asarray(one, np.float64), np.asarray(other, np.float64)),
            np.array([places[name] for name in names], dtype=np.int64),
            not is_few,
        )

    def coefficient(self, name: str, value: float, error_of: Callable[[float], float]) -> Coefficient:
        value = max(-1.0, min(1.0, float(value)))
        if 1 - abs(value) < _ROUNDING or not self.is_known:
            return Coefficient(1.0 if value > 1 - _ROUNDING else max(-1.0, value))
        error, degrees = spread_of(getattr(self.moved, name), self.clusters)
        stats, tail = scipy_stats(), (1 + (LEVEL if self.clusters.max() + 1 >= ENOUGH else WIDER)) / 2
        own = float(stats.t.ppf(tail, degrees)) * error / (1 - value**2)
        half = max(float(stats.norm.ppf(tail)) * error_of(value), own)
        return Coefficient(value, Interval(tanh(atanh(value) - half), tanh(atanh(value) + half)))
