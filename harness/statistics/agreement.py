"""Agreement of annotators on ordinal labels, with 95 % intervals.

- two annotators: Cohen's kappa with quadratic weights (Cohen 1968): 1 minus the mean squared difference of their
  labels over that of randomly paired labels;
- any number, with gaps: Krippendorff's alpha with the ordinal difference (Krippendorff 2011, "Computing
  Krippendorff's Alpha-Reliability"), over the items with two or more labels.

1: perfect agreement; 0: agreement by chance; negative: less. Intervals are from a jackknife that leaves out one
cluster (all answers to one query) at a time, with the limits of `mean_interval` over its pseudo-values. The
interval of the share of equal labels is also by cluster (`pooled_share_interval`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import isfinite, nan

import numpy as np

from harness.statistics.confidence_intervals import UNKNOWN, Array, Interval, mean_interval, pooled_share_interval

_Pairs = Callable[[tuple[int, ...]], list[tuple[int, ...]]]
_Statistic = Callable[[Array, Array], float]
"""From a table of how often each label met each other one, and the labels, to a coefficient."""
FEWEST_ITEMS = 10
"""Minimum number of items with at least two labels."""


@dataclass(frozen=True)
class RatedItem:
    """The labels of one item, one per annotator."""

    cluster: str
    """What the item shares with other items, such as its query."""
    labels: tuple[int, ...]


@dataclass(frozen=True)
class AgreementFigure:
    n_items: int
    """Items with at least two labels."""
    value: float | None = None
    interval: Interval = UNKNOWN
    same: float | None = None
    """Share of equal pairs of labels; each item has the same weight."""
    same_interval: Interval = UNKNOWN
    why: str = ""
    """Why there is no value or no interval; empty if both exist."""


def weighted_kappa(items: Sequence[RatedItem]) -> AgreementFigure:
    """Of two annotators, whose labels have the same order in each item. Raises ValueError unless there are two
    labels.
    """
    if any(len(item.labels) != 2 for item in items):
        raise ValueError("Cohen's kappa needs exactly two annotators")
    return _figure(items, lambda labels: [labels], _kappa)


def ordinal_alpha(items: Sequence[RatedItem]) -> AgreementFigure:
    """Krippendorff's alpha of any number of annotators; items with fewer than two labels are ignored."""
    pairable = [item for item in items if len(item.labels) > 1]
    return _figure(pairable, lambda labels: list(permutations(labels, 2)), _alpha)


def _figure(items: Sequence[RatedItem], pairs_of: _Pairs, statistic: _Statistic) -> AgreementFigure:
    if len(items) < FEWEST_ITEMS:
        return AgreementFigure(len(items), why=f"fewer than {FEWEST_ITEMS} items with two labels")
    values = sorted({label for item in items for label in item.labels})
    tables: dict[str, Array] = {}
    same: dict[str, list[float]] = {}
    for item in items:
        table = tables.setdefault(item.cluster, np.zeros((len(values), len(values))))
        pairs = pairs_of(item.labels)
        for one, other in pairs:
            table[values.index(one), values.index(other)] += 1 / (len(item.labels) - 1)
        same.setdefault(item.cluster, []).append(float(np.mean([one == other for one, other in pairs])))
    sums, sizes = [sum(own) for own in same.values()], [len(own) for own in same.values()]
    figure = AgreementFigure(
        len(items), same=sum(sums) / sum(sizes), same_interval=pooled_share_interval(sums, sizes)
    )
    value, interval, why = _estimate(
        np.array(list(tables.values())), np.array(values, dtype=np.float64), statistic
    )
    return replace(figure, value=value, interval=interval, why=why)


def _estimate(tables: Array, values: Array, statistic: _Statistic) -> tuple[float | None, Interval, str]:
    """`tables`: for each cluster, how often each label met each other one."""
    whole, n = tables.sum(axis=0), len(tables)
    value = statistic(whole, values)
    if not isfinite(value):
        return None, UNKNOWN, "all labels are equal, so agreement cannot be distinguished from chance"
    without = np.array([statistic(whole - one, values) for one in tables])
    if not np.isfinite(without).all():
        return value, UNKNOWN, "no interval: all disagreements are on one query"
    pseudo = n * value - (n - 1) * without
    interval = mean_interval(list(pseudo + (value - pseudo.mean())), bounds=(-1.0, 1.0))
    return value, interval, "" if interval.low is not None else "no interval: no variation between queries"


def _kappa(table: Array, values: Array) -> float:
    return _chance_corrected(table, (values[:, None] - values) ** 2, table.sum())


def _alpha(table: Array, _values: Array) -> float:
    """Krippendorff's ordinal difference: the labels that lie between two, and half of those at both ends."""
    totals = table.sum(axis=0)
    upto = totals.cumsum() - totals / 2
    return _chance_corrected(table, (upto[:, None] - upto) ** 2, table.sum() - 1)


def _chance_corrected(table: Array, differences: Array, pairs: float) -> float:
    """1 - observed / expected difference; NaN if none is expected."""
    expected = float((differences * np.outer(table.sum(axis=1), table.sum(axis=0))).sum())
    if expected <= 0 or pairs <= 0:
        return nan
    return 1 - float((differences * table).sum()) * float(pairs) / expected
