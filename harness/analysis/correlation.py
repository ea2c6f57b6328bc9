"""Do two columns of scores say the same? Pearson, Spearman and Kendall, each with a 95 % interval.

Intervals are normal on the scale of Fisher's z, with the standard error that fits the coefficient: Pearson's
1 / sqrt(n - 3) (Fisher 1921), Spearman's sqrt((1 + r^2 / 2) / (n - 3)) and Kendall's sqrt(0.437 / (n - 4))
(Bonett & Wright 2000). Kendall's coefficient is tau-b, for scores tie.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import atanh, sqrt, tanh
from statistics import fmean

from harness.analysis.aggregate import Frame, scores_by_measure
from harness.analysis.difference_tests import scipy_stats
from harness.analysis.intervals import UNKNOWN, Interval
from harness.records import EvaluationRecord, Score

_Z95 = 1.959963984540054
_FEWEST = 5
"""Values below which no coefficient is worth a number."""


@dataclass(frozen=True)
class Coefficient:
    """One coefficient; no value where it is undefined: too few values, or a column that never varies."""

    value: float | None = None
    interval: Interval = UNKNOWN


@dataclass(frozen=True)
class Correlation:
    """How two columns of `n` pairs go together."""

    n: int
    pearson: Coefficient
    spearman: Coefficient
    kendall: Coefficient


@dataclass(frozen=True)
class TwinCorrelation:
    """A measure and the one that it stands in for, over the queries that both scored."""

    measure: str
    twin: str
    """The cheaper or verdict-free one."""
    correlation: Correlation


def correlate(one: Sequence[float], other: Sequence[float]) -> Correlation:
    """The coefficients of two columns of equal length, at least 5 pairs of them."""
    n = len(one)
    if n != len(other):
        raise ValueError(f"columns of {n} and {len(other)} values do not pair")
    if n < _FEWEST or len(set(one)) == 1 or len(set(other)) == 1:
        return Correlation(n, Coefficient(), Coefficient(), Coefficient())
    stats = scipy_stats()
    return Correlation(
        n,
        _coefficient(float(stats.pearsonr(one, other).statistic), lambda _: 1 / sqrt(n - 3)),
        _coefficient(float(stats.spearmanr(one, other).statistic), lambda r: sqrt((1 + r * r / 2) / (n - 3))),
        _coefficient(float(stats.kendalltau(one, other).statistic), lambda _: sqrt(0.437 / (n - 4))),
    )


def twin_correlations(
    frame: Frame, scores: Iterable[Score], evaluations: Iterable[EvaluationRecord]
) -> tuple[TwinCorrelation, ...]:
    """Every twin of a run's evaluators with the measure it stands in for, where both were scored.

    Only values that an evaluator gave count, not the worst value of a failed query, on which any two measures
    agree. Repeats of a query are averaged first.
    """
    twins = [pair for evaluation in evaluations for pair in sorted(evaluation.twins.items())]
    named = {name for pair in twins for name in pair}
    by_measure = scores_by_measure(frame, (score for score in scores if score.measure in named))
    values = {measure: _by_query(found.values()) for measure, found in by_measure.items()}
    found = []
    for twin, measure in twins:
        shared = sorted(values.get(twin, {}).keys() & values.get(measure, {}).keys())
        if shared:
            columns = [[values[name][query] for query in shared] for name in (measure, twin)]
            found.append(TwinCorrelation(measure, twin, correlate(*columns)))
    return tuple(found)


def _by_query(scores: Iterable[Score]) -> dict[str, float]:
    repeats: dict[str, list[float]] = {}
    for score in scores:
        if score.status == "scored" and score.value is not None:
            repeats.setdefault(score.query_id, []).append(score.value)
    return {query: fmean(values) for query, values in repeats.items()}


def _coefficient(value: float, error_of: Callable[[float], float]) -> Coefficient:
    if abs(value) >= 1:
        # Fisher's z is infinite there; rounding can even go beyond.
        limit = 1.0 if value > 0 else -1.0
        return Coefficient(limit, Interval(limit, limit))
    z, error = atanh(value), _Z95 * error_of(value)
    return Coefficient(value, Interval(tanh(z - error), tanh(z + error)))
