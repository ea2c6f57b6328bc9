"""Which measures agree with each other, and which with people: correlation coefficients of pairs of columns, over
all answers and over parts of them.

And weights of metrics fitted to people, as RAG-Eval (Akindele et al. 2025, section 4.3.3) calibrates its
confidence: the non-negative weights, with sum 1, whose weighted sum of metrics comes nearest to a label.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby
from operator import attrgetter
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Literal, NamedTuple

from harness.core.errors import ConfigError, nearest
from harness.display import Content, Quantity, Section, Table, counted, printable
from harness.extensions.meta_evaluation.correlation_columns import AnswerRow, LabelSpan, ValueColumns
from harness.llm_utils.concurrency import Progress
from harness.statistics.correlation import Auc, Coefficient, Correlation, correlate

if TYPE_CHECKING:
    import numpy as np

    from harness.protocols import Vectors

FEWEST_PAIRS = 10
"""Answers with both values that a coefficient needs: with 9 uncorrelated answers, it exceeds .67 one time in
twenty."""
ALL = "all"
By = Literal["type", "run"]


HIGH, LOW = 0.6, 0.4
"""Bounds of LLM-eval's two groups of answers (Dong 2025, section V-A); neither bound is in a group."""


class ColumnSpread(NamedTuple):
    """Mean and sample standard deviation of a column; the latter None for a single answer."""

    n: int
    mean: float
    deviation: float | None


class GroupMeans(NamedTuple):
    """Means of one column over the answers with a high and with a low value of another; None: no such answer."""

    high: float | None
    n_high: int
    low: float | None
    n_low: int


@dataclass(frozen=True)
class CorrelatedPair:
    one: str
    other: str
    part: str
    """A query type, a run id, or `ALL`."""
    n: int
    n_of: int
    n_clusters: int
    found: Correlation | None
    why_not: str
    groups: GroupMeans | None
    """Means of `other` where `one` is high and low. None: not both are scores up to 1."""


@dataclass(frozen=True)
class CorrelationFindings:
    columns: ValueColumns
    pairs: tuple[CorrelatedPair, ...]
    parts: tuple[CorrelatedPair, ...]
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for pair in self.pairs for name in (pair.one, pair.other)))

    @property
    def measurable(self) -> tuple[CorrelatedPair, ...]:
        return tuple(pair for pair in self.pairs if pair.found)


def correlate_columns(
    columns: ValueColumns, by: By | None = None, tell: Progress = lambda _done, _total: None
) -> CorrelationFindings:
    """Every metric against every dimension of labels, or without labels every pair of metrics.

    `tell(done, total)` reports progress in pairs. Raises ConfigError if there is no pair, or none with a
    coefficient; the message says why.
    """
    names = [(measure, label) for label in columns.labels for measure in columns.measures]
    if not columns.labels:
        names = list(combinations(columns.measures, 2))
    if not names:
        known = ", ".join(columns.names) or "none"
        raise ConfigError(f"two columns make a pair, and there is {known}", "name two measures, or --labels FILE")
    # A query type may itself be called `all`.
    parts = [(ALL, columns)]
    if by:
        of = attrgetter("query_type" if by == "type" else "run_id")
        own_rows = groupby(sorted(columns.rows, key=of), key=of)
        parts += [(part, replace(columns, rows=tuple(rows))) for part, rows in own_rows]
    found = []
    for part, own in parts:
        for one, other in names:
            found.append(correlated_pair(own, one, other, part))
            tell(len(found), len(parts) * len(names))
    pairs = tuple(found[: len(names)])
    if not any(pair.found for pair in pairs):
        first = pairs[0]
        what = f"nothing to correlate: {first.one} and {first.other}: {first.why_not}"
        raise ConfigError(what, "choose other measures (--measure), or runs with more answers")
    notes = list(columns.notes)
    for name in columns.names:
        values = columns.column(name)
        if len(set(values)) == 1:
            answers = counted(len(values), "answer")
            said = f"is {values[0]:g} for all {answers} with it, so it correlates with nothing"
            notes.append(f"{printable(name)} {said}")
    return CorrelationFindings(columns, pairs, tuple(found[len(names) :]), tuple(notes))


def column_spread(values: Sequence[float]) -> ColumnSpread:
    return ColumnSpread(len(values), fmean(values), stdev(values) if len(values) > 1 else None)


def group_means(rows: Sequence[AnswerRow], by: str, of: str) -> GroupMeans:
    """Means of `of` where `by` is above `HIGH` and below `LOW`."""
    high = [row.values[of] for row in rows if row.values[by] > HIGH]
    low = [row.values[of] for row in rows if row.values[by] < LOW]
    return GroupMeans(fmean(high) if high else None, len(high), fmean(low) if low else None, len(low))


