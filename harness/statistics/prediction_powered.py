"""The mean of human labels over all queries, from a judge's score of each query and labels of some.

The mean of the labels is unbiased but imprecise; the mean of the scores is precise but biased like the judge.
PPI++ (Angelopoulos, Duchi & Zrnic 2023, "PPI++: Efficient Prediction-Powered Inference") corrects one by the
other. With labels y of n queries and scores f of these and of N others:

    mean = mean_n(y) + power * (mean_N(f) - mean_n(f))
    power = Cov_n(y, f) / ((1 + n / N) Var_{n+N}(f)), between 0 and 1

so that an uninformative judge has no weight, and the interval is that of the labels alone. The limits are those of
`confidence_intervals`, from each query's influence on the mean, summed by cluster (docs/annotate.md has the
coverage). The labelled queries must be a random sample of all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from harness.statistics.confidence_intervals import (
    FEWEST,
    UNKNOWN,
    Array,
    Bounds,
    Interval,
    Studentized,
    limits,
)
from harness.statistics.sampling_design import numbers_of

FEWEST_LABELS = 50
"""Minimum labels: with fewer, the value of a judge is uncertain and overstated (docs/annotate.md)."""
_BOUNDS: Bounds = (0.0, 1.0)


@dataclass(frozen=True)
class PoweredMean:
    n_labels: int
    """Queries with a label and a score."""
    n_others: int
    """Queries with a score only."""
    value: float | None
    interval: Interval
    power: float = 0.0
    """Weight of the scores, from 0 to 1; 0: labels only."""
    worth: float = 1.0
    """Factor by which labels would have to increase for an equally narrow interval without scores."""
    why: str = ""
    """Why the scores are not used; empty: they are."""


def powered_mean(
    labels: Mapping[str, float],
    scores: Mapping[str, float],
    clusters: Mapping[str, str] | None = None,
    *,
    fewest: int = FEWEST_LABELS,
) -> PoweredMean:
    """By query id: labels of some and scores of all, on a scale from 0 to 1.

    `clusters`: query id -> the document or other item that it shares; missing: independent. With fewer than
    `fewest` labels the mean and the interval are those of the labels alone, and with fewer than 6 there is no
    interval.
    """
    labelled = sorted(labels.keys() & scores.keys())
    others = sorted(scores.keys() - labels.keys())
    if not labelled:
        return PoweredMean(0, len(others), None, UNKNOWN, why="no label")
    y, f, unlabelled = _column(labels, labelled), _column(scores, labelled), _column(scores, others)
    groups = numbers_of([(clusters or {}).get(one, one) for one in (*labelled, *others)])
    value, error, interval = _estimate(y, f, unlabelled, groups, 0.0)
    alone = PoweredMean(len(y), len(others), value, interval)
    if len(y) < fewest:
        return replace(alone, why=f"fewer than {fewest} labels, so scores are not used")
    power = power_of(y, f, unlabelled)
    if power == 0:
        return replace(alone, why="the scores do not predict the labels" if others else "every query has a label")
    value, corrected_error, interval = _estimate(y, f, unlabelled, groups, power)
    worth = (error / corrected_error) ** 2 if corrected_error > 0 else 1.0
    return PoweredMean(len(y), len(others), value, interval, power, worth)


def power_of(y: Array, f: Array, others: Array) -> float:
    """The weight of the scores that makes the interval narrowest, estimated from these values."""
    if len(y) < 2 or not len(others):
        return 0.0
    scores = np.concatenate([f, others])
    # The variance of equal numbers may be slightly above 0.
    if np.ptp(scores) <= 0:
        return 0.0
    spread = float(np.var(scores, ddof=1))
    together = float(np.cov(y, f, ddof=1)[0, 1])
    return min(1.0, max(0.0, together / ((1 + len(y) / len(others)) * spread)))


def _estimate(
    y: Array, f: Array, others: Array, clusters: NDArray[np.int64], power: float
) -> tuple[float, float, Interval]:
    """The mean, its standard error and its interval; `clusters`: a number for each query, labelled ones first."""
    n, corrected = len(y), y - power * f
    moved = (corrected - corrected.mean()) / n
    value = float(corrected.mean())
    if power and len(others):
        value += power * float(others.mean())
        moved = np.concatenate([moved, power * (others - others.mean()) / len(others)])
    # Constant labels give no information on variance.
    labelled = len(set(clusters[:n].tolist())) if np.ptp(y) > 0 else 0
    counted = clusters[: len(moved)]
    sums = np.bincount(counted, weights=moved)[np.unique(counted)].astype(np.float64)
    return value, *_limits(value, sums, labelled)


def _limits(value: float, sums: Array, labelled: int) -> tuple[float, Interval]:
    """`sums`: each cluster's influence on the mean; they sum to 0. `labelled`: clusters with a label, which give
    the degrees of freedom, since the others contribute far less to the error.
    """
    squares = float((sums**2).sum())
    error = (squares * len(sums) / max(1, len(sums) - 1)) ** 0.5
    if labelled < FEWEST or error == 0:
        return error, UNKNOWN
    skew = float((sums**3).sum()) / squares**1.5
    whole = Studentized(*(np.array([one]) for one in (value, error, skew, labelled - 1.0)))
    return error, limits(whole, labelled, _BOUNDS)


def _column(values: Mapping[str, float], names: Sequence[str]) -> Array:
    return np.array([values[name] for name in names], dtype=np.float64)
