"""A race: systems answer one query after another until the choice is clear.

After every query each pair of systems is tested with evidence that allows repeated tests (see `log_gains`).
The probability that any statement of a race is wrong, over all pairs and all tests, is at most `alpha`, divided
over both directions of each pair. The result depends only on the values of the queries in their order, so that an
interrupted race gives the same result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import cos, exp, lgamma, log, pi

import numpy as np

from harness.statistics.confidence_intervals import Array
from harness.statistics.power import DISCORDANCE, MOST_QUERIES, STEPS

_BETTORS = 128
STAKES: Array = np.array([cos((place + 0.5) * pi / (2 * _BETTORS)) for place in range(_BETTORS)])
"""The stakes s: shares of wins (1 + s) / 2 above a half, distributed as Beta(1/2, 1/2) with equal weights. Any
such list is valid; this many are as good as the integral."""
_HALVINGS = 24
"""Gives limits within a hundred-thousandth of a point."""


def anytime_p(wins: int, losses: int) -> float:
    """Two-sided p, valid at any time: an upper bound of the chance that wins and losses, if equally likely, would
    ever have been as uneven. They count the queries that only one of two systems got right.
    """
    return min(1.0, exp(-log_evidence(wins, losses)))


def log_evidence(wins: int, losses: int) -> float:
    """The natural logarithm of the e-value against a fair coin; 0 without a query on which the two differ."""
    n = wins + losses
    mixed = lgamma(wins + 0.5) + lgamma(losses + 0.5) - lgamma(n + 1.0) - 2 * lgamma(0.5)
    return mixed + n * log(2.0)


def log_gains(value: float | Array, claimed: float | Array) -> Array:
    """The change of the logarithm of each bettor's capital by a value between -1 and 1, against the claim that the
    mean is at most `claimed` (above -1); the bettors are the last axis.
    """
    excess = (np.asarray(value) - claimed) / (1 + np.asarray(claimed))
    gains: Array = np.log1p(STAKES * excess[..., None])
    return gains


def log_capital(gained: Array) -> Array:
    """The natural logarithm of the e-value, from the gains of each bettor so far (last axis)."""
    most = gained.max(axis=-1, keepdims=True)
    capital: Array = np.log(np.exp(gained - most).mean(axis=-1)) + most[..., 0]
    return capital


def queries_until(values: Array, chances: Array, claimed: float, alpha: float) -> int | None:
    """Approximate number of values that refute the claim that their mean is at most `claimed`, if each value
    between -1 and 1 occurs with its probability. None: more than the limit.
    """
    gains, needed = chances @ log_gains(values, claimed), -log(alpha)
    low, high = 0, MOST_QUERIES
    if log_capital(high * gains) < needed:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if log_capital(middle * gains) >= needed else (middle, high)
    return high


def anytime_interval(values: Array, alpha: float) -> tuple[float, float]:
    """Interval of the mean of values between -1 and 1. The probability that it ever excludes the true mean, while
    values arrive one by one, is at most `alpha`.
    """
    return _lower_limit(values, alpha / 2), -_lower_limit(-values, alpha / 2)


def _lower_limit(values: Array, alpha: float) -> float:
    """The largest mean that is refuted from below."""
    found, counts = np.unique(np.clip(values, -1, 1), return_counts=True)
    low, high = -1.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if log_capital(counts @ log_gains(found, middle)) >= -log(alpha):
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True)
class RaceRules:
    margin: float
    """In points, hundredths of `span`: a smaller lead need not be detected."""
    alpha: float
    span: float = 1.0
    """The largest possible difference of two values, in the metric's unit."""
    higher_is_better: bool = True
    lowest: float = 0.0
    """The lowest possible value."""


@dataclass(frozen=True)
class Drop:
    """A system that was eliminated because it is significantly worse than another."""

    name: str
    after: int
    """Number of queries."""
    against: str
    """The better system."""
    low: float
    high: float
    """Limits of the disadvantage in points."""


@dataclass(frozen=True)
class RacePace:
    """Approximate number of queries of a race, if two systems differ on `DISCORDANCE` of them; None: more than the
    limit.
    """

    queries_until_elimination: Mapping[float, int | None]
    """Queries until elimination, by the difference, as in `STEPS`."""
    until_within: int | None
    """Queries until equal systems are within the margin."""


def expected_pace(rules: RaceRules, n_systems: int) -> RacePace:
    """Pace for binary values, if one of two systems is better."""
    values, level = np.array([-1.0, 0.0, 1.0]), rules.alpha / max(1, n_systems * (n_systems - 1))

    def until(ahead: float, claimed: float) -> int | None:
        share = max(DISCORDANCE, ahead)
        return queries_until(
            values, np.array([(share - ahead) / 2, 1 - share, (share + ahead) / 2]), claimed, level
        )

    return RacePace({step: until(step, 0.0) for step in STEPS}, until(0.0, -min(rules.margin / 100, 0.999)))


