"""Corrects the mean of the best of many runs, which is too high because the same queries select and measure it.

Repeated split-half cross-validation: one half of the queries selects the best run, the other half measures
it (Cawley & Talbot 2010 explain why). The average over the splits estimates the
mean of the chosen run on other queries. Because only half of the queries select, it tends to be too low.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.statistics.confidence_intervals import Array
from harness.statistics.paired_comparison import MeasureComparison

SPLITS = 200
"""Number of splits; in each, both halves select once."""
FEWEST = 8
"""Minimum number of queries."""
_SEED = 0


@dataclass(frozen=True)
class BestOfMany:
    """The best of several runs."""

    place: int
    """Position of the run with the best mean over all queries."""
    looked: float
    """Its mean over all queries."""
    mean: float
    """The corrected mean."""


def best_of(compared: MeasureComparison, places: Sequence[int] | None = None) -> BestOfMany | None:
    """The best of these runs (default: all); None if the metric has no direction, or with too few queries."""
    chosen = [place for place in places or range(len(compared.means)) if compared.means[place] is not None]
    if compared.measure.higher_is_better is None or compared.n_common < FEWEST or not chosen:
        return None
    columns = [compared.values(place) for place in chosen]
    sign = 1.0 if compared.measure.higher_is_better else -1.0
    values = sign * np.array(columns, dtype=np.float64).T
    weights = np.ones(len(values)) if compared.weights is None else compared.weights
    means = np.average(values, axis=0, weights=weights)
    best = int(np.argmax(means))
    return BestOfMany(chosen[best], sign * float(means[best]), sign * _on_other_halves(values, weights))


def _on_other_halves(values: Array, weights: Array) -> float:
    """Mean of the selected run on the other half, over all splits."""
    n = len(values)
    rng = np.random.default_rng(_SEED)
    halves = (rng.permuted(np.tile(np.arange(n), (SPLITS, 1)), axis=1) < n // 2).astype(np.float64)
    sides = np.concatenate([halves, 1 - halves])
    totals = sides @ weights
    means = (sides @ (values * weights[:, None])) / totals[:, None]
    # Tied runs share the selection equally, so their order does not matter.
    top = np.isclose(means, means.max(axis=1, keepdims=True), rtol=1e-12, atol=1e-12)
    shares = top / top.sum(axis=1, keepdims=True)
    others = np.roll(means, SPLITS, axis=0)
    return float((shares * others).sum(axis=1).mean())
