"""What routing brings over the best single system on queries that had no part in learning it.

Half of the documents teach, those of the other half test: queries that cite the same document most stay together
(`clusters_of`), and the best single system is chosen by the half that teaches too, so that neither it nor the
table has seen what it is measured on. One such split says little, so there are many, each named by its number.

Their results are not independent, for they share queries. The interval of their mean is Nadeau and Bengio's
corrected resampled t (2003, Machine Learning 52:239-281): the variance between splits times 1 / splits + test /
training, with one degree of freedom less than there are splits or documents, whichever is fewer.
docs/STATISTICS.md has what it covers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from harness.core.errors import MissingDependency, install
from harness.extensions.routing.learning import (
    Columns,
    Recorded,
    best_of_queries,
    best_of_types,
    learnt_table,
)
from harness.statistics.intervals import UNKNOWN, Interval
from harness.statistics.t_intervals import Array

SPLITS = 100
FEWEST_QUERIES = 30
"""Below which intervals do not hold as often as they promise, and none is given."""
FEWEST_CLUSTERS = 15
_ALPHA = 0.05
_SLACK = 1e-12


@dataclass(frozen=True)
class Split:
    """Which queries teach; the others test."""

    number: int
    """Its name: the seed that made it."""
    teaches: NDArray[np.bool_]


@dataclass(frozen=True)
class OverSplits:
    """The mean of something over all splits, with its interval."""

    mean: float
    interval: Interval = UNKNOWN


@dataclass(frozen=True)
class PolicyGain:
    """What one way of choosing systems is worth on the halves that test."""

    values: Array
    """Of each split, in the unit of `Recorded.worth`."""
    gains: Array
    """Over the best single system as the other half chose it, likewise."""
    choices: Sequence[Columns]
    """Of each split, of the queries that test in their order."""


@dataclass(frozen=True)
class RoutingGains:
    """Of every policy, over the same splits."""

    splits: tuple[Split, ...]
    single: PolicyGain
    """The best single system: its gains are 0."""
    learnt: Mapping[str, PolicyGain]
    """By what told the types: the table learnt from them."""
    by_type: PolicyGain
    """The best system of each type, had it been known."""
    by_query: PolicyGain
    """The best system of each query, had it been known."""
    by_type_luck: PolicyGain
    """`by_type` with types dealt out at random: what choosing afterwards gains where types say nothing."""
    by_query_luck: PolicyGain
    """`by_query` with each system's values dealt out among the queries of a type: what systems gain that are as
    good on each type, and right on queries that have nothing to do with each other."""
    n_clusters: int


def halves(clusters: NDArray[np.int64], n_splits: int = SPLITS, seed: int = 0) -> Iterator[Split]:
    """Splits `seed`, `seed` + 1 and so on: whole clusters in random order until half of the queries teach."""
    names, sizes = np.unique(clusters, return_counts=True)
    for number in range(seed, seed + n_splits):
        order = np.random.default_rng(number).permutation(len(names))
        before = np.concatenate([[0], np.cumsum(sizes[order])[:-1]])
        # The cluster in the middle teaches where more of it would stand in that half.
        teaching = order[before + sizes[order] / 2 <= len(clusters) / 2]
        yield Split(number, np.isin(clusters, names[teaching]))


def routing_gains(
    recorded: Recorded,
    clusters: NDArray[np.int64],
    told: Mapping[str, Sequence[str]],
    splits: Sequence[Split],
) -> RoutingGains:
    """`recorded.types` are those of the data set; `told`: by who tells them, the types that a table is learnt
    from.
    """
    tables = [_one(recorded, told, split) for split in splits]

    def of(name: str) -> PolicyGain:
        values = np.array([table[name][0] for table in tables])
        singles = np.array([table[_SINGLE][0] for table in tables])
        return PolicyGain(values, values - singles, [table[name][1] for table in tables])

    return RoutingGains(
        tuple(splits),
        of(_SINGLE),
        {name: of(_LEARNT + name) for name in told},
        of(_BY_TYPE),
        of(_BY_QUERY),
        of(_BY_TYPE + _LUCK),
        of(_BY_QUERY + _LUCK),
        len(np.unique(clusters)),
    )


def spread_over(values: Array, splits: Sequence[Split], n_clusters: int) -> OverSplits:
    """The mean over the splits; without an interval where queries or clusters are few, or nothing varies."""
    mean = float(values.mean())
    n = len(splits[0].teaches)
    if n < FEWEST_QUERIES or n_clusters < FEWEST_CLUSTERS or np.ptp(values) <= _SLACK:
        return OverSplits(mean)
    teaching = np.array([split.teaches.sum() for split in splits], dtype=np.float64)
    share = float(np.mean((n - teaching) / teaching))
    error = float(np.sqrt((1 / len(values) + share) * values.var(ddof=1)))
    far = _quantile(min(len(values), n_clusters) - 1) * error
    return OverSplits(mean, Interval(mean - far, mean + far))


_SINGLE, _LEARNT, _BY_TYPE, _BY_QUERY, _LUCK = "single", "learnt ", "by type", "by query", ", by luck"


def _one(recorded: Recorded, told: Mapping[str, Sequence[str]], split: Split) -> dict[str, tuple[float, Columns]]:
    """Of each policy on the half of one split that tests: what it is worth, and its choices."""
    teaching, testing = recorded.of(split.teaches), recorded.of(~split.teaches)
    rng = np.random.default_rng([split.number, 1])
    dealt = replace(testing, types=[testing.types[at] for at in rng.permutation(len(testing.types))])
    apart = replace(testing, worth=_dealt_out(testing, rng))
    single = np.full(len(testing.types), teaching.best_single(), dtype=np.int64)
    choices = {
        _SINGLE: single,
        _BY_TYPE: best_of_types(testing).choices(testing.types),
        _BY_QUERY: best_of_queries(testing),
        _BY_TYPE + _LUCK: best_of_types(dealt).choices(dealt.types),
    }
    for name, types in told.items():
        taught = replace(recorded, types=types)
        table = learnt_table(taught.of(split.teaches))
        choices[_LEARNT + name] = table.choices(taught.of(~split.teaches).types)
    found = {name: (testing.mean(choice), choice) for name, choice in choices.items()}
    found[_BY_QUERY + _LUCK] = (apart.mean(best_of_queries(apart)), best_of_queries(apart))
    return found


def _dealt_out(recorded: Recorded, rng: np.random.Generator) -> Array:
    """Each system's values in another order among the queries of each type."""
    found = recorded.worth.copy()
    for name in sorted(set(recorded.types)):
        rows = np.flatnonzero(recorded.rows_of(name))
        found[rows] = rng.permuted(recorded.worth[rows], axis=0)
    return found


def _quantile(degrees: int) -> float:
    try:
        from scipy import special
    except ImportError as error:
        raise MissingDependency("confidence intervals need scipy", install("report")) from error
    return float(-special.stdtrit(degrees, _ALPHA / 2))
