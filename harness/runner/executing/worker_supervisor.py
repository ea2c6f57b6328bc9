"""Starts worker processes and supervises one: its events, time limits, end and resources."""

import math
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol, Self

from harness.core.bounded_files import open_to_append
from harness.core.errors import BudgetExhausted, HarnessError, explained_io
from harness.core.process_environment import python_command, python_environment
from harness.core.sanitize import cleaned
from harness.runner.executing.messages import (
    LONGEST_EVENT,
    Event,
    IndexBuilt,
    NoMoreTurns,
    OutputLine,
    QueryFinished,
    QueryStarted,
    QueryTask,
    ToWorker,
    Turn,
    WaitingForTurn,
    WorkerFailed,
    WorkerJob,
    WorkerMessage,
    read_event,
)
from harness.runner.executing.resources import Sampler, is_suspended

EVENTS_ENV = "RAG_HARNESS_EVENTS"
"""Environment variable with the file descriptor to which a worker writes its events."""


class WorkerLink(Protocol):
    """The connection to a started worker, on this or another machine."""

    @property
    def pid(self) -> int | None:
        """Its process id, if it runs on this machine."""

    @property
    def events(self) -> IO[bytes]:
        """A stream of its events, one line each. It ends with the worker."""

    @property
    def lost(self) -> str:
        """Why the connection was lost; empty if it runs or has ended by itself."""

    def send(self, message: WorkerJob | ToWorker) -> None:
        """Send a message; ignored if the worker has ended."""

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait for its exit code, negative for a signal. None if it still runs after `timeout_s`."""

    def kill(self) -> None:
        """Kill it and its child processes. Its events can still be read."""

    def end(self) -> None:
        """Kill it and close the stream of events."""


LaunchWorker = Callable[[int, int], WorkerLink]
"""launch(log_fd, lock_fd): starts a worker on some machine. It prints to `log_fd`; a local one inherits `lock_fd`,
the lock of the run."""


class WorkerProcess:
    lost = ""

    def __init__(self, log_fd: int, inherited: Sequence[int] = (), without: Sequence[str] = ()) -> None:
        """`without`: environment variables that are not passed on."""
        read_end, write_end = os.pipe()
        self.events: IO[bytes] = os.fdopen(read_end, "rb", buffering=0)
        own = python_environment(
            TOKENIZERS_PARALLELISM="false", PYTHONUNBUFFERED="1", **{EVENTS_ENV: str(write_end)}
        )
        self._process = subprocess.Popen(
            python_command("harness.runner.executing.worker"),
            stdin=subprocess.PIPE,
            stdout=log_fd,
            stderr=log_fd,
            pass_fds=(write_end, *inherited),
            start_new_session=True,
            env={name: value for name, value in own.items() if name not in without},
        )
        os.close(write_end)
        self.pid: int | None = self._process.pid

    def send(self, message: WorkerMessage) -> None:
        self.send_lines(message.model_dump_json().encode() + b"\n")

    def send_lines(self, lines: bytes) -> None:
        assert self._process.stdin is not None  # noqa: S101 - a pipe was asked for
        # If the worker died at once, its exit code explains more than this error.
        with suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(lines)
            self._process.stdin.flush()

    def wait(self, timeout_s: float | None = None) -> int | None:
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        self.kill()
        self.events.close()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()


def start_process(log_fd: int, lock_fd: int) -> WorkerLink:
    return WorkerProcess(log_fd, (lock_fd,))


_LONGEST_LINE = 1 << 20
_LAST_WORDS_S = 2.0
"""Maximum wait for the end of the pipe: a process that a system left behind may keep it open."""


class CleanedLog:
    """Copies what is written to `fd` to a file, line by line, without keys and control characters."""

    def __init__(self, path: Path) -> None:
        with explained_io("write", path):
            self._file = open_to_append(path)
        self._read_end, self.fd = os.pipe()
        """`fd` is passed to a child process; here it is closed at the end of the block."""
        self._thread = threading.Thread(target=self._copy, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)
        self._thread.join(_LAST_WORDS_S)

    def _copy(self) -> None:
        pending = b""
        with self._file, os.fdopen(self._read_end, "rb", buffering=0) as pipe:
            while chunk := pipe.read(65536):
                whole, newline, pending = (pending + chunk).rpartition(b"\n")
                self._write(whole + newline)
                if len(pending) > _LONGEST_LINE:
                    self._write(pending)
                    pending = b""
            self._write(pending)

    def _write(self, text: bytes) -> None:
        self._file.write(cleaned(text.decode(errors="replace")).encode())
        self._file.flush()


GRACE_S = 15.0
"""How long beyond its time limit a query may block the worker's event loop before the worker is killed."""
_LOOKS_S = 1.0
"""How long to wait for an event before checking whether the worker is alive or suspended."""
_LEAVES_S = 60.0
"""How long a system may take to close after its last turn. Its answers are on disk, so it is killed then."""


