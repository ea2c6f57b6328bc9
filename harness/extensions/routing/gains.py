"""The gain of routing over the best single system, measured on held-out queries.

The queries of half of the documents are used for learning, the others for testing. Queries that cite the same
document most stay together (`clusters_of`). The best single system is chosen on the learning half too, so that
neither it nor the table has seen the test queries. This is repeated over many random splits.

The splits share queries, so their results are not independent. The interval of their mean is the corrected
resampled t of Nadeau and Bengio (2003, Machine Learning 52:239-281): the variance between splits times 1 / splits
+ test / training, with one degree of freedom less than the number of splits or documents, whichever is smaller.
Its coverage is in docs/STATISTICS.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from harness.display import Quantity
from harness.statistics.confidence_intervals import Array, scipy_special

Columns = NDArray[np.int64]
Queries = NDArray[np.bool_]
FEWEST_OF_TYPE = 4
_SLACK = 1e-12  # Tolerance for rounding errors in differences of means.
FEWEST_QUERIES, FEWEST_CLUSTERS = 30, 15
"""With fewer, intervals would not have their nominal coverage, and none is given."""


@dataclass(frozen=True)
class RecordedResults:
    """The worth of several systems on the same queries."""

    worth: Array
    """Queries x systems; higher is better, weighted costs are already subtracted."""
    weights: Array
    """Weights of the queries, 1 on average."""
    types: Sequence[str]

    def of(self, rows: Queries) -> RecordedResults:
        return RecordedResults(self.worth[rows], self.weights[rows], np.array(self.types)[rows].tolist())

    def mean(self, choice: Columns) -> float:
        return mean_under(choice, self.worth, self.weights)

    def best_single(self) -> int:
        """The system with the highest mean; the first of equals."""
        means = np.average(self.worth, axis=0, weights=self.weights)
        return int(np.argmax(means >= means.max() - _SLACK))

    def by_type(self) -> Iterator[tuple[str, Queries]]:
        types = np.array(self.types)
        return ((name, types == name) for name in sorted(set(self.types)))


def mean_under(choice: Columns, values: Array, weights: Array) -> float:
    return float(np.average(np.take_along_axis(values, choice[:, None], axis=1)[:, 0], weights=weights))


@dataclass(frozen=True)
class RoutingTable:
    """Query type -> system, as the number of its column."""

    systems: Mapping[str, int]
    otherwise: int
    """The system for all other types: the best single one."""

    def choices(self, types: Sequence[str]) -> Columns:
        return np.array([self.systems.get(name, self.otherwise) for name in types], dtype=np.int64)


def learnt_table(recorded: RecordedResults) -> RoutingTable:
    """The best system of each type if its lead over the best single system is larger than one standard error of
    the difference, otherwise the best single system. Types with few queries also get the best single system.

    The one-standard-error rule (Breiman et al. 1984, 3.4.3) avoids overfitting: a table that follows every
    difference loses its gain on other queries.
    """
    single = recorded.best_single()
    systems = {}
    for name, rows in recorded.by_type():
        own = recorded.of(rows)
        best, ahead = own.best_single(), 0.0
        if best != single and len(own.types) >= FEWEST_OF_TYPE:
            differences = own.worth[:, best] - own.worth[:, single]
            error = float(differences.std(ddof=1)) / len(differences) ** 0.5
            ahead = float(np.average(differences, weights=own.weights)) - error
        systems[name] = best if ahead > _SLACK else single
    return RoutingTable(systems, single)


def best_of_types(recorded: RecordedResults) -> RoutingTable:
    """The best system of each type on these queries, in hindsight."""
    systems = {name: recorded.of(rows).best_single() for name, rows in recorded.by_type()}
    return RoutingTable(systems, recorded.best_single())


@dataclass(frozen=True)
class PolicyGain:
    values: Array
    """Mean worth for each split, in the unit of `RecordedResults.worth`."""
    gains: Array
    """Gain over the best single system of the learning half, for each split."""
    choices: Sequence[Columns]
    """For each split, the chosen system of each test query."""
    by_luck: float | None = None
    """The mean gain of the same choice in hindsight if types, or queries, were unrelated to systems."""


@dataclass(frozen=True)
class RoutingGains:
    teaches: Queries
    """Splits x queries: whether a query is in the learning half."""
    n_clusters: int
    single: PolicyGain
    """The best single system: its gains are 0."""
    learnt: Mapping[str, PolicyGain]
    """Source of types -> the table learnt from these types."""
    by_type: PolicyGain
    """The best system of each type, known in advance: an upper bound. By luck: with shuffled types."""
    by_query: PolicyGain
    """The best system of each query, known in advance: an upper bound. By luck: with the values of each system
    shuffled within each type, as of systems that are as good on each type, but right on independent queries."""

    def over_splits(self, values: Array) -> Quantity:
        """The mean of a value for each split. No interval: too few queries or clusters, or no variance."""
        mean = float(values.mean())
        n = self.teaches.shape[1]
        if n < FEWEST_QUERIES or self.n_clusters < FEWEST_CLUSTERS or np.ptp(values) <= _SLACK:
            return Quantity(mean)
        teaching = self.teaches.sum(axis=1).astype(np.float64)
        share = float(np.mean((n - teaching) / teaching))
        error = float(np.sqrt((1 / len(values) + share) * values.var(ddof=1)))
        far = float(-scipy_special().stdtrit(min(len(values), self.n_clusters) - 1, 0.05 / 2)) * error
        return Quantity(mean, mean - far, mean + far)


def halves(clusters: NDArray[np.int64], n_splits: int = 100, seed: int = 0) -> Queries:
    """Splits x queries, with the seeds `seed`, `seed` + 1 and so on. Whole clusters make up the learning half."""
    names, sizes = np.unique(clusters, return_counts=True)
    teaches = np.empty((n_splits, len(clusters)), dtype=np.bool_)
    for at in range(n_splits):
        order = np.random.default_rng(seed + at).permutation(len(names))
        before = np.concatenate([[0], np.cumsum(sizes[order])[:-1]])
        # The cluster in the middle belongs to the half that contains more of it.
        teaches[at] = np.isin(clusters, names[order[before + sizes[order] / 2 <= len(clusters) / 2]])
    return teaches


def routing_gains(
    recorded: RecordedResults,
    clusters: NDArray[np.int64],
    told: Mapping[str, Sequence[str]],
    n_splits: int = 100,
    seed: int = 0,
) -> RoutingGains:
    """The results of all policies. `recorded.types` are the labels of the data set; `told`: source of types ->
    types to learn a table from.
    """
    teaches = halves(clusters, n_splits, seed)
    tables = [_on_split(recorded, told, half, number) for number, half in enumerate(teaches, start=seed)]
    values = {name: np.array([table[name][0] for table in tables]) for name in tables[0]}

    def of(name: str, luck: str = "") -> PolicyGain:
        by_luck = float((values[luck] - values[_SINGLE]).mean()) if luck else None
        return PolicyGain(values[name], values[name] - values[_SINGLE], [one[name][1] for one in tables], by_luck)

    return RoutingGains(
        teaches,
        len(np.unique(clusters)),
        of(_SINGLE),
        {name: of(_LEARNT + name) for name in told},
        of(_BY_TYPE, _TYPE_LUCK),
        of(_BY_QUERY, _QUERY_LUCK),
    )


_SINGLE, _LEARNT, _BY_TYPE, _BY_QUERY = "single", "learnt ", "by type", "by query"
_TYPE_LUCK, _QUERY_LUCK = "by type, by luck", "by query, by luck"


def _on_split(
    recorded: RecordedResults, told: Mapping[str, Sequence[str]], teaches: Queries, number: int
) -> dict[str, tuple[float, Columns]]:
    """Policy -> (mean worth, choices) on the test half of one split, the one with this seed."""
    teaching, testing = recorded.of(teaches), recorded.of(~teaches)
    rng = np.random.default_rng([number, 1])
    shuffled_types = [testing.types[at] for at in rng.permutation(len(testing.types))]
    shuffled_worth = testing.worth.copy()
    for _, rows in testing.by_type():
        shuffled_worth[rows] = rng.permuted(testing.worth[rows], axis=0)
    choices = {
        _SINGLE: np.full(len(testing.types), teaching.best_single(), dtype=np.int64),
        _BY_TYPE: best_of_types(testing).choices(testing.types),
        _BY_QUERY: np.argmax(testing.worth, axis=1).astype(np.int64),
        _TYPE_LUCK: best_of_types(replace(testing, types=shuffled_types)).choices(shuffled_types),
    }
    for name, types in told.items():
        taught = replace(recorded, types=types)
        choices[_LEARNT + name] = learnt_table(taught.of(teaches)).choices(taught.of(~teaches).types)
    found = {name: (testing.mean(choice), choice) for name, choice in choices.items()}
    lucky = np.argmax(shuffled_worth, axis=1).astype(np.int64)
    return {**found, _QUERY_LUCK: (mean_under(lucky, shuffled_worth, testing.weights), lucky)}
