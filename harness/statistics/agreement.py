"""Do annotators agree, on labels that have an order? Each figure with a 95 % interval.

- two annotators: Cohen's kappa with quadratic weights (Cohen 1968): 1 less the mean squared difference of their
  labels over that of labels paired at random;
- any number, with gaps: Krippendorff's alpha with the ordinal difference (Krippendorff 2011, "Computing
  Krippendorff's Alpha-Reliability"), over the items that two or more labelled.

1: they always agree; 0: as often as by chance; below: less. Intervals are a jackknife's, which leaves out one
cluster at a time (all answers to one query), with the limits of `mean_interval` over its pseudo-values; that of
the share of labels that are the same is by cluster, too (`pooled_share_interval`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import isfinite, nan

import numpy as np

from harness.statistics.intervals import UNKNOWN, Interval, mean_interval, pooled_share_interval
from harness.statistics.t_intervals import Array

_Pairs = Callable[[tuple[int, ...]], list[tuple[int, ...]]]
_Statistic = Callable[[Array, Array], float]
"""From how often each label met each other one, and the labels themselves."""
FEWEST_ITEMS = 10
"""Labelled by two, below which no figure is given."""


@dataclass(frozen=True)
class RatedItem:
    """The labels of one item, one for each annotator."""

    cluster: str
    """What it shares with other items, such as its query."""
    labels: tuple[int, ...]


@dataclass(frozen=True)
class AgreementFigure:
    """How far annotators agree."""

    n_items: int
    """Labelled by two at least."""
    value: float | None = None
    interval: Interval = UNKNOWN
    same: float | None = None
    """Share of pairs of labels that are the same, each item counting the same."""
    same_interval: Interval = UNKNOWN
    why: str = ""
    """Why there is no value, or no interval; empty: there is."""


def weighted_kappa(items: Sequence[RatedItem]) -> AgreementFigure:
    """Of two annotators, whose labels have the same order in each item. Raises ValueError unless there are two
    labels.
    """
    if any(len(item.labels) != 2 for item in items):
        raise ValueError("Cohen's kappa is of two annotators")
    return _figure(items, lambda labels: [labels], _kappa)


def ordinal_alpha(items: Sequence[RatedItem]) -> AgreementFigure:
    """Of any annotators; items with fewer than two labels have no part in it."""
    pairable = [item for item in items if len(item.labels) > 1]
    return _figure(pairable, lambda labels: list(permutations(labels, 2)), _alpha)


def _figure(items: Sequence[RatedItem], pairs_of: _Pairs, statistic: _Statistic) -> AgreementFigure:
    if len(items) < FEWEST_ITEMS:
        return AgreementFigure(len(items), why=f"fewer than {FEWEST_ITEMS} items that two labelled")
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
    """`tables`: of each cluster, how often each label met each other one."""
    whole, n = tables.sum(axis=0), len(tables)
    value = statistic(whole, values)
    if not isfinite(value):
        return None, UNKNOWN, "every label is the same: nothing tells agreement from chance"
    without = np.array([statistic(whole - one, values) for one in tables])
    if not np.isfinite(without).all():
        return value, UNKNOWN, "all that differs hangs on one query: no interval"
    pseudo = n * value - (n - 1) * without
    interval = mean_interval(list(pseudo + (value - pseudo.mean())), bounds=(-1.0, 1.0))
    return value, interval, "" if interval.low is not None else "no interval: nothing varies between queries"


def _kappa(table: Array, values: Array) -> float:
    return _one_less(table, (values[:, None] - values) ** 2, table.sum())


def _alpha(table: Array, _values: Array) -> float:
    """Krippendorff's ordinal difference: how many labels lie between two, half of those at both ends."""
    totals = table.sum(axis=0)
    upto = totals.cumsum() - totals / 2
    return _one_less(table, (upto[:, None] - upto) ** 2, table.sum() - 1)


def _one_less(table: Array, differences: Array, pairs: float) -> float:
    """1 - observed / expected difference; NaN if none is expected."""
    expected = float((differences * np.outer(table.sum(axis=1), table.sum(axis=0))).sum())
    if expected <= 0 or pairs <= 0:
        return nan
    return 1 - float((differences * table).sum()) * float(pairs) / expected