class SystemBroken(Exception):
    """The system failed outside of any query (while indexing or loading), so there is no record of it."""


@dataclass
class WorkerEnd:
    """The state of a worker at the end of a turn."""

    completed: bool
    """It did the turn, and waits for the next one. Otherwise it has ended."""
    indexed: IndexBuilt | None = None
    in_flight: list[QueryTask] = field(default_factory=list)
    overdue: list[QueryTask] = field(default_factory=list)
    """Queries beyond their time limit, for which it was killed."""
    death: str = ""
    is_lost: bool = False
    """The connection to its machine was lost, so no query caused it."""
    n_finished: int = 0
    """Number of queries that it has answered in this turn."""
    has_answered: bool = False
    """Whether it has answered a query in this turn or an earlier one."""


@dataclass(frozen=True)
class WorkerEnvironment:
    """Where a worker runs and logs, with its resource sampler and the lock of the run."""

    log: Path
    sampler: Sampler
    lock_fd: int
    launch: LaunchWorker = start_process


class Supervisor:
    """Starts a worker, and supervises it turn by turn."""

    def __init__(self, job: WorkerJob, environment: WorkerEnvironment, on_event: Callable[[Event], None]) -> None:
        self._job = job
        self._environment = environment
        self._sampler = environment.sampler
        self._on_event = on_event
        self._started_at: dict[QueryTask, float] = {}
        self._looked_at, self._not_worked_s = time.monotonic(), 0.0
        self._outcome = WorkerEnd(completed=False)
        self._failure: WorkerFailed | None = None
        end_by = job.allowance.end_by
        self._end_by = math.inf if end_by is None else end_by
        self._stack = ExitStack()
        self._worker: WorkerLink | None = None

    def turn(self, turn: Turn) -> WorkerEnd:
        """Let the worker do one turn; the first one starts it. After each, it waits for the next one.

        Raises HarnessError (BudgetExhausted included) for what the user can fix, and SystemBroken for a bug of the
        system outside of any query. On any exception, Ctrl-C included, the worker is ended first.
        """
        has_answered = self._worker is not None and self._outcome.has_answered
        self._outcome, self._started_at = WorkerEnd(completed=False, has_answered=has_answered), {}
        try:
            if self._worker is None:
                self._worker = self._start()
            else:
                self._sampler.resume()
            self._worker.send(turn)
            self._follow(self._worker, self._end_by)
            self._sampler.pause()
            if self._outcome.completed:
                return self._outcome
            return self._worker_end(self._worker.wait() or 0, self._worker.lost)
        finally:
            if not self._outcome.completed:
                self.end()

    def only_turn(self, turn: Turn) -> WorkerEnd:
        """Like `turn`, after which the worker exits."""
        try:
            return self.turn(turn)
        finally:
            self.leave()

    @property
    def is_waiting(self) -> bool:
        return self._worker is not None and self._worker.wait(0) is None

    @property
    def rss_bytes(self) -> int:
        """Memory of the worker and its child processes; 0 without a worker."""
        return self._sampler.rss_bytes() if self.is_waiting else 0

    def kill(self) -> None:
        """Kill the worker from another thread. The supervising thread then sees its end."""
        if (worker := self._worker) is not None:
            worker.kill()

    def leave(self) -> None:
        """Let the worker close its system and exit. A failure is a warning, because its work is done."""
        try:
            if self._worker is not None and self.is_waiting:
                self._sampler.resume()
                self._outcome = WorkerEnd(completed=False)
                self._worker.send(NoMoreTurns())
                with suppress(BudgetExhausted, SystemBroken):
                    self._follow(self._worker, time.monotonic() + _LEAVES_S)
                if self._failure:
                    said = f"the system could not be closed: {self._failure.what}"
                    self._on_event(OutputLine(line=said, is_warning=True))
        finally:
            self.end()

    def end(self) -> None:
        self._worker = None
        self._stack.close()

    def _start(self) -> WorkerLink:
        log = self._stack.enter_context(CleanedLog(self._environment.log))
        worker = self._environment.launch(log.fd, self._environment.lock_fd)
        self._stack.callback(worker.end)
        if worker.pid is not None:
            self._sampler.watch(worker.pid)
        worker.send(self._job)
        return worker

    def _follow(self, worker: WorkerLink, end_by: float) -> None:
        buffer, self._looked_at = bytearray(), time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(worker.events, selectors.EVENT_READ)
            while not self._outcome.completed:
                left_s = max(0.0, end_by - time.monotonic())
                if selector.select(timeout=min(_LOOKS_S, self._sampler.wait_s(), left_s)):
                    chunk = worker.events.read(65536)
                    if not chunk:
                        return
                    buffer += chunk
                    if b"\n" in chunk:
                        *lines, buffer = buffer.split(b"\n")
                        for line in lines:
                            self._handle(_parsed(line))
                    if len(buffer) > LONGEST_EVENT:
                        raise SystemBroken(f"its process sent a message of more than {LONGEST_EVENT:,} bytes")
                elif worker.wait(0) is not None:
                    # A process that the system left behind may keep the pipe open.
                    return
                self._sampler.sample_if_due()
                self._note_suspension(worker)
                self._kill_if_overdue(worker)
                if time.monotonic() >= end_by:
                    raise BudgetExhausted("the time is over")

    @property
    def _worked_s(self) -> float:
        """The clock of time limits: without the seconds in which this process or the worker was suspended."""
        return time.monotonic() - self._not_worked_s

    def _note_suspension(self, worker: WorkerLink) -> None:
        passed_s = time.monotonic() - self._looked_at
        if passed_s < _LOOKS_S:
            return
        self._looked_at += passed_s
        if is_suspended(worker.pid):
            self._not_worked_s += passed_s
        else:
            # So much time between two checks means that this process was suspended.
            self._not_worked_s += max(0.0, passed_s - 2 * _LOOKS_S)

    def _handle(self, event: Event) -> None:
        outcome = self._outcome
        match event:
            case QueryStarted():
                self._started_at[event.todo] = self._worked_s + event.left_s - self._job.limits.query_timeout_s
            case QueryFinished():
                self._started_at.pop(event.todo, None)
                outcome.n_finished += 1
                outcome.has_answered = True
            case IndexBuilt():
                outcome.indexed = event
            case WaitingForTurn():
                outcome.completed = True
            case WorkerFailed():
                self._failure = event
        self._on_event(event)

    def _kill_if_overdue(self, worker: WorkerLink) -> None:
        oldest = self._worked_s - self._job.limits.query_timeout_s - GRACE_S
        overdue = [todo for todo, started in self._started_at.items() if started < oldest]
        if overdue and not self._outcome.overdue:
            self._outcome.overdue = overdue
            worker.kill()

    def _worker_end(self, code: int, lost: str = "") -> WorkerEnd:
        if failed := self._failure:
            if failed.why == "budget":
                raise BudgetExhausted(failed.what, usd=failed.needed.usd, tokens=failed.needed.tokens)
            raise SystemBroken(failed.what) if failed.why == "system" else HarnessError(failed.what, failed.fix)
        if not self._outcome.completed:
            self._outcome.in_flight = list(self._started_at)
            self._outcome.death = "" if self._outcome.overdue else lost or _describe(code)
            self._outcome.is_lost = bool(lost) and not self._outcome.overdue
        return self._outcome


def _parsed(line: bytes | bytearray) -> Event:
    try:
        return read_event(line)
    except ValueError as error:
        raise SystemBroken("its process sent a message that cannot be read") from error


def _describe(code: int) -> str:
    if code < 0:
        name = signal.Signals(-code).name
        hint = " (often: out of memory)" if name == "SIGKILL" else ""
        return f"the system's process was ended by {name}{hint}"
    return f"the system's process ended with exit code {code}"
