"""Running one worker process: its events, its time limits, its end, and what it used meanwhile."""

import math
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from harness.errors import BudgetReached, HarnessError
from harness.runner.executing.logs import CleanedLog
from harness.runner.executing.messages import Event, Job, Todo, Turn, WorkerMessage
from harness.runner.executing.resources import ResourceSampler
from harness.runner.executing.worker import EVENTS_ENV

_GRACE_S = 15.0
"""How long beyond its time limit a query may block the worker's event loop before the worker is killed."""
_LEAVES_S = 10.0
"""How long a worker that is to end may take to close its system."""


class SystemBroken(Exception):
    """The system failed outside of any query (index, load): no record can be made."""


@dataclass
class WorkerEnd:
    """How a worker ended."""

    completed: bool
    indexed: Event | None = None
    in_flight: list[Todo] = field(default_factory=list)
    """Queries that were under way when it died."""
    overdue: list[Todo] = field(default_factory=list)
    """Those of them that had passed their time limit, for which it was killed."""
    death: str = ""
    n_finished: int = 0
    waits: bool = False
    """It is still there, for its next turn."""


class _Started(NamedTuple):
    """A worker's process, and where its events come from."""

    process: "subprocess.Popen[bytes]"
    events: IO[bytes]


class Supervisor:
    """Starts a worker and follows it: to its end (`run`), or from turn to turn (`turn`, then `leave` or `end`)."""

    def __init__(
        self, job: Job, log: Path, sampler: ResourceSampler, on_event: Callable[[Event], None], lock_fd: int
    ) -> None:
        self._job = job
        self._log = log
        self._sampler = sampler
        self._on_event = on_event
        self._lock_fd = lock_fd
        self._started_at: dict[Todo, float] = {}
        self._outcome = WorkerEnd(completed=False)
        self._refusal: Event | None = None
        end_by = job.allowance.end_by
        self._end_by = math.inf if end_by is None else end_by
        self._stack = ExitStack()
        self._started: _Started | None = None

    def run(self) -> WorkerEnd:
        """Follow the worker until it has gone.

        Raises HarnessError where the user can fix what stopped it, BudgetReached included, and SystemBroken for a
        bug of the system outside any query. On any exception, Ctrl-C included, the worker is gone before it
        propagates.
        """
        try:
            started = self._start(self._job)
            self._follow(started)
            return self._conclude(started.process.wait())
        finally:
            self.end()

    def turn(self, turn: Turn) -> WorkerEnd:
        """Let the worker answer `turn`, as `run` does; completed, it waits for the next one."""
        n_finished = self._outcome.n_finished if self._started else 0
        self._outcome, self._started_at = WorkerEnd(completed=False, n_finished=n_finished), {}
        try:
            if self._started is None:
                self._started = self._start(self._job.model_copy(update={"stays": True, **dict(turn)}))
            else:
                self._sampler.resume()
                _send(self._started.process, turn)
            self._follow(self._started)
            self._sampler.pause()
            return self._outcome if self._outcome.completed else self._conclude(self._started.process.wait())
        finally:
            if not self._outcome.completed:
                self.end()

    @property
    def is_waiting(self) -> bool:
        """Whether there is a worker that waits for a turn."""
        return self._started is not None and self._started.process.poll() is None

    @property
    def rss_bytes(self) -> int:
        """What the worker and its children hold in memory; 0 where there is none."""
        return self._sampler.rss_bytes() if self.is_waiting else 0

    def leave(self) -> None:
        """Let a worker that waits close its system and go."""
        if self._started is not None and self.is_waiting:
            _send(self._started.process, Turn())
            with suppress(subprocess.TimeoutExpired):
                self._started.process.wait(_LEAVES_S)
        self.end()

    def end(self) -> None:
        """End the worker, if it has not gone."""
        self._started = None
        self._stack.close()

    def _start(self, job: Job) -> "_Started":
        read_end, write_end = os.pipe()
        log = self._stack.enter_context(CleanedLog(self._log))
        events = self._stack.enter_context(os.fdopen(read_end, "rb", buffering=0))
        process = subprocess.Popen(
            [sys.executable, "-m", "harness.runner.executing.worker"],
            stdin=subprocess.PIPE,
            stdout=log.fd,
            stderr=log.fd,
            pass_fds=(write_end, self._lock_fd),
            start_new_session=True,
            env={**os.environ, **_QUIET, EVENTS_ENV: str(write_end)},
        )
        self._stack.callback(_kill_group, process)
        os.close(write_end)
        self._sampler.watch(process.pid)
        _send(process, job)
        return _Started(process, events)

    def _follow(self, started: "_Started") -> None:
        """To its end, or until it waits for its next turn."""
        buffer = b""
        with selectors.DefaultSelector() as selector:
            selector.register(started.events, selectors.EVENT_READ)
            while not self._outcome.waits:
                if selector.select(timeout=self._wait_s()):
                    chunk = started.events.read(65536)
                    if not chunk:
                        return
                    *lines, buffer = (buffer + chunk).split(b"\n")
                    for line in lines:
                        self._take(Event.model_validate_json(line))
                elif started.process.poll() is not None:
                    # A process the system left behind may hold the other end open for ever.
                    return
                self._sampler.sample_if_due()
                self._kill_if_overdue(started.process)
                self._check_time()

    def _wait_s(self) -> float:
        return min(1.0, self._sampler.wait_s(), max(0.0, self._end_by - time.monotonic()))

    def _take(self, event: Event) -> None:
        outcome = self._outcome
        if event.kind == "started" and event.todo:
            self._started_at[event.todo] = time.monotonic()
        elif event.kind == "extended" and event.todo:
            self._started_at[event.todo] = time.monotonic() + event.left_s - self._job.limits.query_timeout_s
        elif event.kind == "finished" and event.todo:
            self._started_at.pop(event.todo, None)
            outcome.n_finished += 1
        elif event.kind == "indexed":
            outcome.indexed = event
        elif event.kind in {"completed", "waiting"}:
            outcome.completed, outcome.waits = True, event.kind == "waiting"
        elif event.kind in {"refused", "stopped", "broken"}:
            self._refusal = event
        self._on_event(event)

    def _kill_if_overdue(self, process: "subprocess.Popen[bytes]") -> None:
        oldest = time.monotonic() - self._job.limits.query_timeout_s - _GRACE_S
        overdue = [todo for todo, started in self._started_at.items() if started < oldest]
        if overdue and not self._outcome.overdue:
            self._outcome.overdue = overdue
            _kill_group(process)

    def _check_time(self) -> None:
        if time.monotonic() >= self._end_by:
            raise BudgetReached("the time is over")

    def _conclude(self, code: int) -> WorkerEnd:
        if self._refusal is not None:
            if self._refusal.kind == "stopped":
                needed = self._refusal.needed
                raise BudgetReached(self._refusal.what, usd=needed.usd, tokens=needed.tokens)
            if self._refusal.kind == "broken":
                raise SystemBroken(self._refusal.what)
            raise HarnessError(self._refusal.what, self._refusal.fix)
        if not self._outcome.completed:
            self._outcome.in_flight = list(self._started_at)
            self._outcome.death = "" if self._outcome.overdue else _describe(code)
        return self._outcome


_QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "RAGAS_DO_NOT_TRACK": "true",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONUNBUFFERED": "1",
}


def _send(process: "subprocess.Popen[bytes]", message: WorkerMessage) -> None:
    assert process.stdin is not None  # noqa: S101 - a pipe was asked for
    try:
        process.stdin.write(message.model_dump_json().encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        # It died at once; its exit code says more.
        return


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    """End the worker and whatever it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.close()


def _describe(code: int) -> str:
    if code < 0:
        name = signal.Signals(-code).name
        hint = " (often: out of memory)" if name == "SIGKILL" else ""
        return f"the system's process was ended by {name}{hint}"
    return f"the system's process ended with exit code {code}"
