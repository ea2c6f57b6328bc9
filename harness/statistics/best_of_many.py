"""How good is the best of many, that was chosen and measured on the same queries? Less good than it looks.

Half of the queries choose, the other half measures what was chosen, in many splits (repeated split-half
cross-validation; Cawley & Talbot 2010 on why the queries that choose must not measure). The mean of those is what
choosing so brings on queries that had no part in it: right for a choice by half as many queries, and so rather too
low than too high.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.statistics.paired_comparison import MeasureComparison
from harness.statistics.t_intervals import Array

SPLITS = 200
"""Each used both ways."""
FEWEST = 8
"""Queries below which nothing is worth splitting."""
_SEED = 0


@dataclass(frozen=True)
class BestOfMany:
    """The best of several runs."""

    place: int
    """In the comparison: the run that was chosen by all queries."""
    looked: float
    """Its mean over the queries that chose it."""
    mean: float
    """What choosing so brings on other queries."""
    n_tried: int
    """Of so many runs it is the best."""
    n_chosen: float
    """The share of halves that chose it too."""

    @property
    def optimism(self) -> float:
        """How much better it looked than it is; negative where less is better."""
        return self.looked - self.mean


def best_of(compared: MeasureComparison, places: Sequence[int] | None = None) -> BestOfMany | None:
    """The best of these runs (default: all); None where no direction is known, or with too few queries."""
    chosen = [place for place in places or range(len(compared.means)) if compared.means[place] is not None]
    if compared.measure.higher_is_better is None or compared.n_common < FEWEST or not chosen:
        return None
    columns = [[compared.measure.runs[place].values[one] for one in compared.query_ids] for place in chosen]
    sign = 1.0 if compared.measure.higher_is_better else -1.0
    values = sign * np.array(columns, dtype=np.float64).T
    weights = np.ones(len(values)) if compared.weights is None else compared.weights
    means = np.average(values, axis=0, weights=weights)
    best = int(np.argmax(means))
    corrected, share = _on_other_halves(values, weights, best)
    return BestOfMany(chosen[best], sign * float(means[best]), sign * corrected, len(chosen), share)


def _on_other_halves(values: Array, weights: Array, best: int) -> tuple[float, float]:
    """The mean, on the half that did not choose, of what the other half chose; and how often that was `best`."""
    n = len(values)
    rng = np.random.default_rng(_SEED)
    halves = (rng.permuted(np.tile(np.arange(n), (SPLITS, 1)), axis=1) < n // 2).astype(np.float64)
    sides = np.concatenate([halves, 1 - halves])
    totals = sides @ weights
    means = (sides @ (values * weights[:, None])) / totals[:, None]
    # A tie goes to all that share it, in equal parts, so that the order of runs says nothing.
    top = np.isclose(means, means.max(axis=1, keepdims=True), rtol=1e-12, atol=1e-12)
    shares = top / top.sum(axis=1, keepdims=True)
    others = np.roll(means, SPLITS, axis=0)
    return float((shares * others).sum(axis=1).mean()), float(shares[:, best].mean())
