"""Workers that extract entities from texts by rules, for an index that another worker builds, in free slots."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Self

from harness.core.errors import HarnessError
from harness.extensions.ray.worker_pool import PoolStopped, TurnWorker, WorkerPool
from harness.models.remote_calls import RemoteCall
from harness.runner.executing.messages import ExtractionJob, ExtractionTurn, TextsExtracted
from harness.runner.executing.worker_supervisor import WorkerEnvironment

_Reader = TurnWorker[TextsExtracted]
_Answer = tuple[int, bytes]
_NOBODY: _Answer = HTTPStatus.SERVICE_UNAVAILABLE, b""


class RemoteReaders:
    """See `harness.models.remote_call_server.RoleHandler`: a call contains texts, the reply their phrases; no
    reply if no machine is free.

    At the end of its block all workers are released, or exit when they return.
    """

    def __init__(
        self, workers: WorkerPool, job: ExtractionJob, environment: WorkerEnvironment, warn: Callable[[str], None]
    ) -> None:
        """`job`: the first message for each worker, without its texts."""
        self._workers, self._job, self._environment, self._warn = workers, job, environment, warn
        self._idle: list[_Reader] = []
        self._busy: set[_Reader] = set()
        self._lock = threading.Lock()
        self._is_wanted = False
        """Whether a worker that has finished is kept for more texts."""
        self._is_off = False
        """The context has ended, or a worker could not extract as the index does; then others could not either."""

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
        answer = asyncio.get_running_loop().create_future()
        # A daemon thread for each: a machine may be slow, or have no room for a worker for a long time.
        threading.Thread(target=self._work, args=(call.body.decode(), answer), daemon=True).start()
        found: _Answer = await answer
        return found

    async def close(self) -> None:
        """Nothing: the workers are stopped at the end of the context."""

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
        reader = self._taken()
        if reader is None:
            return _NOBODY
        found = None
        try:
            result, _ = reader.result_of(ExtractionTurn(texts=texts))
            found = result.found if result else None
        except HarnessError as error:
            self._turn_off(error)
        except Exception:
            # Whatever failed, the caller reads the texts itself.
            found = None
        finally:
            self._take_back(reader)
        return _NOBODY if found is None else (HTTPStatus.OK, found.encode())

    def _taken(self) -> _Reader | None:
        """A waiting worker, or a new one if a slot is free."""
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

    def _take_back(self, reader: _Reader) -> None:
        """Keep the worker for more texts, unless it is gone or its slot is needed."""
        with self._lock:
            self._busy.discard(reader)
            stays = self._is_wanted and not self._is_off and not self._workers.is_waited_for
            if stays and reader.is_waiting:
                self._idle.append(reader)
                return
        self._end(reader)

    def _turn_off(self, error: HarnessError) -> None:
        with self._lock:
            is_first, self._is_off = not self._is_off, True
        if is_first:
            self._warn(f"texts are read by one worker alone: {error}")

    def _dismiss(self) -> None:
        with self._lock:
            self._is_wanted = False
            going, self._idle = self._idle, []
        for reader in going:
            self._end(reader)

    def _end(self, reader: _Reader) -> None:
        try:
            with suppress(Exception):
                reader.end()
        finally:
            self._workers.give_slot()
