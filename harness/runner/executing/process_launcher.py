"""Where a worker runs: as a process of this machine, unless whoever starts it brings another place."""

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Protocol

from harness.core.process_environment import python_command, python_environment
from harness.runner.executing.messages import ToWorker, WorkerJob, WorkerMessage

EVENTS_ENV = "RAG_HARNESS_EVENTS"
"""Names the descriptor to which a worker writes its events."""


class WorkerLink(Protocol):
    """A worker that was started, wherever it is."""

    @property
    def pid(self) -> int | None:
        """Of its process, where that is on this machine."""
        ...

    @property
    def events(self) -> IO[bytes]:
        """Its events, a line each; they end with it."""
        ...

    @property
    def lost(self) -> str:
        """Why nobody knows how it ended; empty: it runs, or ended by itself."""
        ...

    def send(self, message: WorkerJob | ToWorker) -> None:
        """A line for it; dropped where it has gone."""
        ...

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Its exit code, negative for a signal; None: it still runs, after so many seconds."""
        ...

    def kill(self) -> None:
        """End it and whatever it started; its events can still be read."""
        ...

    def end(self) -> None:
        """Likewise, and close what it was read by."""
        ...


class WorkerLauncher(Protocol):
    """Where workers are started."""

    def start(self, log_fd: int, lock_fd: int) -> WorkerLink:
        """One worker, which prints to `log_fd`, and keeps the run's lock where it inherits that."""
        ...


class WorkerProcess:
    """A worker that is a process of this machine."""

    lost = ""

    def __init__(self, log_fd: int, inherited: Sequence[int] = (), without: Sequence[str] = ()) -> None:
        """`without`: variables of this environment that it is not to have."""
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
        """See `WorkerLink`."""
        self.send_lines(message.model_dump_json().encode() + b"\n")

    def send_lines(self, lines: bytes) -> None:
        """Whole lines, as they are."""
        assert self._process.stdin is not None  # noqa: S101 - a pipe was asked for
        # Where it died at once, its exit code says more.
        with suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(lines)
            self._process.stdin.flush()

    def wait(self, timeout_s: float | None = None) -> int | None:
        """See `WorkerLink`."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        """See `WorkerLink`."""
        self.kill()
        self.events.close()

    def kill(self) -> None:
        """End it; its events can still be read."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()


class LocalLauncher:
    """This machine."""

    def start(self, log_fd: int, lock_fd: int) -> WorkerLink:
        """See `WorkerLauncher`."""
        return WorkerProcess(log_fd, (lock_fd,))


HERE = LocalLauncher()
