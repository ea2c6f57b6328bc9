"""Shared by the remote workers of one command: queries in shards, event loop of model calls, budget, limits."""

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Generic, TypeVar
from weakref import WeakSet

from harness.core.errors import HarnessError
from harness.extensions.ray.remote_worker import RemoteLauncher, StartWorker, WorkerConnection
from harness.models.budget import Allowance, Amount, Budget
from harness.models.providers import provider_of
from harness.models.rate_limits import Limiters
from harness.models.remote_call_server import RemoteCallServer
from harness.models.transport import CallContext
from harness.runner.executing.messages import (
    AnswersScored,
    Event,
    Job,
    QueryTask,
    TextsExtracted,
    Turn,
    WorkerJob,
)
from harness.runner.executing.worker_supervisor import Supervisor, WorkerEnd, WorkerEnvironment
from harness.store import Dialects, IndexDir, Journal, RunDir

_MOST_LOSSES = 2
"""A query during which more workers than this were lost is suspected of killing them."""
_SHARES = 2
"""Size of a shard: remaining queries / (this * workers). Fast workers take more shards."""

_CLOSES_S = 30.0
_LOOKS_S = 0.5


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


def raise_first_error(workers: Sequence["Future[None]"]) -> None:
    """The error that ended one of these workers, if any: one that the user can fix explains more than those it
    caused.
    """
    errors = [error for worker in workers if worker.done() and (error := worker.exception()) is not None]
    if errors:
        raise next((error for error in errors if isinstance(error, HarnessError)), errors[0])


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
        self._budget = Budget(allowance)
        self._limiters = Limiters()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._is_ending = False
        self._connections: WeakSet[WorkerConnection] = WeakSet()

    def __enter__(self) -> "WorkerPool":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSES_S)
        if not self._loop.is_running():
            self._loop.close()

    @property
    def spent(self) -> Amount:
        return self._budget.spent

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

    def take_slot(self, wait_s: float = _LOOKS_S) -> bool:
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

    def launcher(
        self, job: Job, run: RunDir, say: Callable[[str], None], warn: Callable[[str], None]
    ) -> AbstractContextManager[RemoteLauncher]:
        """A launcher for workers of this job. This process makes their calls with the job's models, servers and
        prices; the job's journal is open until the end of the block. `say` and `warn` get messages about calls.
        """
        return self.launcher_with(lambda _loop: self._open(job, run, say, warn))

    @contextmanager
    def launcher_with(
        self, open_server: Callable[[asyncio.AbstractEventLoop], RemoteCallServer]
    ) -> Iterator[RemoteLauncher]:
        """The same with a call server made by `open_server` in the event loop; closed at the end of the block."""

        async def opened() -> RemoteCallServer:
            return open_server(self._loop)

        server = asyncio.run_coroutine_threadsafe(opened(), self._loop).result()
        try:
            yield RemoteLauncher(self._started, server)
        finally:
            asyncio.run_coroutine_threadsafe(server.close(), self._loop).result(_CLOSES_S)

    def _started(self) -> WorkerConnection:
        connection = self._make()
        self._connections.add(connection)
        if self._is_ending:
            connection.kill()
        return connection

    def _open(
        self, job: Job, run: RunDir, say: Callable[[str], None], warn: Callable[[str], None]
    ) -> RemoteCallServer:
        results, builds = Path(job.results), job.phase == "index"
        path = IndexDir(results, job.index_id).journal_path if builds else run.journal_path
        call_context = CallContext(
            Journal(path, payer=job.run_id, shared=builds, tell=warn),
            job.servers if builds else {},
            dialects=Dialects.under(results),
            begun_in=run.dialects(),
            noted=run.keep_dialect,
            budget=self._budget,
            prices=job.prices,
            limiters=self._limiters,
            say=say,
        )
        # Encoders run in the worker itself.
        models = [model for model in (job.generator, job.embedder) if model is not None and not model.is_none]
        called = {model.role: model for model in models if provider_of(model).encoder is None}
        servers = {job.generator.role: job.server} if job.generator and job.server else {}
        try:
            return RemoteCallServer(call_context, called, servers, self._loop)
        except BaseException:
            call_context.close()
            raise


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
