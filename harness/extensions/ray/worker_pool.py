"""Shared by the remote workers of one command: queries in shards, event loop of model calls, budget, limits; and
those that extract texts in free slots.
"""

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any, Generic, Self, TypeVar
from weakref import WeakSet

from harness.core.errors import HarnessError
from harness.extensions.ray.remote_worker import RemoteWorker, StartWorker, WorkerConnection
from harness.models.budget import Allowance, Budget
from harness.models.rate_limits import Limiters
from harness.models.remote_call_server import RemoteCallServer
from harness.models.remote_calls import RemoteCall
from harness.runner.executing.messages import (
    AnswersScored,
    Event,
    ExtractionJob,
    ExtractionTurn,
    QueryTask,
    TextsExtracted,
    Turn,
    WorkerJob,
)
from harness.runner.executing.worker_supervisor import LaunchWorker, Supervisor, WorkerEnd, WorkerEnvironment

MOST_LOST = 5  # Consecutive workers that may be lost before any of them answers or scores anything.
_MOST_LOSSES = 2
"""A query during which more workers than this were lost is suspected of killing them."""
_SHARES = 2  # Size of a shard: remaining queries / (this * workers). Fast workers take more shards.

_CLOSES_S = 30.0


class WorkQueue:
    """Queries without a record, in order. Thread-safe."""

    def __init__(self, todo: Sequence[QueryTask], n_workers: int, at_once: int) -> None:
        """`at_once`: how many queries a worker answers concurrently; the least size of a shard."""
        self._left = deque(todo)
        self._n_workers, self._at_once = n_workers, at_once
        self._losses: Counter[QueryTask] = Counter()
        self._lock = threading.Lock()
        self._is_closed = False

    def take(self) -> list[QueryTask]:
        """The next shard; empty if none is left or the queue is closed."""
        with self._lock:
            if self._is_closed:
                return []
            share = len(self._left) // (_SHARES * self._n_workers)
            return [self._left.popleft() for _ in range(min(len(self._left), max(self._at_once, share)))]

    def give_back(self, todo: Sequence[QueryTask]) -> None:
        with self._lock:
            self._left.extendleft(reversed(todo))

    def suspects(self, under_way: Sequence[QueryTask]) -> list[QueryTask]:
        """Which of these queries, running when a worker was lost, have now lost too many workers."""
        with self._lock:
            self._losses.update(under_way)
            return [one for one in under_way if self._losses[one] > _MOST_LOSSES]

    @property
    def is_empty(self) -> bool:
        with self._lock:
            return self._is_closed or not self._left

    def close(self) -> None:
        with self._lock:
            self._is_closed = True


def raise_first_error(workers: Sequence["Future[Any]"]) -> None:
    """The error that ended one of these workers, if any: one that the user can fix explains more than those it
    caused.
    """
    errors = [error for worker in workers if worker.done() and (error := worker.exception()) is not None]
    if errors:
        raise next((error for error in errors if isinstance(error, HarnessError)), errors[0])


def cluster_lost(outcome: WorkerEnd) -> HarnessError:
    return HarnessError(outcome.death, "check the cluster, then run the same command again: it resumes")


class PoolStopped(Exception):
    """The command is ending; no worker is started any more."""


class WorkerPool:
    """At most `n_workers` workers on other machines. Thread-safe. The end of the `with` block stops the event loop
    and all running calls.
    """

    def __init__(
        self, make: StartWorker, n_workers: int, allowance: Allowance, ends_within_s: float = 0.0
    ) -> None:
        """`allowance`: budget of all workers together. `ends_within_s`: a lost worker has ended by then."""
        self._make, self.n_workers, self._ends_within_s = make, n_workers, ends_within_s
        self._slots = threading.Semaphore(n_workers)
        self._n_waiting = 0
        self._counting = threading.Lock()
        self.budget = Budget(allowance)
        self.limiters = Limiters()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._is_ending = False
        self._connections: WeakSet[WorkerConnection] = WeakSet()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSES_S)
        if not self._loop.is_running():
            self._loop.close()

    def stop(self) -> None:
        self._is_ending = True
        for connection in tuple(self._connections):
            connection.kill()

    def check(self) -> None:
        if self._is_ending:
            raise PoolStopped

    def wait_for_its_end(self) -> None:
        """Wait until a lost worker has surely ended, so that another may take over its work."""
        until = time.monotonic() + self._ends_within_s
        while time.monotonic() < until:
            self.check()
            time.sleep(0.1)

    def take_slot(self, wait_s: float = 0.5) -> bool:
        """Wait at most `wait_s` seconds for a free slot; returns whether one was taken. `give_slot` returns it."""
        self.check()
        if not wait_s:
            return self._slots.acquire(blocking=False)
        with self._counting:
            self._n_waiting += 1
        try:
            return self._slots.acquire(timeout=wait_s)
        finally:
            with self._counting:
                self._n_waiting -= 1

    @property
    def is_waited_for(self) -> bool:
        return self._n_waiting > 0

    def give_slot(self) -> None:
        self._slots.release()

    @contextmanager
    def slot(self) -> Iterator[None]:
        while not self.take_slot():
            continue
        try:
            yield
        finally:
            self.give_slot()

    @contextmanager
    def serving(
        self, open_server: Callable[[asyncio.AbstractEventLoop], RemoteCallServer]
    ) -> Iterator[tuple[RemoteCallServer, LaunchWorker]]:
        """A server for the model calls of workers, made by `open_server` in the event loop and open until the end
        of the block; and what launches these workers.
        """

        async def opened() -> RemoteCallServer:
            return open_server(self._loop)

        server = asyncio.run_coroutine_threadsafe(opened(), self._loop).result()
        try:
            # The lock of a run stays in this process.
            yield server, lambda log_fd, _lock_fd: RemoteWorker(self._started, server, log_fd)
        finally:
            asyncio.run_coroutine_threadsafe(server.close(), self._loop).result(_CLOSES_S)

    def _started(self) -> WorkerConnection:
        connection = self._make()
        self._connections.add(connection)
        if self._is_ending:
            connection.kill()
        return connection


