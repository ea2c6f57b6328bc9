"""The number of queries from which an index pays off: its cost is shared by the queries that use it.

A system costs index + n * per_query for n queries, a straight line; two lines cross at most once: n = (index_a -
index_b) / (per_query_b - per_query_a).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, hypot

from harness.statistics.confidence_intervals import UNKNOWN, Interval

_SAME = 1e-9
"""Means with a smaller relative difference differ only by rounding."""


@dataclass(frozen=True)
class CostLine:
    """The cost of one system in tokens or dollars. A system with an unknown cost has no line."""

    index: float
    """One-time cost."""
    per_query: float
    """Mean cost of a query."""
    interval: Interval = UNKNOWN
    """95 % interval of the mean."""

    def amortised(self, n: float) -> float:
        """Cost per query if `n` > 0 queries share the index."""
        return self.index / n + self.per_query

    def band(self, n: float) -> Interval:
        """The interval of `amortised`. The index has none, because it was built once."""
        low, high = (None if limit is None else self.index / n + limit for limit in self.interval)
        return Interval(low, high)


@dataclass(frozen=True)
class QueryRange:
    """Numbers of queries from `first` to `last` (None: unlimited) for which one line is lower."""

    first: int
    last: int | None

    @property
    def is_always(self) -> bool:
        return self.first == 1 and self.last is None


def cheaper(one: CostLine, other: CostLine) -> QueryRange | None:
    """The numbers of queries for which `one` is cheaper than `other`; None: never."""
    gap, saving = _gap_and_saving(one, other)
    if saving > 0:
        return QueryRange(max(1, floor(gap / saving) + 1), None)
    if gap >= 0:
        return None
    if saving == 0:
        return QueryRange(1, None)
    last = ceil(gap / saving) - 1
    return QueryRange(1, last) if last >= 1 else None


def crossing(one: CostLine, other: CostLine) -> float | None:
    """Where the lines cross, in queries; None if they do not, or before the first query."""
    gap, saving = _gap_and_saving(one, other)
    at = gap / saving if saving else 0.0
    return at if at > 0 else None


def crossing_interval(one: CostLine, other: CostLine) -> Interval:
    """95 % limits of `crossing`, from the intervals of both means; the upper one is None if they may never cross.

    The limits of the difference of means are those of Zou & Donner (2008) for two independent samples. Over the
    same queries the difference is more precise, so the limits are rather too wide.
    """
    at = crossing(one, other)
    (low, high), (other_low, other_high) = one.interval, other.interval
    if at is None or low is None or high is None or other_low is None or other_high is None:
        return UNKNOWN
    gap, saving = _gap_and_saving(one, other)
    below = saving - hypot(other.per_query - other_low, high - one.per_query)
    above = saving + hypot(other_high - other.per_query, one.per_query - low)
    # The larger the saving, the fewer queries compensate for the index.
    near, far = (below, above) if saving > 0 else (above, below)
    return Interval(gap / far, gap / near if near * saving > 0 else None)


def _gap_and_saving(one: CostLine, other: CostLine) -> tuple[float, float]:
    """How much more the index of `one` costs, and how much less its queries cost."""
    return _difference(one.index, other.index), _difference(other.per_query, one.per_query)


def _difference(left: float, right: float) -> float:
    return 0.0 if abs(left - right) <= _SAME * max(abs(left), abs(right)) else left - right
