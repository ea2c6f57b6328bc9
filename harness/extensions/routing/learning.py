"""Learns a table from query types to systems, from queries that all systems have answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.statistics.confidence_intervals import Array

Columns = NDArray[np.int64]
FEWEST_OF_TYPE = 4
"""The fewest queries of a type to learn from."""
_SLACK = 1e-12
"""Tolerance for rounding errors in differences of means."""


@dataclass(frozen=True)
class RecordedResults:
    """The worth of several systems on the same queries."""

    worth: Array
    """Queries x systems; higher is better, weighted costs are already subtracted."""
    weights: Array
    """Weights of the queries, 1 on average."""
    types: Sequence[str]
    """The type of each query."""

    def of(self, rows: NDArray[np.bool_]) -> RecordedResults:
        """The selected rows."""
        types = [name for name, is_in in zip(self.types, rows, strict=True) if is_in]
        return RecordedResults(self.worth[rows], self.weights[rows], types)

    def mean(self, choice: Columns) -> float:
        """The weighted mean worth if `choice` is the system of each query."""
        taken = np.take_along_axis(self.worth, choice[:, None], axis=1)[:, 0]
        return float(np.average(taken, weights=self.weights))

    def best_single(self) -> int:
        """The system with the highest mean; the first of equals."""
        return _first_best(np.average(self.worth, axis=0, weights=self.weights))

    def rows_of(self, name: str) -> NDArray[np.bool_]:
        """A mask of the queries of a type."""
        return np.array([one == name for one in self.types], dtype=bool)


@dataclass(frozen=True)
class RoutingTable:
    """Query type -> system, as the number of its column."""

    systems: Mapping[str, int]
    """Query type -> column of the system."""
    otherwise: int
    """The system for all other types: the best single one."""

    def choices(self, types: Sequence[str]) -> Columns:
        """The system of each query."""
        return np.array([self.systems.get(name, self.otherwise) for name in types], dtype=np.int64)


def learnt_table(recorded: RecordedResults) -> RoutingTable:
    """The best system of each type if its lead over the best single system is larger than one standard error of
    the difference, otherwise the best single system. Types with few queries also get the best single system.

    The one-standard-error rule (Breiman et al. 1984, 3.4.3) avoids overfitting: a table that follows every
    difference loses its gain on other queries.
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


def best_of_types(recorded: RecordedResults) -> RoutingTable:
    """The best system of each type on these queries, in hindsight."""
    single = recorded.best_single()
    names = sorted(set(recorded.types))
    return RoutingTable({name: recorded.of(recorded.rows_of(name)).best_single() for name in names}, single)


def best_of_queries(recorded: RecordedResults) -> Columns:
    """The best system of each query, in hindsight."""
    found: Columns = np.argmax(recorded.worth, axis=1).astype(np.int64)
    return found


def _first_best(means: Array) -> int:
    return int(np.argmax(means >= means.max() - _SLACK))
