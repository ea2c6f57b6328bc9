"""The effect of a change on a metric: values before and after, for each answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean
from typing import Literal

import numpy as np

from harness.extensions.meta_evaluation.perturbations import Perturbation
from harness.extensions.meta_evaluation.perturbed_runs import FEWEST_CASES, PerturbedRuns
from harness.protocols import Measure, Sides
from harness.statistics.aggregate import Frame
from harness.statistics.confidence_intervals import (
    ENOUGH,
    FEWEST,
    LEVEL,
    UNKNOWN,
    WIDER,
    Array,
    Interval,
    ratio_of_sums,
    wilson,
)
from harness.statistics.roc_auc import Auc, QueryScores, auc
from harness.store import RunDir

Noticed = Literal["notices", "in part", "hardly", "misses", "prefers it", "undecided", "too few", "cannot notice"]
_CLEAR, _PART = 0.9, 0.7
"""AUC from which a measure notices a perturbation, and from which in part."""
_NOTHING = 0.05
"""Share of a measure's span: if the mean's change is shown to be smaller, the perturbation is missed."""


@dataclass(frozen=True)
class PerturbationEffect:
    """One measure and one perturbation, over the answers with a value before and after."""

    measure: Measure
    swap: Perturbation
    before: tuple[float, ...]
    after: tuple[float, ...]
    """Of the same answers, in the same order."""
    n_swapped: int
    """Answers that were changed."""
    n_clusters: int
    drop: float | None
    """How much worse the mean is afterwards; negative: better."""
    interval: Interval
    auc: Auc
    """How well the value distinguishes unchanged from changed answers, over all queries; 1: perfectly."""
    n_lower: int
    """Answers that score worse afterwards."""
    verdict: Noticed

    @property
    def n(self) -> int:
        """Answers with both values."""
        return len(self.before)

    @property
    def mean_before(self) -> float | None:
        """None if no answer has both values."""
        return fmean(self.before) if self.before else None

    @property
    def mean_after(self) -> float | None:
        """None if no answer has both values."""
        return fmean(self.after) if self.after else None

    @property
    def lower(self) -> Interval:
        """Lower limit of the share of answers that become worse (Wilson; none if answers share clusters)."""
        return wilson(self.n_lower, self.n) if self.n_clusters == self.n else UNKNOWN


def swap_effects(runs: PerturbedRuns, measures: Sequence[Measure]) -> list[PerturbationEffect]:
    """Of each measure with a better direction, for each perturbation; measures without any value are left out."""
    frame = Frame.of(runs.base)
    before = _values(runs.base)
    found = []
    for swap, run in runs.swapped:
        after, n_swapped = _values(run), len(run.sample())
        for measure in measures:
            if measure.failure_value is not None and before.get(measure.name):
                both = (before[measure.name], after.get(measure.name, {}))
                found.append(_effect(measure, swap, both, n_swapped, frame))
    return found


def _values(run: RunDir) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for score in run.scores():
        if score.status == "scored" and score.value is not None:
            found.setdefault(score.measure, {})[score.query_id] = score.value
    return found


def _effect(
    measure: Measure,
    swap: Perturbation,
    values: tuple[Mapping[str, float], Mapping[str, float]],
    n_swapped: int,
    frame: Frame,
) -> PerturbationEffect:
    shared = sorted(values[0].keys() & values[1].keys())
    before, after = (tuple(side[query] for query in shared) for side in values)
    names = [frame.clusters.get(query, query) for query in shared]
    sign = 1 if measure.higher_is_better else -1
    drops = sign * (np.array(before) - np.array(after))
    interval = _within(_interval(drops, names), measure)
    drop = float(drops.mean()) if shared else None
    by_cluster = _by_cluster(names, sign * np.array(before), sign * np.array(after))
    area = _area(by_cluster)
    verdict = verdict_by_rule(swap.changes, measure, drops.tolist(), interval, area.value or 0.0)
    lower = int((drops > 0).sum())
    return PerturbationEffect(
        measure, swap, before, after, n_swapped, len(set(names)), drop, interval, area, lower, verdict
    )


def _interval(drops: Array, names: Sequence[str]) -> Interval:
    """Interval of the mean drop, with clusters of queries as independent units; see `analysis.intervals`."""
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    if len(places) < FEWEST or np.ptp(drops) == 0:
        return UNKNOWN
    numbers = [places[name] for name in names]
    sums: Array = np.bincount(numbers, weights=drops).astype(np.float64)
    totals: Array = np.bincount(numbers).astype(np.float64)
    level = LEVEL if len(places) >= ENOUGH else WIDER
    low, high = ratio_of_sums(sums[:, None], totals).intervals(1 - level)
    return Interval(float(low[0]), float(high[0]))


def _within(interval: Interval, measure: Measure) -> Interval:
    """Limited to the range of the metric."""
    if interval.low is None or interval.high is None or measure.range is None:
        return interval
    span = measure.range[1] - measure.range[0]
    return Interval(max(-span, interval.low), min(span, interval.high))


def _area(clusters: Sequence[QueryScores]) -> Auc:
    """Without an interval for few clusters, or if no resample orders the values differently."""
    found = auc(clusters)
    is_known = len(clusters) >= ENOUGH and found.interval.low != found.interval.high
    return found if is_known else Auc(found.value, UNKNOWN)


def _by_cluster(names: Sequence[str], before: Array, after: Array) -> list[QueryScores]:
    groups: dict[str, tuple[list[float], list[float]]] = {}
    for name, was, became in zip(names, before.tolist(), after.tolist(), strict=True):
        own = groups.setdefault(name, ([], []))
        own[0].append(was)
        own[1].append(became)
    return [QueryScores(*group) for group in groups.values()]


def verdict_by_rule(
    changes: Sides, measure: Measure, drops: Sequence[float], interval: Interval, area: float
) -> Noticed:
    """The verdict from the drops, the interval of their mean and the AUC: see docs/sensitivity.md."""
    if measure.reads and not measure.reads & changes:
        return "cannot notice"
    if len(drops) < FEWEST_CASES:
        return "too few"
    if not any(drops):
        return "misses" if len(drops) >= ENOUGH else "undecided"
    low, high = interval
    if low is None or high is None:
        # Equal differences need no interval; for others it is unknown.
        low, high = (drops[0], drops[0]) if len(set(drops)) == 1 else (-inf, inf)
    if high < 0:
        return "prefers it"
    if low > 0:
        return "notices" if area >= _CLEAR else "in part" if area >= _PART else "hardly"
    span = measure.range[1] - measure.range[0] if measure.range else 0.0
    return "misses" if max(-low, high) <= _NOTHING * span and area < _PART else "undecided"
