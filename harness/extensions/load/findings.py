"""What levels of load mean: the fitted scalability law, the saturation, what limits it, and a sentence on each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from harness.display import counted, printable, short_number, short_seconds
from harness.extensions.load.load_file import LoadFile, LoadLevel, LoadTest

_FLAT = 0.25
"""A system is saturated where more users add less than this part of what they would add without waiting, or where
its model engine says that calls waited for this part of the latency."""
_LEVEL = 0.8
"""Levels with at least this part of the highest throughput are averaged, as they differ by chance."""
_MOST_CACHED, _MOST_FOREIGN = 20, 20
"""Per cent, of the prompt tokens and of the machine's CPU, from which on it is said."""
_SHORT_S = 3.0  # Levels under this differ by half from one call to the next.


@dataclass(frozen=True)
class ScalabilityLaw:
    """Universal scalability law: X(N) = per_user N / (1 + contention (N - 1) + coherency N (N - 1)), for N users.

    Neil J. Gunther, "Guerrilla Capacity Planning", 2007. Contention: the part of the work that only one at a time
    can do. Coherency: what users cost each other, because of which throughput may fall.
    """

    per_user: float
    contention: float
    coherency: float
    deviation: float
    """Root mean square of the relative deviations of the measured levels."""

    def per_s(self, users: float) -> float:
        return float(_law(np.array([users]), self.per_user, self.contention, self.coherency)[0])

    @property
    def peak_users(self) -> float | None:
        """From which on more users lower the throughput; None: from no number on."""
        if self.coherency < 1e-6 or self.contention > 0.99:
            return None
        return max(1.0, math.sqrt((1 - self.contention) / self.coherency))


@dataclass(frozen=True)
class Saturation:
    """The most that a closed loop was seen to answer."""

    per_s: float
    users: float
    """More than these wait: the throughput times the latency of a query alone, which bounds the number of queries
    in service (Denning and Buzen, "The Operational Analysis of Queueing Network Models", 1978)."""
    is_reached: bool
    """Whether more users hardly added anything; otherwise `per_s` is a lower bound."""


def _law(n: NDArray[np.float64], per_user: float, contention: float, coherency: float) -> NDArray[np.float64]:
    return per_user * n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def _complete(levels: Sequence[LoadLevel]) -> Sequence[LoadLevel]:
    """Without levels that ended early, if others did not."""
    return [one for one in levels if not one.ended] or levels


def _points(levels: Sequence[LoadLevel]) -> list[tuple[int, float]]:
    """(users, answers a second)."""
    found = {one.users: one.answers_per_s for one in _complete(levels) if one.users and one.answers_per_s}
    return sorted(found.items())


def fit_law(levels: Sequence[LoadLevel]) -> ScalabilityLaw | None:
    """The law of closed-loop levels by least squares of relative deviations; None: under three levels."""
    from scipy.optimize import least_squares

    points = _points(levels)
    if len(points) < 3:  # As many as the law has parameters.
        return None
    n, x = np.array(points, dtype=np.float64).T

    def deviations(law: NDArray[np.float64]) -> NDArray[np.float64]:
        relative: NDArray[np.float64] = _law(n, *map(float, law)) / x
        return relative - 1

    limits = ([0, 0, 0], [np.inf, 1, np.inf])
    fitted = least_squares(deviations, (x[0] / n[0], 0.1, 0.001), bounds=limits)
    per_user, contention, coherency = map(float, fitted.x)
    return ScalabilityLaw(per_user, contention, coherency, float(np.sqrt((fitted.fun**2).mean())))


def saturation(levels: Sequence[LoadLevel]) -> Saturation | None:
    """Of closed-loop levels; None if nothing was answered."""
    points = _points(levels)
    if not points:
        return None
    (n, x), highest = points[0], max(one for _, one in points)
    most = fmean(one for _, one in points if one >= _LEVEL * highest)
    gains = [(more_x / x - 1) / (more_n / n - 1) for (n, x), (more_n, more_x) in pairwise(points)]
    waiting = [one.users - 1.0 for one in _complete(levels) if one.users and _waits(one)]
    users = max(1.0, min(most * n / x, *waiting)) if waiting else max(1.0, most * n / x)
    return Saturation(most, users, bool(waiting) or any(gain < _FLAT for gain in gains))


def _waits(level: LoadLevel) -> bool:
    if level.service_s is None or level.model_s is None or level.latency is None:
        return False
    return level.model_s - level.service_s >= _FLAT * level.latency.mean_s


