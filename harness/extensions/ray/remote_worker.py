"""A worker on another machine, driven like a local one: its model calls are made by this process."""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any, NamedTuple, Protocol

from harness.models.remote_call_server import RemoteCallServer
from harness.models.remote_calls import CallUpdate
from harness.runner.executing.messages import (
    LONGEST_EVENT,
    CallRequested,
    CallUpdated,
    ToWorker,
    WorkerJob,
    read_event,
)
from harness.runner.executing.worker_supervisor import WorkerProcess

_NEWS_S = 1.0  # How long `receive` waits for output.
_LAST_WORDS_S = 2.0
"""How long to wait for the last output: an orphaned child process may hold the pipes open."""
ALONE_S = 30.0
"""A worker whose output was not fetched for so long is killed: its machine was disconnected, and another worker
may have taken over."""
_MOST_LOG = 1 << 20  # Bytes of log kept for fetching; beyond that the worker blocks when it prints.
_OF_THE_CLUSTER = ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")
"""Variables that Ray sets for a process with one CPU and no GPU. Workers run without them, as they would without a
cluster."""

_STARTS_S = 30.0
_MOST_STARTS = 20
_SILENT_S = 30.0
"""An actor that has not answered for this long, instead of every second, is lost. Ray ends the whole process
without any message a minute after it loses its cluster; this limit comes first.
"""


def _begun(work: Callable[..., None], *given: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=given, daemon=True)
    thread.start()
    return thread


class Received(NamedTuple):
    """Output of a worker since the last call."""

    events: bytes = b""
    log: bytes = b""
    code: int | None = None
    """Its exit code, once, at the end."""


class WorkerAgent:
    """One worker, on its machine. `send`, `receive` and `kill` run in one thread each."""

    def __init__(self, folder: str) -> None:
        """Start the worker, in `folder` if it exists on this machine."""
        if Path(folder).is_dir():
            os.chdir(folder)
        log_read, log_write = os.pipe()
        self._worker = WorkerProcess(log_write, without=_OF_THE_CLUSTER)
        os.close(log_write)
        self._lock = threading.Condition()
        self._events, self._log = b"", b""
        self._fetched_at = time.monotonic()
        log = os.fdopen(log_read, "rb", buffering=0)
        self._readers = [_begun(self._read_events, self._worker.events), _begun(self._read_log, log)]
        _begun(self._end_if_alone)

    def has_started(self) -> bool:
        return True

    def send(self, lines: bytes) -> None:
        self._worker.send_lines(lines)

    def receive(self) -> Received:
        self._fetched_at = time.monotonic()
        with self._lock:
            self._lock.wait_for(lambda: self._events or self._log, _NEWS_S)
        code = self._worker.wait(0)
        if code is not None:
            for reader in self._readers:
                reader.join(_LAST_WORDS_S)
        with self._lock:
            found = Received(self._events, self._log, code)
            self._events, self._log = b"", b""
            self._lock.notify_all()
        return found

    def kill(self) -> None:
        self._worker.kill()

    def _end_if_alone(self) -> None:
        while (left_s := self._fetched_at + ALONE_S - time.monotonic()) > 0:
            time.sleep(left_s)
        self.kill()

    def _read_events(self, pipe: IO[bytes]) -> None:
        with pipe:
            while chunk := pipe.read(65536):
                with self._lock:
                    self._events += chunk
                    self._lock.notify_all()

    def _read_log(self, pipe: IO[bytes]) -> None:
        with pipe:
            while chunk := pipe.read(65536):
                with self._lock:
                    self._lock.wait_for(lambda: len(self._log) < _MOST_LOG)
                    self._log += chunk
                    self._lock.notify_all()


class WorkerLost(Exception):
    """The machine of a worker, or the connection to it, is lost."""


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