class Race:
    def __init__(self, names: Sequence[str], rules: RaceRules, weights: Mapping[str, float]) -> None:
        """`weights`: the weight of each query to which the metric applies, 1 on average over a randomly ordered
        sample; other queries are ignored.
        """
        self._names, self._rules = list(names), rules
        largest = max(weights.values(), default=1.0)
        self._weights = {query_id: weight / largest for query_id, weight in weights.items()}
        self._scale = 100 * largest
        """Points of a weighted difference of 1."""
        self._pairs = [*combinations(range(len(self._names)), 2)]
        sides = np.array([side for pair in self._pairs for side in (pair, pair[::-1])]).reshape(-1, 2)
        self._first, self._second = sides.T
        self._sides = {(self._names[a], self._names[b]): place for place, (a, b) in enumerate(sides)}
        """Both ordered pairs of each pair of systems, the possibly better system first -> row."""
        self.level = rules.alpha / max(1, len(self._pairs))
        """The chance of an error for each pair."""
        # For each direction: it is not better; it is worse by at least the margin.
        claims = np.array([0.0, -min(rules.margin / self._scale, 0.999)])
        self._gains = lru_cache(maxsize=1_000)(lambda difference: log_gains(difference, claims))
        """Log gains of a difference against each claim; cached, because most differences recur."""
        self._gained = np.zeros((len(sides), len(claims), len(STAKES)))
        self._shown = np.zeros((len(sides), len(claims)), dtype=np.bool_)
        """The refuted claims."""
        self._seen: list[list[float]] = [[] for _ in sides]
        """The differences of each direction, in its worst case."""
        self._sums = np.zeros(len(self._names))
        self.active = [*self._names]
        self.dropped: list[Drop] = []
        self.n_queries = 0
        """Number of queries so far, also without a value."""

    @property
    def leader(self) -> str:
        """The best system in the race so far; among equals the first."""
        return max(self.active, key=lambda name: self._sums[self._names.index(name)])

    @property
    def is_decided(self) -> bool:
        """Whether only one is left, or all remaining ones are within the margin of each other."""
        return all(self._is_shown(one, other, 1) for one in self.active for other in self.active if one != other)

    def take(self, query_id: str, values: Mapping[str, float | None]) -> None:
        """The next query: the value of each system in the race, None if missing. A missing value is the worst
        possible one for a possibly better system, and the best for the other. Eliminates systems that are
        significantly worse than another.
        """
        self.n_queries += 1
        weight = self._weights.get(query_id)
        if weight is None or not any(values.get(name) is not None for name in self.active):
            return
        worst, best = (np.full(len(self._names), np.nan) for _ in range(2))
        for name in self.active:
            at, value = self._names.index(name), values.get(name)
            # From 0, the worst possible value, to 1.
            share = None if value is None else (value - self._rules.lowest) / self._rules.span
            merit = share if share is None or self._rules.higher_is_better else 1.0 - share
            worst[at] = weight * (0.0 if merit is None else merit)
            best[at] = weight * (1.0 if merit is None else merit)
        self._sums += np.nan_to_num(worst)
        differences = np.clip(worst[self._first] - best[self._second], -1, 1)
        rows = np.flatnonzero(~np.isnan(differences))
        for row in rows:
            self._seen[row].append(float(differences[row]))
        self._gained[rows] += [self._gains(one) for one in differences[rows].tolist()]
        self._shown[rows] = log_capital(self._gained[rows]) >= log(2 / self.level)
        self._drop()

    def interval(self, one: str, other: str) -> tuple[float, float]:
        """Limits of how many points `one` is ahead of `other`, valid at any time."""
        low, _ = self._anytime(one, other)
        least, _ = self._anytime(other, one)
        return max(-100.0, low * self._scale), min(100.0, -least * self._scale)

    def _anytime(self, one: str, other: str) -> tuple[float, float]:
        seen = self._seen[self._sides[one, other]]
        return anytime_interval(np.array(seen), self.level) if seen else (-1.0, 1.0)

    def _drop(self) -> None:
        by_sum = sorted(self.active, key=lambda name: self._sums[self._names.index(name)])
        leader = self.leader
        for name in by_sum:
            better = [one for one in self.active if self._is_shown(one, name, 0)]
            if better:
                against = leader if leader in better else better[0]
                behind = self.interval(against, name)
                self.dropped.append(Drop(name, self.n_queries, against, *behind))
                self.active.remove(name)

    def _is_shown(self, one: str, other: str, claim: int) -> bool:
        """Whether `one` is significantly better than `other` (claim 0), or not worse by the margin (claim 1)."""
        side = self._sides.get((one, other))
        return side is not None and bool(self._shown[side, claim])