def correlated_pair(columns: ValueColumns, one: str, other: str, part: str = ALL) -> CorrelatedPair:
    shared = columns.having(one, other)
    clusters = [row.cluster for row in shared]
    values = {name: [row.values[name] for row in shared] for name in (one, other)}
    constant = [name for name, own in values.items() if len(set(own)) == 1]
    found, why_not, groups = None, "", None
    if len(shared) < FEWEST_PAIRS:
        why_not = f"{counted(len(shared), 'answer')} with both; at least {FEWEST_PAIRS} are needed"
    elif constant:
        name, n = constant[0], len(shared)
        why_not = f"{printable(name)} is {values[name][0]:g} for each of these {n} answers"
    else:
        found = correlate(values[one], values[other], clusters)
        highest = max(*columns.column(one), *columns.column(other))
        if {one, other}.isdisjoint(columns.labels) and highest <= 1:
            groups = group_means(shared, one, other)
    counts = (len(shared), len(columns.rows), len(set(clusters)))
    return CorrelatedPair(one, other, part, *counts, found, why_not, groups)


def coefficient_data(found: Coefficient | Auc) -> dict[str, float | None]:
    return {"value": found.value, "low": found.interval.low, "high": found.interval.high}


FEWEST_FITTED = 10
"""Answers that fitted weights need."""
_SUM_WEIGHT = 1e4
"""Weight of the condition that weights sum to 1, among least squares of values up to 1."""


@dataclass(frozen=True)
class FittedWeights:
    """The weights of some metrics, and how far the weighted sum is from the label."""

    label: str
    weights: dict[str, float]
    answers: int
    clusters: int
    left_out_error: float
    """Root mean squared error, in shares of the scale, of answers whose cluster was left out of the fit."""
    equal_weights_error: float


def fit_weights(columns: ValueColumns, label: str, span: LabelSpan | None) -> FittedWeights:
    """Fit the metrics of `columns`, which lie between 0 and 1, to a column of labels divided by the best of the
    scale, as RAG-Eval divides its grades. ConfigError: no such label, a single metric, or too few answers with
    all values.
    """
    if label not in columns.labels:
        raise ConfigError(f"there are no labels '{printable(label)}'", nearest(label, columns.labels))
    measures = columns.measures
    if len(measures) < 2:
        raise ConfigError("weights need at least two metrics", "name them with --measure, and score them first")
    shared = columns.having(label, *measures)
    needed = max(FEWEST_FITTED, 2 * len(measures))
    clusters = len({row.cluster for row in shared})
    if len(shared) < needed or clusters < 2:
        raise ConfigError(
            f"{len(shared)} answers in {clusters} clusters have all {len(measures)} metrics and the label "
            f"'{printable(label)}'; {needed} in at least 2 are needed",
            "label more answers, or name fewer metrics with --measure",
        )
    import numpy as np

    best = span[1] if span else max(columns.column(label))
    values = np.array([[row.values[name] for name in measures] for row in shared])
    said = np.array([row.values[label] / best for row in shared])
    of_cluster = np.array([row.cluster for row in shared])
    errors = np.empty(len(shared))
    for name in set(of_cluster.tolist()):
        out = of_cluster == name
        errors[out] = values[out] @ _weights(values[~out], said[~out]) - said[out]
    equal = values.mean(axis=1) - said
    weights = map(float, _weights(values, said))
    return FittedWeights(
        label,
        dict(zip(measures, weights, strict=True)),
        len(shared),
        clusters,
        float(np.sqrt(np.mean(errors**2))),
        float(np.sqrt(np.mean(equal**2))),
    )


def _weights(values: "Vectors", said: "Vectors") -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Non-negative least squares under the condition that the weights sum to 1."""
    import numpy as np
    from scipy.optimize import nnls

    summed = np.full((1, values.shape[1]), _SUM_WEIGHT)
    weights, _ = nnls(np.vstack([values, summed]), np.append(said, _SUM_WEIGHT))
    total: float = weights.sum()
    return np.asarray(weights / total)


def weights_section(fitted: FittedWeights) -> Section:
    rows = tuple((name, Quantity(weight)) for name, weight in fitted.weights.items())
    better = "below" if fitted.left_out_error < fitted.equal_weights_error else "not below"
    said = (
        f"Fitted to {fitted.answers} labels '{printable(fitted.label)}' in {fitted.clusters} clusters. "
        f"Answers left out of the fit differ from their label by {fitted.left_out_error:.3f} of the scale "
        f"(root mean square), {better} the {fitted.equal_weights_error:.3f} of equal weights."
    )
    listed = ", ".join(f"{weight:.3f}" for weight in fitted.weights.values())
    table = Table("weights", "Weights fitted to people", ("metric", "weight"), rows)
    return Section(
        "weights", "Weights fitted to people", Content(items=[said, f"In order: [{listed}]"], tables=[table])
    )
