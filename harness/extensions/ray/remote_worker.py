"""A worker on another machine, driven like a local one: its model calls are made by this process."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import IO, Protocol

from harness.models.remote_call_server import RemoteCallServer, RoleHandler
from harness.models.remote_calls import CallUpdate
from harness.runner.executing.messages import Event, ToWorker, WorkerJob
from harness.runner.executing.process_launcher import WorkerLink

_ENDS_S = 10.0


class WorkerLost(Exception):
    """The machine of a worker, or the connection to it, is lost."""


@dataclass(frozen=True)
class Received:
    """Output of a worker since the last call."""

    events: bytes = b""
    log: bytes = b""
    code: int | None = None
    """Exit code of the worker, if it has ended."""


class WorkerConnection(Protocol):
    """A connection to one remote worker. `send` and `receive` run in one thread each; both raise WorkerLost."""

    def send(self, lines: bytes) -> None:
        """Send whole lines to its standard input."""
        ...

    def receive(self) -> Received:
        """New output; waits briefly for some."""
        ...

    def kill(self) -> None:
        """Kill the worker. Earlier output can still be received. Raises nothing."""
        ...

    def close(self) -> None:
        """Release the machine. Raises nothing."""
        ...


StartWorker = Callable[[], WorkerConnection]
"""Starts a remote worker. WorkerLost if that fails, HarnessError if no other machine could start one either."""


class RemoteLauncher:
    """Starts remote workers, whose model calls are made by the call server of this process."""

    def __init__(self, make: StartWorker, desk: RemoteCallServer) -> None:
        self._make, self._desk = make, desk

    def serve(self, role: str, way: RoleHandler) -> None:
        """See `RemoteCallServer.serve`."""
        self._desk.serve(role, way)

    def start(self, log_fd: int, lock_fd: int) -> WorkerLink:
        """See `harness.runner.executing.process_launcher.WorkerLauncher`: the lock stays here."""
        del lock_fd
        return RemoteWorker(self._make, self._desk, log_fd)


class RemoteWorker:
    """See `WorkerLink`. Two threads copy its lines, so that the supervisor reads an ordinary pipe."""

    pid = None

    def __init__(self, make: StartWorker, desk: RemoteCallServer, log_fd: int) -> None:
        self.lost = ""
        self._code = 0
        read_end, self._pipe = os.pipe()
        self.events: IO[bytes] = os.fdopen(read_end, "rb", buffering=0)
        self._log_fd = log_fd
        self._out: SimpleQueue[bytes | None] = SimpleQueue()
        self._session = desk.open(self._tell)
        self._gone = threading.Event()
        self._connection: WorkerConnection | None = None
        try:
            self._connection = make()
        except WorkerLost as lost:
            self._lose(lost)
            os.close(self._pipe)
            self._threads: list[threading.Thread] = []
            return
        except BaseException:
            self.events.close()
            os.close(self._pipe)
            raise
        work = ((self._carry_out, self._connection), (self._carry_in, self._connection))
        self._threads = [
            threading.Thread(target=target, args=(connection,), daemon=True) for target, connection in work
        ]
        for thread in self._threads:
            thread.start()

    def send(self, message: WorkerJob | ToWorker) -> None:
        """See `WorkerLink`."""
        self._out.put(message.model_dump_json().encode() + b"\n")

    def wait(self, timeout_s: float | None = None) -> int | None:
        """See `WorkerLink`; 0 if it was lost."""
        return self._code if self._gone.wait(timeout_s) else None

    def kill(self) -> None:
        """See `WorkerLink`."""
        if self._connection is not None:
            self._connection.kill()

    def end(self) -> None:
        """See `WorkerLink`."""
        if not self._gone.is_set():
            self.kill()
        self._out.put(None)
        if self._connection is not None:
            self._connection.close()
        # The copying thread may be blocked writing to the pipe.
        self.events.close()
        for thread in self._threads:
            thread.join(_ENDS_S)

    def _tell(self, news: CallUpdate) -> None:
        if not self._gone.is_set():
            self.send(ToWorker(news=news))

    def _lose(self, lost: WorkerLost) -> None:
        self.lost = f"the machine of its worker was lost ({lost})"
        self._gone.set()

    def _carry_out(self, connection: WorkerConnection) -> None:
        try:
            while (lines := self._next_lines()) is not None:
                connection.send(lines)
        except WorkerLost:
            # The receiving thread gets the same error and handles it.
            return

    def _next_lines(self) -> bytes | None:
        """All queued lines; None if no more will follow."""
        waiting = [self._out.get()]
        with suppress(Empty):
            while waiting[-1] is not None:
                waiting.append(self._out.get_nowait())
        lines = b"".join(line for line in waiting if line is not None)
        if lines and waiting[-1] is None:
            self._out.put(None)
        return lines or None

    def _carry_in(self, connection: WorkerConnection) -> None:
        pending = b""
        try:
            with os.fdopen(self._pipe, "wb", buffering=0) as pipe, suppress(BrokenPipeError):
                while True:
                    received = connection.receive()
                    if received.log:
                        self._print(received.log)
                    *lines, pending = (pending + received.events).split(b"\n")
                    for line in lines:
                        self._take(line, pipe)
                    if received.code is not None:
                        self._code = received.code
                        return
        except WorkerLost as lost:
            self._lose(lost)
        finally:
            self._gone.set()

    def _take(self, line: bytes, pipe: IO[bytes]) -> None:
        event = Event.model_validate_json(line)
        if event.kind == "asks" and event.call is not None:
            self._session.take(event.call)
        else:
            _write_all(pipe, line + b"\n")

    def _print(self, log: bytes) -> None:
        with suppress(OSError):
            os.write(self._log_fd, log)


def _write_all(pipe: IO[bytes], line: bytes) -> None:
    left = memoryview(line)
    while left:
        left = left[pipe.write(left) :]