def sentences(measured: LoadFile) -> list[str]:
    """What the measurements mean for users of the system, one sentence or two each."""
    found = []
    for test in measured.tests:
        found += [_closed_sentence(test), law_sentence(test.levels)] if test is measured.closed else []
        found += [_open_sentence(test)] if test is measured.open else []
        found += [_failures(one) for one in test.levels if one.n_failed]
        found += [f"With {one.name}: {printable(one.ended, 200)}." for one in test.levels if one.ended]
        read = sum(one.usage.input_tokens for one in test.levels)
        cached = 100 * sum(one.usage.cached_tokens for one in test.levels) / max(1, read)
        if cached >= _MOST_CACHED:
            said = "of the prompt tokens came from a cache, because queries repeat: new ones take longer"
            found.append(f"{cached:.0f} % {said}.")
    shortest = min((one.seconds for test in measured.tests for one in _complete(test.levels)), default=math.inf)
    if shortest < _SHORT_S:
        # Beside the first figure, because it is about all of them.
        said = (
            f"A level took {short_seconds(shortest)}, too short to trust these figures: measure with --seconds 20."
        )
        found.insert(1, said)
    foreign = max((one.foreign_cpu(test.cores) for test in measured.tests for one in test.levels), default=0.0)
    if foreign >= _MOST_FOREIGN:
        found.append(f"Other processes used up to {foreign:.0f} % of the CPU: measure again without them.")
    return [sentence for sentence in found if sentence]


def law_sentence(levels: Sequence[LoadLevel]) -> str:
    """The fitted law in words; empty: under three levels."""
    law = fit_law(levels)
    if law is None:
        return ""
    peak = law.peak_users
    beyond = peak is not None and peak > 2 * max(users for users, _ in _points(levels))
    end = f"peak at {short_number(peak)} users" if peak is not None and not beyond else "no peak within reach"
    return (
        f"Fitted scalability law: {_rate(law.per_user)} for one user, contention "
        f"{round(law.contention, 3):g}, coherency {round(law.coherency, 4):g}, {end}; the levels are "
        f"{100 * law.deviation:.0f} % off it."
    )


def _rate(per_s: float) -> str:
    if per_s < 1:
        return f"{short_number(60 * per_s)} answers a minute"
    return f"{short_number(per_s)} answers a second"


def _closed_sentence(test: LoadTest) -> str:
    found, levels = saturation(test.levels), _complete(test.levels)
    if found is None:
        return "No query was answered."
    most, last = _rate(found.per_s), levels[-1]
    if len(levels) == 1:
        return f"About {most} with {last.name}."
    if not found.is_reached:
        return f"At least {most} with {last.name}, and more users would still add: it is not saturated."
    users = max(1, round(found.users))
    return f"About {most} at most: with more than {counted(users, 'user')}, queries wait{_cause(test)}."


def _cause(test: LoadTest) -> str:
    """`, because ...`: the part of the latency that grew most from the first level to the last; empty: none."""
    first, *_, last = _complete(test.levels)
    queue = (test.queue_s(last) or 0.0) - (test.queue_s(first) or 0.0)
    serving = (last.service_s or 0.0) - (first.service_s or 0.0)
    at_once = "one" if test.slots == 1 else f"{test.slots}"
    local = f"the local model answers {at_once} at a time" if test.slots else ""
    cpu = last.own_resources("cpu_percent")
    used = "" if cpu is None else f" (CPU: {cpu / test.cores:.0f} % of {counted(test.cores, 'core')})"
    grown = {
        local or "the model server answers no more of them at once": queue,
        "the model server works longer on each": serving,
        "the provider limits the rate": (last.limit_s or 0.0) - (first.limit_s or 0.0),
        f"the system itself takes longer{used}": (last.own_s or 0.0) - (first.own_s or 0.0),
    }
    cause = max(grown, key=lambda one: grown[one])
    return f", because {cause}" if grown[cause] > 0 else ""


def _open_sentence(test: LoadTest) -> str:
    kept = [one for one in test.levels if one.keeps_up]
    lost = [one for one in test.levels if not one.keeps_up]
    said = []
    if kept:
        most = max(kept, key=lambda one: one.per_s or 0.0)
        half = f", half of them within {short_seconds(most.latency.p50_s)}" if most.latency else ""
        said.append(f"It keeps up with {most.name}{half}")
    if lost:
        least = min(lost, key=lambda one: one.per_s or 0.0)
        answers = short_number(least.answers_per_s or 0.0)
        said.append(f"It does not keep up with {least.name}: {answers} are answered, and waiting grows")
    return f"{'. '.join(said)}."


def _failures(level: LoadLevel) -> str:
    kinds = ", ".join(f"{printable(kind, 60)} {n:,}" for kind, n in level.failures.items())
    asked = counted(level.n_asked, "query", "queries")
    return f"With {level.name}: {level.n_failed:,} of {asked} failed ({kinds})."
