"""Asks queries under one load: closed loop (so many users at once) or open loop (so many arrivals a second).

Closed: each user asks the next query as soon as the former is answered. Open: queries arrive at fixed times,
answered or not, and latency counts from the arrival. In a closed loop, a slow system slows its own arrivals down,
which hides waiting (Schroeder, Wierman and Harchol-Balter, "Open Versus Closed: A Cautionary Tale", 2006).
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from harness.core.records import Usage
from harness.display import counted, short_number, short_seconds

MOST_AT_ONCE = 500
"""Unanswered queries. Each may need a connection, and most systems allow 1,024 open files."""
_FEW_OPEN = 100
"""An open loop stops at so many unanswered arrivals, or at four times what its rate and the first latency explain.
"""


@dataclass(frozen=True)
class Outcome:
    failure: str
    """The kind of failure; empty: answered."""
    model_s: float
    """Seconds in which model calls were open, those of `limit_s` left out."""
    service_s: float | None
    """The part in which the model engine worked on them; None: it does not say."""
    limit_s: float
    """Seconds in which all open calls waited for a limit of the provider."""
    usage: Usage


@dataclass(frozen=True)
class AskedQuery:
    """One query; times are of time.monotonic."""

    due_s: float
    """When it arrived, or was asked."""
    ended_s: float
    is_warm_up: bool
    outcome: Outcome | None
    """None: given up, so that its latency is a lower bound."""

    @property
    def latency_s(self) -> float:
        return self.ended_s - self.due_s

    @property
    def is_answered(self) -> bool:
        return self.outcome is not None and not self.outcome.failure


Ask = Callable[[int], Awaitable[Outcome]]
"""ask(number): asks the query of that number within the level."""


@dataclass
class Level:
    """One load, and the queries asked under it so far. It lasts `queries` measured queries or `seconds`, whichever
    is reached first.
    """

    users: int | None = None
    """Of a closed loop."""
    per_s: float | None = None
    """Arrivals a second of an open loop."""
    queries: int | None = None
    seconds: float | None = None
    tell: Callable[[], None] = lambda: None
    asked: list[AskedQuery] = field(default_factory=list)
    measured_from_s: float | None = None
    """Closed: when every user had the warm-up answer."""
    measured_to_s: float | None = None
    """Closed: when the last query was asked. Until then all users are waiting for an answer."""
    ended: str = ""
    """Why it ended early; empty: as planned."""
    n_started: int = 0

    @property
    def planned(self) -> tuple[int, int]:
        """Queries of the warm-up, and the most measured ones."""
        most = 100_000 if self.queries is None else self.queries
        if self.users is not None:
            # As many of each user, at least two, so that a part of them is under full load at both ends.
            return self.users, self.users * max(2, math.ceil(most / self.users))
        if self.seconds is not None:
            most = min(most, math.ceil((self.per_s or 1.0) * self.seconds))
        n = max(2, most)
        # The first tenth of the arrivals, and at most 20.
        return min(20, max(1, round(0.1 * n))), n

    async def measure(self, ask: Ask, due_s: float, *, is_warm_up: bool = False) -> None:
        """Ask the next query, which was due then."""
        number, self.n_started = self.n_started, self.n_started + 1
        outcome = await ask(number)
        self.asked.append(AskedQuery(due_s, time.monotonic(), is_warm_up, outcome))
        self.tell()

    @property
    def measured(self) -> list[AskedQuery]:
        """Without the warm-up."""
        return [one for one in self.asked if not one.is_warm_up]


def load_name(users: int | None, per_s: float | None) -> str:
    """`4 users`, `0.5 a second`."""
    return counted(users, "user") if users is not None else f"{short_number(per_s or 0)} a second"


async def ask_closed(level: Level, ask: Ask) -> None:
    """Ask as `level.users` users do, each without a pause. The first query of each is the warm-up."""
    users, most = level.planned
    until, n_warm, n_measured = math.inf, 0, 0

    async def user() -> None:
        nonlocal n_warm, n_measured, until
        await level.measure(ask, time.monotonic(), is_warm_up=True)
        n_warm += 1
        if n_warm == users:
            level.measured_from_s = time.monotonic()
            until = level.measured_from_s + (level.seconds or math.inf)
        while n_measured < most and (now := time.monotonic()) < until:
            n_measured += 1
            level.measured_to_s = now
            await level.measure(ask, now)

    async with asyncio.TaskGroup() as group:
        for _ in range(users):
            group.create_task(user())


async def ask_open(level: Level, ask: Ask, usual_s: float) -> None:
    """Ask `level.per_s` queries a second at fixed times, the first tenth of them as the warm-up.

    It always ends: if too many arrivals are unanswered no more are sent, and those that are unanswered long after
    the last one are given up. `usual_s`: the latency of a query alone.
    """
    per_s = level.per_s or 1.0
    n_warm, n = level.planned
    most_open = min(MOST_AT_ONCE, max(_FEW_OPEN, math.ceil(4 * per_s * usual_s)))
    running: dict[asyncio.Task[None], tuple[float, bool]] = {}
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(n_warm + n):
            due, is_warm_up = began + number / per_s, number < n_warm
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            if len(running) >= most_open:
                level.ended = f"no more queries were sent when {most_open:,} were unanswered"
                break
            task = group.create_task(level.measure(ask, due, is_warm_up=is_warm_up))
            running[task] = due, is_warm_up
            task.add_done_callback(running.pop)
        # As long as the arrivals took, or as a few queries take.
        wait_s = max(10.0, time.monotonic() - began, 5 * usual_s)
        if running:
            await asyncio.wait([*running], timeout=wait_s)
        for task, (due, is_warm_up) in running.items():
            task.cancel()
            level.asked.append(AskedQuery(due, time.monotonic(), is_warm_up, None))
        if running:
            given_up = counted(len(running), "query", "queries")
            level.ended = level.ended or f"{given_up} given up {short_seconds(wait_s)} after the last arrival"
