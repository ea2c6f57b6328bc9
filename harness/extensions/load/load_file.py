"""load.json in a run directory: the last closed-loop and the last open-loop measurement of its system.

It may come from somebody else, so every value is checked when it is read, and no text in it is obeyed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from harness.core.errors import StoreError
from harness.core.records import Record, Usage
from harness.core.sanitize import cleaned
from harness.extensions.load.levels import AskedQuery, Level, load_name
from harness.store import RunDir, RunFile
from harness.store.run_state import StateFile

MOST_LEVELS = 50
_FIX = "delete it, or measure again with `rag-harness load`"
_MOST_KINDS = 5

Amount = Annotated[float, Field(ge=0, le=1e15)]
Count = Annotated[int, Field(ge=0, le=10**12)]
Line = Annotated[str, Field(max_length=500)]


class Latencies(Record):
    """Seconds from the arrival of a query to its answer, over all measured queries that did not fail."""

    mean_s: Amount
    p50_s: Amount
    p95_s: Amount | None
    """None: under 20 queries."""
    p99_s: Amount | None
    """None: under 100 queries."""
    longest_s: Amount
    at_least: bool
    """Whether queries were given up, so that all these are lower bounds."""


class LoadLevel(Record):
    """What was measured under one load. Mean seconds are those of an answered query."""

    users: int | None = Field(None, ge=1, le=10**6)
    """Of a closed loop."""
    per_s: Amount | None = None
    """Arrivals a second of an open loop."""
    ended: Line = ""
    """Why it ended early; empty: as planned."""
    seconds: Amount
    n_answered: Count
    n_failed: Count
    n_given_up: Count
    failures: Annotated[dict[Line, Count], Field(max_length=_MOST_KINDS)]
    answers_per_s: Amount | None
    latency: Latencies | None
    own_s: Amount | None
    """Time of the system itself, outside of model calls."""
    model_s: Amount | None
    """Time of model calls, waiting at their server included."""
    service_s: Amount | None
    """The part of it in which the engine worked; None: it does not say."""
    limit_s: Amount | None
    """Waiting for a limit of the provider."""
    usage: Usage
    """Tokens of all answered queries."""
    resources: Annotated[dict[Line, Amount], Field(max_length=20)]
    """Mean CPU per cent (100: one busy core; of the machine: all cores) and largest RAM, by name of
    `resource_usage.QUANTITIES`."""

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if (self.users is None) == (self.per_s is None):
            raise ValueError("a level has users or arrivals")
        if sum(self.failures.values()) > self.n_failed:
            raise ValueError("more failures of a kind than failed queries")
        if self.usage.cached_tokens > self.usage.input_tokens:
            raise ValueError("more cached tokens than tokens")
        return self

    @property
    def name(self) -> str:
        return load_name(self.users, self.per_s)

    @property
    def tokens_per_s(self) -> float | None:
        if not self.n_answered or self.answers_per_s is None:
            return None
        return (self.usage.input_tokens + self.usage.output_tokens) / self.n_answered * self.answers_per_s

    @property
    def keeps_up(self) -> bool:
        """Whether at least 90 % of the arrivals are answered as fast as they come."""
        return not self.n_given_up and (self.answers_per_s or 0.0) >= 0.9 * (self.per_s or 0.0)

    @property
    def n_asked(self) -> int:
        return self.n_answered + self.n_failed + self.n_given_up

    def own_resources(self, what: str) -> float | None:
        """`cpu_percent` or `rss_bytes` of the system and its servers on this machine, as far as known."""
        found = [self.resources.get(f"{who}_{what}") for who in ("system", "server", "database")]
        known = [value for value in found if value is not None]
        return sum(known) if known else None

    def foreign_cpu(self, cores: int) -> float:
        """Per cent of the machine's CPU that other processes used, as far as known."""
        machine, own = self.resources.get("machine_cpu_percent"), self.own_resources("cpu_percent")
        return 0.0 if machine is None or own is None else max(0.0, machine - own / cores)


