"""Starts workers. By default a worker is a process on this machine; executors start them elsewhere."""

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Protocol

from harness.core.process_environment import python_command, python_environment
from harness.runner.executing.messages import ToWorker, WorkerJob, WorkerMessage

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
