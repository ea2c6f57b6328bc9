"""Non-inferiority: is a run as good as every other, within a margin? A statistical tie is not enough.

A run is non-inferior (Blackwelder 1982) if the lower limit of its mean difference to each other run is above minus
the margin. Every comparison must pass (intersection-union test, Berger 1982), so their number needs no correction.
Testing several runs until one passes does: the level is 2.5 % one-sided, divided by the number of runs that are
tried (Bonferroni). The probability that a run passes although it is worse than the best by more than the margin is
at most 2.5 %. If queries share documents, the result must also hold with the queries of one document flipped
together, since a recommendation is for new documents. A missing value is the worst possible one for the run and
the best possible one for the other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.statistics.confidence_intervals import Interval
from harness.statistics.difference_tests import ALPHA
from harness.statistics.multiple_comparisons import intervals_at
from harness.statistics.paired_comparison import MeasureComparison

MARGIN = 0.05
"""Default margin as a part of the largest possible difference: 5 points for a share."""


@dataclass(frozen=True)
class NonInferiority:
    """A run that was shown to be as good as every other."""

    place: int
    """Position of the run in the comparison."""
    at_most_worse: float
    """Largest upper limit of its disadvantage to another run: below the margin; negative if it leads."""


def as_good(
    compared: MeasureComparison, place: int, others: Collection[int], margin: float, n_tried: int = 1
) -> NonInferiority | None:
    """The result if the run at `place` is shown to be less than `margin` worse than each of `others`, otherwise
    None.

    `n_tried`: number of runs tested.
    """
    limits = _at_most_worse(compared, place, sorted({*others} - {place}), n_tried)
    known = [limit for limit in limits if limit is not None and limit < margin]
    return NonInferiority(place, max(known, default=float("-inf"))) if len(known) == len(limits) else None


def disadvantage(compared: MeasureComparison, place: int, other: int, n_tried: int = 1) -> Interval:
    """How far the run at `place` is behind the `other`, in the direction of the metric. Each limit holds in the
    worst case of missing values, and on new documents too if queries share documents; None: unknown.
    """
    (high,) = _at_most_worse(compared, place, [other], n_tried)
    (ahead,) = _at_most_worse(compared, other, [place], n_tried)
    return Interval(None if ahead is None else 0.0 - ahead, high)


def cheapest_as_good(
    compared: MeasureComparison,
    costs: Sequence[float | None],
    places: Collection[int] | None = None,
    margin: float | None = None,
) -> NonInferiority | None:
    """The cheapest of `places` (default: every run) that is shown to be as good as all of them; None if none is.

    `costs`: one per run of the comparison. A run without a cost is not a candidate, but the others are compared
    with it.
    """
    chosen = sorted(range(len(compared.means)) if places is None else places)
    if margin is None and compared.measure.span is not None:
        margin = MARGIN * compared.measure.span
    if margin is None:
        return None
    candidates = sorted((cost, place) for place in chosen if (cost := costs[place]) is not None)
    # The truly best run cannot be selected wrongly. So if every run is a candidate, one fewer counts.
    n_tried = max(1, min(len(candidates), len(chosen) - 1))
    found = (as_good(compared, place, chosen, margin, n_tried) for _, place in candidates)
    return next((one for one in found if one is not None), None)


def _at_most_worse(
    compared: MeasureComparison, place: int, others: Sequence[int], n_tried: int
) -> list[float | None]:
    """Upper limit of the disadvantage to each other run; None: no limit is known."""
    higher = compared.measure.higher_is_better
    if not compared.n_common or higher is None or not others:
        return [None] * len(others)
    sign = 1.0 if higher else -1.0
    ahead = sign * np.stack([compared.least_difference(place, other) for other in others], axis=1)
    differences = compared.to_test(ahead)
    lows = [interval.low for interval in intervals_at(differences, ALPHA / n_tried)]
    if compared.clusters is not None:
        on_new = intervals_at(replace(differences, clusters=compared.clusters), ALPHA / n_tried)
        lows = [
            None if low is None or new.low is None else min(low, new.low)
            for low, new in zip(lows, on_new, strict=True)
        ]
    return [None if low is None else 0.0 - low for low in lows]
