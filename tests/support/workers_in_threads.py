"""Workers like those of other machines, each in a thread of this process: any can be lost at any moment."""

import asyncio
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from harness.extensions.ray.remote_worker import Received, WorkerLost
from harness.runner.executing.messages import (
    Event,
    JobWorker,
    NoMoreTurns,
    QueryStarted,
    QueryTask,
    WorkerMessage,
    read_event,
    read_message_to_worker,
)
from harness.runner.executing.worker import failure_of, read_job, worker_of

_NOTHING = Received()


class Gone(BaseException):
    """Ends a worker's thread when it writes to a lost connection."""


class WorkerInThread:
    """See `harness.extensions.ray.remote_worker.WorkerConnection`."""

    def __init__(self, heard: Callable[["WorkerInThread", Event], None]) -> None:
        self.is_lost = self.is_killed = False
        self.asked: list[QueryTask] = []
        """Every query that it began."""
        self._heard = heard
        self._said: SimpleQueue[bytes | int] = SimpleQueue()
        self._worker: JobWorker | None = None

    def send(self, lines: bytes) -> None:
        self._check()
        for line in lines.splitlines():
            if self._worker is None:
                self._worker = worker_of(read_job(line), self)  # type: ignore[arg-type]
                threading.Thread(target=self._work, args=(self._worker,), daemon=True).start()
                continue
            self._worker.handle(read_message_to_worker(line))

    def receive(self) -> Received:
        try:
            said = self._said.get(timeout=0.05)
        except Empty:
            self._check()
            return Received(code=-9) if self.is_killed else _NOTHING
        self._check()
        return Received(code=said) if isinstance(said, int) else Received(events=said)

    def kill(self) -> None:
        self.is_killed = True

    def close(self) -> None:
        self.is_killed = True
        if self._worker is not None:
            self._worker.handle(NoMoreTurns())  # Else its thread would wait for ever.

    def lose(self) -> None:
        self.is_lost = True

    def write(self, line: bytes) -> None:
        """An event of the worker."""
        event = read_event(line)
        self._heard(self, event)
        if self.is_lost or self.is_killed:
            raise Gone
        if isinstance(event, QueryStarted):
            self.asked.append(event.todo)
        self._said.put(line)

    def flush(self) -> None:
        """Nothing is buffered."""

    def _work(self, worker: JobWorker) -> None:
        try:
            asyncio.run(worker.work())
        except Gone:
            return
        except BaseExceptionGroup as error:
            if error.subgroup(Gone) is not None:
                return
            self._end_badly(error)
        except Exception as error:
            self._end_badly(error)
        self._said.put(0)

    def _end_badly(self, error: BaseException) -> None:
        self._said.put(failure_of(error).model_dump_json().encode() + b"\n")

    def _check(self) -> None:
        if self.is_lost:
            raise WorkerLost("its cable was pulled")


class Machines:
    """Starts workers. `at(worker, event)` gets every event before it is sent, and may lose the machine."""

    def __init__(self, at: Callable[[WorkerInThread, Event], None] | None = None) -> None:
        self.started: list[WorkerInThread] = []
        self._at = at or (lambda _worker, _event: None)

    def start(self) -> WorkerInThread:
        self.started.append(WorkerInThread(self._at))
        return self.started[-1]


def losing_at(number: int, kind: type[WorkerMessage]) -> Callable[[WorkerInThread, Event], None]:
    """For `Machines`: lose the machine whose worker sends the event with this number and class, just before it."""
    seen: list[WorkerInThread] = []

    def at(worker: WorkerInThread, event: Event) -> None:
        if isinstance(event, kind):
            seen.append(worker)
            if len(seen) == number:
                worker.lose()

    return at
