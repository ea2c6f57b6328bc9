"""Running one worker process: its events, its time limits, its end, and what it used meanwhile."""

import math
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from harness.errors import BudgetReached, HarnessError
from harness.runner.executing.logs import CleanedLog
from harness.runner.executing.messages import Event, Job, Todo
from harness.runner.executing.resources import ResourceSampler
from harness.runner.executing.worker import EVENTS_ENV

_GRACE_S = 15.0
"""How long beyond its time limit a query may block the worker's event loop before the worker is killed."""


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


class Supervisor:
    """Starts one worker and follows it to its end."""

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

    def run(self) -> WorkerEnd:
        """Follow the worker until it has gone.

        Raises HarnessError where the user can fix what stopped it, BudgetReached included, and SystemBroken for a
        bug of the system outside any query. On any exception, Ctrl-C included, the worker is gone before it
        propagates.
        """
        read_end, write_end = os.pipe()
        with CleanedLog(self._log) as log, os.fdopen(read_end, "rb", buffering=0) as events:
            process = subprocess.Popen(
                [sys.executable, "-m", "harness.runner.executing.worker"],
                stdin=subprocess.PIPE,
                stdout=log.fd,
                stderr=log.fd,
                pass_fds=(write_end, self._lock_fd),
                start_new_session=True,
                env={**os.environ, **_QUIET, EVENTS_ENV: str(write_end)},
            )
            os.close(write_end)
            try:
                assert process.stdin is not None  # noqa: S101 - a pipe was asked for
                self._sampler.watch(process.pid)
                _send(process.stdin, self._job)
                self._follow(process, events)
                code = process.wait()
            finally:
                _kill_group(process)
        return self._conclude(code)

    def _follow(self, process: "subprocess.Popen[bytes]", events: IO[bytes]) -> None:
        buffer = b""
        with selectors.DefaultSelector() as selector:
            selector.register(events, selectors.EVENT_READ)
            while True:
                if selector.select(timeout=self._wait_s()):
                    chunk = events.read(65536)
                    if not chunk:
                        return
                    *lines, buffer = (buffer + chunk).split(b"\n")
                    for line in lines:
                        self._take(Event.model_validate_json(line))
                elif process.poll() is not None:
                    # A process the system left behind may hold the other end open for ever.
                    return
                self._sampler.sample_if_due()
                self._kill_if_overdue(process)
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
        elif event.kind == "completed":
            outcome.completed = True
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


def _send(stdin: IO[bytes], job: Job) -> None:
    try:
        stdin.write(job.model_dump_json().encode() + b"\n")
        stdin.flush()
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