TurnResult = TypeVar("TurnResult", bound=AnswersScored | TextsExtracted)


class TurnWorker(Supervisor, Generic[TurnResult]):
    """A worker whose turns each end with one event that holds the result."""

    def __init__(self, job: WorkerJob, environment: WorkerEnvironment, result_type: type[TurnResult]) -> None:
        self._result_type: type[TurnResult] = result_type
        self._result: TurnResult | None = None
        super().__init__(job, environment, self._keep_result)

    def result_of(self, turn: Turn) -> tuple[TurnResult | None, WorkerEnd]:
        """The result of a turn, None if it did not finish, and the state of the worker."""
        self._result = None
        outcome = self.turn(turn)
        return self._result, outcome

    def _keep_result(self, event: Event) -> None:
        if isinstance(event, self._result_type):
            self._result = event


_Reader = TurnWorker[TextsExtracted]
_Answer = tuple[int, bytes]
_NOBODY: _Answer = HTTPStatus.SERVICE_UNAVAILABLE, b""


class RemoteReaders:
    """Workers that extract entities from texts by rules, for an index that another worker builds, in free slots.

    See `harness.models.remote_call_server.RoleHandler`: a call contains texts, the reply their phrases; no reply
    if no machine is free. At the end of its block all workers are released, or exit when they return.
    """

    def __init__(
        self, workers: WorkerPool, job: ExtractionJob, environment: WorkerEnvironment, warn: Callable[[str], None]
    ) -> None:
        """`job`: the first message for each worker."""
        self._workers, self._job, self._environment, self._warn = workers, job, environment, warn
        self._idle: list[_Reader] = []
        self._busy: set[_Reader] = set()
        self._lock = threading.Lock()
        self._is_wanted = False
        """Whether a worker that has finished is kept for more texts."""
        self._is_off = False
        """The block has ended, or a worker could not extract as the index does; then others could not either."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_off = True
        self._dismiss()
        with self._lock:
            busy = list(self._busy)
        for reader in busy:
            reader.kill()

    async def send(self, call: RemoteCall) -> _Answer:
        """See `RoleHandler`; a call without texts dismisses idle workers."""
        answer: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        # A daemon thread for each: a machine may be slow, or have no room for a worker for a long time.
        threading.Thread(target=self._work, args=(call.body.decode(), answer), daemon=True).start()
        return await answer

    async def close(self) -> None:
        """Nothing: the workers are stopped at the end of the block."""

    def _work(self, texts: str, answer: "asyncio.Future[_Answer]") -> None:
        found = _NOBODY
        if texts:
            found = self._read(texts)
        else:
            self._dismiss()

        def tell() -> None:
            if not answer.done():
                answer.set_result(found)

        # The loop may have been closed meanwhile.
        with suppress(RuntimeError):
            answer.get_loop().call_soon_threadsafe(tell)

    def _read(self, texts: str) -> _Answer:
        reader = self._waiting_or_new()
        if reader is None:
            return _NOBODY
        result: TextsExtracted | None = None
        # Whatever fails, the caller reads the texts itself.
        with suppress(Exception):
            try:
                result, _ = reader.result_of(ExtractionTurn(texts=texts))
            except HarnessError as error:
                with self._lock:
                    is_first, self._is_off = not self._is_off, True
                if is_first:
                    self._warn(f"texts are read by one worker alone: {error}")
        with self._lock:
            self._busy.discard(reader)
            stays = self._is_wanted and not self._is_off and not self._workers.is_waited_for
            stays = stays and reader.is_waiting
            if stays:
                self._idle.append(reader)
        if not stays:
            self._end(reader)
        return _NOBODY if result is None else (HTTPStatus.OK, result.found.encode())

    def _waiting_or_new(self) -> _Reader | None:
        """None if no slot is free."""
        with self._lock:
            if self._is_off:
                return None
            self._is_wanted = True
            reader = self._idle.pop() if self._idle else None
        with suppress(PoolStopped):
            if reader is None and self._workers.take_slot(wait_s=0):
                reader = TurnWorker(self._job, self._environment, TextsExtracted)
        if reader is not None:
            with self._lock:
                self._busy.add(reader)
        return reader

    def _dismiss(self) -> None:
        with self._lock:
            self._is_wanted = False
            going, self._idle = self._idle, []
        for reader in going:
            self._end(reader)

    def _end(self, reader: _Reader) -> None:
        with suppress(Exception):
            reader.end()
        self._workers.give_slot()
