"""Races whose truth is known, by the harness: what check_race.py and replay_race.py share."""

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
MEANING = """`wrong`: the race stated anything untrue (that a system is worse than one that is no better, that two
are within the margin that are not, an interval that does not hold the truth), promised for at most alpha = .05 of
the races. `decided`: it ended before its queries did. `worse left`: how many of the systems that are worse than
the best had left by then. `n, mean`: queries until it was decided, all there are where it was not; `n, 80 %`: by
then four of five were. `fixed n` finds the difference four times of five with one look, after Holm over all
pairs. `answers`: what all systems were asked together, as a share of what the fixed n asks, or of all queries
where it asks for more."""


@dataclass(frozen=True)
class Run:
    """The values of some systems, a column for each."""

    values: Array
    ids: Sequence[str]
    """Of the queries, in their order."""
    weights: Array
    """What each query stands for."""
    truth: Sequence[float]
    """The systems' true means, in points; more is better."""


@dataclass(frozen=True)
class Raced:
    """How one race ended."""

    n: int
    answers: int
    is_wrong: bool
    is_decided: bool
    worse_left: float | None
    """The share of those worse than the best that had left; None: nobody is."""


def raced(run: Run, rules: RaceRules) -> Raced:
    """Take one query after the other until it is decided or none is left."""
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
    """Queries that find so many points four times out of five, at one look, over all pairs, where queries differ
    as these do; None: no number does.
    """
    spread = spread_of(differences, binary=binary)
    pairs = n_systems * (n_systems - 1) // 2
    if not points or spread is None:
        return None
    return spread.needed(abs(points) / 100, pairs)


def row(found: Sequence[Raced], n_systems: int, cap: int, fixed: int | None) -> tuple[str, ...]:
    """What the races of one kind say, as HEADER names it."""
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
