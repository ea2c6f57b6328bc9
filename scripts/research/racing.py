"""Races with known truth, run by the harness; shared by check_race.py and replay_race.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from simulated import Array

from harness.statistics.power import spread_of
from harness.statistics.race_test import Race, RaceRules

_TINY = 1e-9
HEADER = ("wrong", "decided", "worse left", "n, mean", "n, 80 %", "fixed n", "answers", "cases")
MEANING = """`wrong`: the race stated anything untrue (that a system is worse than one that is no better, that
two are within the margin that are not, an interval that does not contain the truth), promised for at most alpha
= .05 of the races. `decided`: the race was decided before the queries were exhausted. `worse left`: the share
of systems worse than the best that were eliminated. `n, mean`: queries until the decision, or all if undecided;
`n, 80 %`: the number by which four of five were decided. `fixed n` finds the difference four times of five with
a single test, after Holm over all pairs. `answers`: all answers of all systems, as a share of those for the
fixed n, or for all queries if the fixed n is larger."""


@dataclass(frozen=True)
class Run:
    """The values of some systems, a column for each."""

    values: Array
    ids: Sequence[str]
    """Ids of the queries, in order."""
    weights: Array
    """The weight of each query."""
    truth: Sequence[float]
    """The systems' true means, in points; more is better."""


@dataclass(frozen=True)
class Raced:
    """The result of one race."""

    n: int
    answers: int
    is_wrong: bool
    is_decided: bool
    worse_left: float | None
    """Share of the systems worse than the best that were eliminated; None: no system is worse."""


def raced(run: Run, rules: RaceRules) -> Raced:
    """Add one query after the other until the race is decided or no query is left."""
    names = [str(place) for place in range(run.values.shape[1])]
    race = Race(names, rules, dict(zip(run.ids, run.weights.tolist(), strict=True)))
    answers = 0
    for query_id, own in zip(run.ids, run.values.tolist(), strict=True):
        answers += len(race.active)
        race.take(query_id, dict(zip(names, own, strict=True)))
        if race.is_decided:
            break
    truth = dict(zip(names, run.truth, strict=True))
    worse = [name for name in names if truth[name] < max(run.truth) - _TINY]
    gone = {drop.name for drop in race.dropped}
    return Raced(
        race.n_queries,
        answers,
        _is_wrong(race, truth, rules.margin),
        race.is_decided,
        sum(name in gone for name in worse) / len(worse) if worse else None,
    )


def fixed_n(differences: Array, points: float, n_systems: int, *, binary: bool) -> int | None:
    """Queries with which a single test over all pairs finds a difference of so many points four times out of five,
    if queries differ as these do; None: no number is enough.
    """
    spread = spread_of(differences, binary=binary)
    pairs = n_systems * (n_systems - 1) // 2
    if not points or spread is None:
        return None
    return spread.needed(abs(points) / 100, pairs)


def row(found: Sequence[Raced], n_systems: int, cap: int, fixed: int | None) -> tuple[str, ...]:
    """A table row for the races of one kind, with the columns of HEADER."""
    ns = sorted(one.n for one in found)
    enough = ns[int(0.8 * len(ns))]
    left = [one.worse_left for one in found if one.worse_left is not None]
    answers = np.mean([one.answers for one in found]) / (n_systems * min(fixed or cap, cap))
    return (
        f"{np.mean([one.is_wrong for one in found]):.3f}",
        f"{np.mean([one.is_decided for one in found]):.2f}",
        f"{np.mean(left):.2f}" if left else "-",
        f"{np.mean(ns):,.0f}",
        f"{enough:,}" if enough < cap else "-",
        f"{fixed:,}" if fixed else "-",
        f"{100 * answers:.0f} %",
        f"{len(found):,}",
    )


def _is_wrong(race: Race, truth: dict[str, float], margin: float) -> bool:
    for drop in race.dropped:
        ahead = truth[drop.against] - truth[drop.name]
        if ahead <= _TINY or not _holds(ahead, (drop.low, drop.high)):
            return True
    for one, other in combinations(race.active, 2):
        ahead = truth[one] - truth[other]
        if race.is_decided and abs(ahead) >= margin - _TINY:
            return True
        if not _holds(ahead, race.interval(one, other)):
            return True
    return False


def _holds(value: float, limits: tuple[float, float]) -> bool:
    return limits[0] - _TINY <= value <= limits[1] + _TINY
