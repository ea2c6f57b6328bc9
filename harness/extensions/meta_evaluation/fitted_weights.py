"""Weights of metrics fitted to people, as RAG-Eval (Akindele et al. 2025, section 4.3.3) calibrates its
confidence: the non-negative weights, with sum 1, whose weighted sum of metrics comes nearest to a label.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.core.errors import ConfigError, nearest
from harness.display import Content, Quantity, Section, Table, printable
from harness.extensions.meta_evaluation.correlation_columns import LabelSpan, ValueColumns

if TYPE_CHECKING:
    import numpy as np

    from harness.protocols import Vectors

FEWEST_ANSWERS = 10
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
    measures = [name for name in columns.values if name not in columns.labels]
    if len(measures) < 2:
        raise ConfigError("weights need at least two metrics", "name them with --measure, and score them first")
    shared = set(columns.values[label]).intersection(*(columns.values[name] for name in measures))
    needed = max(FEWEST_ANSWERS, 2 * len(measures))
    clusters = len({columns.answers[answer].cluster for answer in shared})
    if len(shared) < needed or clusters < 2:
        raise ConfigError(
            f"{len(shared)} answers in {clusters} clusters have all {len(measures)} metrics and the label "
            f"'{printable(label)}'; {needed} in at least 2 are needed",
            "label more answers, or name fewer metrics with --measure",
        )
    import numpy as np

    answers, given = sorted(shared), columns.values[label]
    best = span[1] if span else max(given.values())
    values = np.array([[columns.values[name][answer] for name in measures] for answer in answers])
    said = np.array([given[answer] / best for answer in answers])
    of_cluster = np.array([columns.answers[answer].cluster for answer in answers])
    errors = np.empty(len(answers))
    for name in set(of_cluster.tolist()):
        out = of_cluster == name
        errors[out] = values[out] @ _weights(values[~out], said[~out]) - said[out]
    equal = values.mean(axis=1) - said
    weights = map(float, _weights(values, said))
    return FittedWeights(
        label,
        dict(zip(measures, weights, strict=True)),
        len(answers),
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
