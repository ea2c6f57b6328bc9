"""Recommends a run, with its certainty.

A run wins if it is significantly better than *every* other one. Each comparison is made at 5 % without a
correction (intersection-union test, Berger 1982). If queries share documents, each must also hold with the queries
of one document flipped together, since a recommendation is for new documents.

Without a winner, the best mean is still the best guess. The probability that a run is within the margin of the
best one comes from a normal model of the paired means with shrinkage: the true means scatter around a common one
by an unknown standard deviation with a half-normal prior (Gelman 2006). Without shrinkage the probability is too
high if many runs are compared on few queries, because the best of many is partly luck. A bootstrap that repeats
the selection is less accurate (docs/STATISTICS.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.statistics.confidence_intervals import FEWEST, Array, Interval, scipy_special
from harness.statistics.difference_tests import ALPHA
from harness.statistics.paired_comparison import MeasureComparison

PRIOR_SD = 0.10
"""Scale of the half-normal prior for the scatter of true means, as a part of the largest possible difference."""
MISSING_MATTERS = 0.05
"""Share of missing values from which on they, and not chance, are named as the reason."""
_SCATTERS = np.array([0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.18, 0.25])
"""Grid for that scatter, in the same unit."""
_SPLITS = 200
"""Number of splits; in each, both halves select once."""
_FEWEST_TO_SPLIT = 8
"""Minimum number of queries."""
_DRAWS = 4000
_SEED = 0


@dataclass(frozen=True)
class Lead:
    """How far one run is ahead of another; positive is better, also for metrics where lower is better."""

    place: int
    """Position of the other run in the comparison."""
    difference: float
    """Of the means, with the worst possible value for each missing one."""
    interval: Interval
    """95 %, of this comparison alone; for new documents if queries share documents. It covers all possible missing
    values."""
    is_shown: bool
    """Whether the run is significantly better, also on new documents."""
    is_shown_here: bool
    """Whether it is significantly better on these documents."""
    n_missing: int
    """Queries for which one of the two runs has no value."""

    def gap(self, compared: MeasureComparison) -> tuple[float, float | None, float | None]:
        """The mean of the other run minus that of this one, with its interval, in the unit of the metric."""
        low, high = self.interval
        if compared.measure.higher_is_better is False:
            return self.difference, low, high
        return -self.difference, None if high is None else -high, None if low is None else -low


def leads_of(compared: MeasureComparison, place: int) -> list[Lead]:
    """The lead of the run at `place` over every other compared run, best of those first. Empty if the metric has
    no direction.
    """
    others = [at for at, mean in enumerate(compared.means) if mean is not None and at != place]
    higher = compared.measure.higher_is_better
    if higher is None or not others or not compared.n_common:
        return []
    sign = 1.0 if higher else -1.0
    ahead = sign * np.stack([compared.differences(place, other) for other in others], axis=1)
    ends = compared.extremes([(place, other) for other in others])
    if ends is not None and not higher:
        ends = -ends[1], -ends[0]
    here, on_new = compared.tested(ahead, ends, corrected=False)
    means = np.average(ahead, axis=0, weights=compared.weights)
    found = [
        Lead(
            place=other,
            difference=float(mean),
            interval=_hull(one.interval, new.interval, compared.measure.span),
            is_shown=mean > 0 and one.p <= ALPHA and new.p <= ALPHA,
            is_shown_here=bool(mean > 0 and one.p <= ALPHA),
            n_missing=int((compared.missing(place) | compared.missing(other)).sum()),
        )
        for other, mean, one, new in zip(others, means, here, on_new, strict=True)
    ]
    return sorted(found, key=lambda lead: lead.difference)


def ranked_places(compared: MeasureComparison) -> list[int]:
    """The compared runs, the best mean first."""
    known = [(mean, place) for place, mean in enumerate(compared.means) if mean is not None]
    sign = -1.0 if compared.measure.higher_is_better else 1.0
    return [place for _, place in sorted(known, key=lambda one: (sign * one[0], one[1]))]


def probability_within(compared: MeasureComparison, place: int, margin: float) -> float | None:
    """The probability that the true mean of a run is at most the margin below that of the best one, with the worst
    possible value for each of its missing ones and the best for those of others. None for a single run, fewer than
    two queries or six clusters, and metrics without a direction or a range.
    """
    places = ranked_places(compared)
    span, higher = compared.measure.span, compared.measure.higher_is_better
    if len(places) < 2 or span is None or higher is None or compared.n_common < 2:
        return None
    if compared.n_clusters is not None and compared.n_clusters < FEWEST:
        return None
    sign = 1.0 if higher else -1.0
    values = sign * np.stack([compared.values(at, best=at != place) for at in places], axis=1)
    weights = np.ones(len(values)) if compared.weights is None else compared.weights
    means, covariance = _means(values, weights, span, compared.clusters)
    draws = _posterior(means, covariance, span)
    behind = draws.max(axis=1) - draws[:, places.index(place)]
    return float(np.mean(behind <= margin))


def _hull(one: Interval, other: Interval, span: float | None) -> Interval:
    if None in (one.low, one.high, other.low, other.high):
        return Interval(None, None)
    ends = [end for end in (*one, *other) if end is not None]
    low, high = min(ends), max(ends)
    return Interval(low, high) if span is None else Interval(max(low, -span), min(high, span))


def _means(values: Array, weights: Array, span: float, clusters: NDArray[np.int64] | None) -> tuple[Array, Array]:
    """The means of the columns and their covariance; queries of one cluster are not independent.

    A few queries may agree by chance, which would look like certainty. So each run gets the variance of one more
    disagreement by `span` (as Agresti & Min 2005 add one each way): 1 / (n + 2)^2 for n queries.
    """
    means = np.average(values, axis=0, weights=weights)
    residuals = (values - means) * weights[:, None]
    floor = np.eye(len(means)) * (span / (len(residuals) + 2)) ** 2
    if clusters is not None:
        _, group = np.unique(clusters, return_inverse=True)
        residuals = np.stack([np.bincount(group, column) for column in residuals.T], axis=1)
    n = len(residuals)
    # The spread of a few units is itself uncertain.
    wider = (scipy_special().stdtrit(n - 1, ALPHA / 2) / scipy_special().ndtri(ALPHA / 2)) ** 2 * n / (n - 1)
    return means, residuals.T @ residuals / weights.sum() ** 2 * wider + floor


def _posterior(means: Array, covariance: Array, span: float) -> Array:
    """Draws of the true means minus their common mean, one per row."""
    k = len(means)
    # Orthonormal contrasts, because only differences between runs matter.
    contrasts = np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, : k - 1]]))[0][:, 1:].T
    spread, turn = np.linalg.eigh(contrasts @ covariance @ contrasts.T)
    spread = np.clip(spread, 0.0, None)
    seen = turn.T @ contrasts @ means
    scatter = (_SCATTERS * span) ** 2
    total = spread[None, :] + scatter[:, None]
    fit = -0.5 * (np.log(total) + seen**2 / total).sum(axis=1)
    chance = np.exp(fit - fit.max() - 0.5 * (_SCATTERS / PRIOR_SD) ** 2) * np.gradient(_SCATTERS)
    rng = np.random.default_rng(_SEED)
    chosen = rng.choice(len(scatter), _DRAWS, p=chance / chance.sum())
    kept = scatter[chosen, None] / total[chosen]
    drawn = kept * seen + np.sqrt(kept * spread) * rng.standard_normal((_DRAWS, k - 1))
    return np.asarray(drawn @ turn.T @ contrasts, dtype=np.float64)


class BestOfMany(NamedTuple):
    looked: float
    """The mean of the best run over all queries."""
    mean: float
    """The corrected mean."""


def best_of(compared: MeasureComparison, places: Sequence[int] | None = None) -> BestOfMany | None:
    """The best of these runs (default: all); None if the metric has no direction, or with too few queries.

    Its mean is too high because the same queries select and measure it. The correction is repeated split-half
    cross-validation: one half of the queries selects the best run, the other half measures it (Cawley & Talbot
    2010). Because only half of the queries select, it tends to be too low.
    """
    chosen = [place for place in places or range(len(compared.means)) if compared.means[place] is not None]
    if compared.measure.higher_is_better is None or compared.n_common < _FEWEST_TO_SPLIT or not chosen:
        return None
    columns = [compared.values(place) for place in chosen]
    sign = 1.0 if compared.measure.higher_is_better else -1.0
    values = sign * np.array(columns, dtype=np.float64).T
    weights = np.ones(len(values)) if compared.weights is None else compared.weights
    means = np.average(values, axis=0, weights=weights)
    return BestOfMany(sign * float(means.max()), sign * _on_other_halves(values, weights))


def _on_other_halves(values: Array, weights: Array) -> float:
    """Mean of the selected run on the other half, over all splits."""
    n = len(values)
    rng = np.random.default_rng(_SEED)
    halves = (rng.permuted(np.tile(np.arange(n), (_SPLITS, 1)), axis=1) < n // 2).astype(np.float64)
    sides = np.concatenate([halves, 1 - halves])
    totals = sides @ weights
    means = (sides @ (values * weights[:, None])) / totals[:, None]
    # Tied runs share the selection equally, so their order does not matter.
    top = np.isclose(means, means.max(axis=1, keepdims=True), rtol=1e-12, atol=1e-12)
    shares = top / top.sum(axis=1, keepdims=True)
    others = np.roll(means, _SPLITS, axis=0)
    return float((shares * others).sum(axis=1).mean())