class RemoteWorker:
    """See `WorkerLink`. Two threads copy its lines, so that the supervisor reads an ordinary pipe."""

    pid = None

    def __init__(self, make: StartWorker, server: RemoteCallServer, log_fd: int) -> None:
        self.lost = ""
        self._code = 0
        read_end, self._pipe = os.pipe()
        self.events: IO[bytes] = os.fdopen(read_end, "rb", buffering=0)
        self._log_fd = log_fd
        self._out: SimpleQueue[bytes | None] = SimpleQueue()
        self._session = server.open(self._send_update)
        self._gone = threading.Event()
        self._connection: WorkerConnection | None = None
        self._threads: list[threading.Thread] = []
        try:
            self._connection = make()
        except WorkerLost as lost:
            self._lose(lost)
            os.close(self._pipe)
            return
        except BaseException:
            self.events.close()
            os.close(self._pipe)
            raise
        self._threads = [_begun(carry, self._connection) for carry in (self._carry_out, self._carry_in)]

    def send(self, message: WorkerJob | ToWorker) -> None:
        self._out.put(message.model_dump_json().encode() + b"\n")

    def wait(self, timeout_s: float | None = None) -> int | None:
        """See `WorkerLink`; 0 if it was lost."""
        return self._code if self._gone.wait(timeout_s) else None

    def kill(self) -> None:
        if self._connection is not None:
            self._connection.kill()

    def end(self) -> None:
        if not self._gone.is_set():
            self.kill()
        self._out.put(None)
        if self._connection is not None:
            self._connection.close()
        # The copying thread may be blocked writing to the pipe.
        self.events.close()
        for thread in self._threads:
            thread.join(10.0)

    def _send_update(self, update: CallUpdate) -> None:
        if not self._gone.is_set():
            self.send(CallUpdated(update=update))

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
                        with suppress(OSError):
                            os.write(self._log_fd, received.log)
                    *lines, pending = (pending + received.events).split(b"\n")
                    if len(pending) > LONGEST_EVENT:
                        lines, pending = [*lines, pending], b""
                    for line in lines:
                        self._handle(line, pipe)
                    if received.code is not None:
                        self._code = received.code
                        return
        except WorkerLost as lost:
            self._lose(lost)
        finally:
            self._gone.set()

    def _handle(self, line: bytes, pipe: IO[bytes]) -> None:
        # The supervisor reports a line that cannot be read.
        with suppress(ValueError):
            if isinstance(event := read_event(line), CallRequested):
                self._session.take(event.call)
                return
        left = memoryview(line + b"\n")
        while left:
            left = left[pipe.write(left) :]


class ActorConnection:
    def __init__(self, node_id: str, host: str, say: Callable[[str], None], left: Callable[[bool], None]) -> None:
        """Start a worker on that node and wait for it. `left(is_lost)` is called once, when it ends."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

        self._left, self._is_lost, self._has_left = left, False, False
        self._host, self._get = host, ray.get
        actor = ray.remote(WorkerAgent).options(
            num_cpus=1, max_restarts=0, max_concurrency=4, scheduling_strategy=On(node_id, soft=False)
        )
        self._actor: Any = actor.remote(str(Path.cwd()))
        self._wait_for_start(say)

    def _wait_for_start(self, say: Callable[[str], None]) -> None:
        from ray.exceptions import GetTimeoutError

        started = self._actor.has_started.remote()
        for number in range(_MOST_STARTS):
            try:
                self._get(started, timeout=_STARTS_S)
                return
            except GetTimeoutError:
                if not number:
                    say(f"waiting for a free processor of {self._host}")
            except Exception as error:
                raise self._lost(error) from error
        self._end_actor()
        raise WorkerLost(f"{self._host} has had no free processor for {_STARTS_S * _MOST_STARTS:.0f} s")

    def send(self, lines: bytes) -> None:
        self._asked(self._actor.send.remote(lines))

    def receive(self) -> Received:
        found: Received = self._asked(self._actor.receive.remote())
        return found

    def kill(self) -> None:
        with suppress(Exception):
            self._get(self._actor.kill.remote(), timeout=5.0)

    def close(self) -> None:
        self._end_actor()
        if not self._has_left:
            self._has_left = True
            self._left(self._is_lost)

    def _asked(self, answer: Any) -> Any:
        try:
            return self._get(answer, timeout=_SILENT_S)
        except Exception as error:
            raise self._lost(error) from error

    def _lost(self, error: Exception) -> WorkerLost:
        self._is_lost = True
        return WorkerLost(f"{self._host}: {type(error).__name__}")

    def _end_actor(self) -> None:
        import ray

        with suppress(Exception):
            ray.kill(self._actor)
