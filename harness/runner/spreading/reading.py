"""Workers that read texts by rules for an index that another worker builds, wherever there is room for them."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from types import TracebackType
from typing import Self

from harness.errors import HarnessError
from harness.models.relaying import RelayedCall
from harness.runner.executing.messages import Event, ReadingJob, Turn
from harness.runner.executing.supervise import Supervisor, Workplace
from harness.runner.spreading.fleet import Fleet, FleetEnded

_NOBODY = HTTPStatus.SERVICE_UNAVAILABLE, b""


class _Reader:
    """One worker, in a slot of the fleet."""

    def __init__(self, job: ReadingJob, at: Workplace) -> None:
        self._found: str | None = None
        self.supervisor = Supervisor(job, at, self._hear)

    def read(self, texts: str) -> str | None:
        """None: it was lost. HarnessError where it cannot read as the index does."""
        self._found = None
        self.supervisor.turn(Turn(texts=texts))
        return self._found

    def _hear(self, event: Event) -> None:
        if event.kind == "read":
            self._found = event.found


class FleetReaders:
    """See `harness.models.relay_desk.CallWay`: a call is texts, its answer what they hold; none where nobody is
    free.

    As a context: at its end all have left, and no slot is taken.
    """

    def __init__(self, fleet: Fleet, job: ReadingJob, at: Workplace, warn: Callable[[str], None]) -> None:
        """`job`: what each is told first, but for its texts."""
        self._fleet, self._job, self._at, self._warn = fleet, job, at, warn
        self._idle: list[_Reader] = []
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(fleet.n_workers)
        self._is_off = False
        """One could not read as the index does, and others could not either."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_off = True
        self._threads.shutdown()
        self._leave_all()

    async def send(self, call: RelayedCall) -> tuple[int, bytes]:
        """See `CallWay`; without texts, those that wait leave."""
        work = self._read if call.body else self._leave_all
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, call.body.decode())

    async def close(self) -> None:
        """They leave with the block."""

    def _read(self, texts: str) -> tuple[int, bytes]:
        reader = self._taken()
        if reader is None:
            return _NOBODY
        found = None
        try:
            found = reader.read(texts)
        except HarnessError as error:
            self._is_off = True
            self._warn(f"texts are read by one worker alone: {error}")
        except Exception:
            # Whatever it died of, the texts are read by who asked.
            found = None
        finally:
            self._give_back(reader)
        return _NOBODY if found is None else (HTTPStatus.OK, found.encode())

    def _taken(self) -> _Reader | None:
        """One that waits, or another where a slot is free now: whoever answers queries goes first."""
        with self._lock:
            if self._is_off:
                return None
            if self._idle:
                return self._idle.pop()
        with suppress(FleetEnded):
            if self._fleet.take_slot(wait_s=0):
                return _Reader(self._job, self._at)
        return None

    def _give_back(self, reader: _Reader) -> None:
        if reader.supervisor.is_waiting:
            with self._lock:
                self._idle.append(reader)
        else:
            reader.supervisor.end()
            self._fleet.give_slot()

    def _leave_all(self, _texts: str = "") -> tuple[int, bytes]:
        with self._lock:
            leaving, self._idle = self._idle, []
        for reader in leaving:
            reader.supervisor.leave()
            self._fleet.give_slot()
        return _NOBODY