class LoadTest(Record):
    """One command's levels of a closed or an open loop, by load."""

    measured_at: Line
    cores: int = Field(ge=1, le=10**6)
    """Which the harness, and so the system, may use."""
    slots: int | None = Field(None, ge=1, le=10**6)
    """Queries that the local model engine answers at once; None: there is none."""
    n_queries: int = Field(ge=1)
    """Different queries; a longer level repeats them."""
    alone_s: Amount | None = None
    """Seconds of the model calls of one query alone; None: it failed."""
    ended: Line = ""
    """Why it ended early; empty: as planned."""
    levels: Annotated[tuple[LoadLevel, ...], Field(max_length=MOST_LEVELS)] = ()

    def queue_s(self, level: LoadLevel) -> float | None:
        """Seconds that calls wait at the model server: all but what its engine reports, or else all beyond those
        with one user, or of one query.
        """
        if level.model_s is None:
            return None
        alone = next((one.model_s for one in self.levels if one.users == 1), self.alone_s)
        service = alone if level.service_s is None else level.service_s
        return None if service is None else max(0.0, level.model_s - service)


class LoadFile(Record):
    run_id: Line
    closed: LoadTest | None = None
    open: LoadTest | None = None

    @property
    def tests(self) -> list[LoadTest]:
        return [one for one in (self.closed, self.open) if one is not None and one.levels]


def read_load(run: RunDir) -> LoadFile | None:
    """The measurements of a run; None if there are none. StoreError if they are damaged or of another run."""
    file = load_file(run)
    found = file.read()
    if found is not None and found.run_id != run.manifest().run_id:
        raise StoreError(f"{file.path} was measured with another run", _FIX)
    return found


def load_file(run: RunDir) -> StateFile[LoadFile]:
    return run.extension_file(RunFile.LOAD, LoadFile, _FIX)


def summarised(level: Level, seconds: float, resources: Mapping[str, float]) -> LoadLevel:
    asked = level.measured
    answered = [one for one in asked if one.is_answered]
    parts = [(one, one.outcome) for one in answered if one.outcome]
    service = [outcome.service_s for _, outcome in parts if outcome.service_s is not None]
    kinds = Counter(one.outcome.failure for one in asked if one.outcome and one.outcome.failure)
    return LoadLevel(
        users=level.users,
        per_s=level.per_s,
        ended=level.ended,
        seconds=seconds,
        n_answered=len(answered),
        n_failed=kinds.total(),
        n_given_up=sum(one.outcome is None for one in asked),
        failures={cleaned(kind)[:100]: n for kind, n in kinds.most_common(_MOST_KINDS)},
        answers_per_s=_throughput(level, answered),
        latency=_latencies(asked),
        own_s=_mean([max(0.0, one.latency_s - out.model_s - out.limit_s) for one, out in parts]),
        model_s=_mean([out.model_s for _, out in parts]),
        service_s=_mean(service) if len(service) == len(parts) else None,
        limit_s=_mean([out.limit_s for _, out in parts]),
        usage=sum((out.usage for _, out in parts), Usage()),
        resources=dict(resources),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _latencies(asked: Sequence[AskedQuery]) -> Latencies | None:
    values = [one.latency_s for one in asked if one.is_answered or one.outcome is None]
    if not values:
        return None
    p50_s, p95_s, p99_s = map(float, np.quantile(values, (0.5, 0.95, 0.99)))
    return Latencies(
        mean_s=fmean(values),
        p50_s=p50_s,
        p95_s=p95_s if len(values) >= 20 else None,
        p99_s=p99_s if len(values) >= 100 else None,
        longest_s=max(values),
        at_least=any(one.outcome is None for one in asked),
    )


def _throughput(level: Level, answered: Sequence[AskedQuery]) -> float | None:
    """Answers a second. None: too few to tell.

    Closed: the answers while every user was waiting for one. Open: by the slope of a line through the times of the
    answers, in order, which is the arrival rate, or what the system is able to if that is less.
    """
    if not answered:
        return 0.0 if level.measured else None
    if level.per_s is not None:
        ended = sorted(one.ended_s for one in answered)
        slope = float(np.polyfit(range(len(ended)), ended, 1)[0]) if len(ended) > 1 else 0.0
        return 1 / slope if slope > 0 else None
    start, end = level.measured_from_s, level.measured_to_s
    if start is not None and end is not None and end > start:
        within = [one for one in level.asked if one.is_answered and start < one.ended_s <= end]
        # Fewer, after a slow warm-up, are no basis.
        if 2 * len(within) >= len(level.measured):
            return len(within) / (end - start)
    # Little's law for users who never pause.
    whole_s = sum(one.latency_s for one in level.measured)
    return (level.users or 1) * len(answered) / whole_s if whole_s else None
