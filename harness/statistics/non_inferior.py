"""Is a run as good as every other, within a margin? That nobody told it apart does not say so.

Non-inferior (Blackwelder 1982): the lower limit of its mean difference to each other run is above minus the
margin. All of them have to be (intersection-union, Berger 1982), so the others cost no correction; that
several runs are tried until one is found does: 2.5 % one-sided, over the number of runs that are tried
(Bonferroni). Were a run worse than the best by more than the margin, it would be called as good in at most 2.5
% of cases.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from harness.statistics.difference_tests import ALPHA
from harness.statistics.multiple_comparisons import Differences, intervals_at
from harness.statistics.paired_comparison import MeasureComparison

MARGIN = 0.05
"""Of the largest difference that can be: 5 points of a share."""


@dataclass(frozen=True)
class NonInferiority:
    """A run that is as good as every other."""

    place: int
    """In the comparison."""
    margin: float
    """In the measure's own unit."""
    at_most_worse: float
    """The largest disadvantage to any other that is not ruled out: below the margin, negative if it is ahead of
    all."""
    against: int
    """That other."""


def margin_of(compared: MeasureComparison) -> float | None:
    """The default margin; None where nobody knows how large a difference can be, as of seconds."""
    return None if compared.measure.span is None else MARGIN * compared.measure.span


def as_good(
    compared: MeasureComparison, place: int, others: Collection[int], margin: float, n_tried: int = 1
) -> NonInferiority | None:
    """Whether the run at `place` is worse than none of `others` by more than `margin`; None: that is not shown.

    `n_tried`: of so many runs that is asked.
    """
    held = sorted(other for other in others if other != place)
    found = list(zip(_at_most_worse(compared, place, held, n_tried), held, strict=True))
    if any(limit is None or limit >= margin for limit, _ in found):
        return None
    known = [(limit, other) for limit, other in found if limit is not None]
    worst, against = max(known, default=(float("-inf"), place))
    return NonInferiority(place, margin, worst, against)


def cheapest_as_good(
    compared: MeasureComparison,
    costs: Sequence[float | None],
    places: Collection[int] | None = None,
    margin: float | None = None,
) -> NonInferiority | None:
    """The cheapest of `places` (default: every run) that is as good as all of them; None: of none is that shown.

    `costs`: of each run of the comparison; a run without one is no candidate, but the others are held against it.
    """
    chosen = sorted(range(len(compared.means)) if places is None else places)
    limit = margin_of(compared) if margin is None else margin
    candidates = sorted((cost, place) for place in chosen if (cost := costs[place]) is not None)
    if limit is None:
        return None
    # The best of all is worse than none: where it is surely a candidate, one fewer can be chosen wrongly.
    n_tried = max(1, min(len(candidates), len(chosen) - 1))
    found = (as_good(compared, place, chosen, limit, n_tried) for _, place in candidates)
    return next((one for one in found if one is not None), None)


def _at_most_worse(
    compared: MeasureComparison, place: int, others: Sequence[int], n_tried: int
) -> list[float | None]:
    """The largest disadvantage to each other that is not ruled out; None: any may be."""
    higher = compared.measure.higher_is_better
    if not compared.n_common or higher is None or not others:
        return [None] * len(others)
    sign = 1.0 if higher else -1.0
    ahead = sign * np.stack([compared.differences(place, other) for other in others], axis=1)
    differences = Differences(
        ahead, compared.weights, compared.types, binary=compared.measure.is_binary, span=compared.measure.span
    )
    lows = [interval.low for interval in intervals_at(differences, ALPHA / n_tried)]
    return [None if low is None else 0.0 - low for low in lows]
