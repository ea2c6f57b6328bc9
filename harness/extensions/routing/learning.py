"""A table from query types to systems, learnt from queries whose scores by every system are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.statistics.t_intervals import Array

Columns = NDArray[np.int64]
FEWEST_OF_TYPE = 4
"""Queries of a type below which nothing is learnt of it."""
_SLACK = 1e-12
"""Of a difference of means: what it is off by."""


@dataclass(frozen=True)
class Recorded:
    """What several systems are worth on the same queries: a row a query, a column a system."""

    worth: Array
    """Higher is better; what answers cost is taken off already, where it counts."""
    weights: Array
    """Of the queries, 1 on average."""
    types: Sequence[str]
    """Of the queries, as whoever routes will be told them."""

    def of(self, rows: NDArray[np.bool_]) -> Recorded:
        """The part of it that these rows are."""
        types = [name for name, is_in in zip(self.types, rows, strict=True) if is_in]
        return Recorded(self.worth[rows], self.weights[rows], types)

    def mean(self, choice: Columns) -> float:
        """What is got where each query goes to the system of its place in `choice`, in the queries' mix."""
        taken = np.take_along_axis(self.worth, choice[:, None], axis=1)[:, 0]
        return float(np.average(taken, weights=self.weights))

    def best_single(self) -> int:
        """The system with the highest mean; of several the first."""
        return _first_best(np.average(self.worth, axis=0, weights=self.weights))

    def rows_of(self, name: str) -> NDArray[np.bool_]:
        """Which queries are of a type."""
        return np.array([one == name for one in self.types], dtype=bool)


@dataclass(frozen=True)
class RoutingTable:
    """To which system queries of each type go, by its column."""

    systems: Mapping[str, int]
    """By type."""
    otherwise: int
    """Of every other type: the best single system."""

    def choices(self, types: Sequence[str]) -> Columns:
        """The system of each query."""
        return np.array([self.systems.get(name, self.otherwise) for name in types], dtype=np.int64)


def learnt_table(recorded: Recorded) -> RoutingTable:
    """The best system of each type, where it is ahead of the best single one by more than the standard error of
    that difference; else, and of a type with hardly a query, the best single one.

    The rule of one standard error (Breiman et al. 1984, 3.4.3): a table that follows every difference follows
    chance, and loses on other queries what it seemed to gain.
    """
    single = recorded.best_single()
    systems = {}
    for name in sorted(set(recorded.types)):
        own = recorded.of(recorded.rows_of(name))
        best, ahead = own.best_single(), 0.0
        if best != single and len(own.types) >= FEWEST_OF_TYPE:
            differences = own.worth[:, best] - own.worth[:, single]
            error = float(differences.std(ddof=1)) / len(differences) ** 0.5
            ahead = float(np.average(differences, weights=own.weights)) - error
        systems[name] = best if ahead > _SLACK else single
    return RoutingTable(systems, single)


def best_of_types(recorded: Recorded) -> RoutingTable:
    """The best system of each type on these very queries: what nobody can know before."""
    single = recorded.best_single()
    names = sorted(set(recorded.types))
    return RoutingTable({name: recorded.of(recorded.rows_of(name)).best_single() for name in names}, single)


def best_of_queries(recorded: Recorded) -> Columns:
    """The best system of each query: what nobody can know before."""
    found: Columns = np.argmax(recorded.worth, axis=1).astype(np.int64)
    return found


def _first_best(means: Array) -> int:
    return int(np.argmax(means >= means.max() - _SLACK))
