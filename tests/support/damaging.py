"""Runs without worker processes."""

import asyncio
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from unittest.mock import patch

from harness.core.records import Phase
from harness.runner.executing.messages import Event, Job, NoMoreTurns, Turn, read_event
from harness.runner.executing.worker import Worker, failure_of
from harness.runner.executing.worker_supervisor import Supervisor, WorkerEnd


class WorkersHere:
    """Runs workers in this process, because starting their processes takes most of the time."""

    def __init__(self, *phases: Phase) -> None:
        """`phases`: only those; none: all."""
        self._phases = phases

    def __enter__(self) -> None:
        in_a_process, phases = Supervisor.turn, self._phases

        def turn(supervisor: Supervisor, turn: Turn) -> WorkerEnd:
            job = supervisor._job
            is_here = not phases or (isinstance(job, Job) and job.phase in phases)
            return _turn_here(supervisor, turn) if is_here else in_a_process(supervisor, turn)

        self._patch = patch.object(Supervisor, "turn", turn)
        self._patch.start()

    def __exit__(self, *_: object) -> None:
        self._patch.stop()


class _Events:
    """Collects the events of a worker."""

    def __init__(self, handle: Callable[[Event], None]) -> None:
        self._handle = handle

    def write(self, line: bytes) -> None:
        self._handle(read_event(line))

    def flush(self) -> None:
        """Nothing is buffered."""


def _turn_here(self: Supervisor, turn: Turn) -> WorkerEnd:
    """`Supervisor.turn` without a process: each turn is a separate worker."""
    self._outcome = WorkerEnd(completed=False)
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            worker = Worker(self._job, _Events(self._handle))  # type: ignore[arg-type]
            for message in (turn, NoMoreTurns()):
                worker.handle(message)
            asyncio.run(_worked(worker))
    except Exception as error:
        self._handle(failure_of(error))
    return self._worker_end(0)


async def _worked(worker: Worker) -> None:
    """A process ends with its connections open; here they are closed."""
    try:
        await worker.work()
    finally:
        for transport in [*asyncio.get_running_loop()._transports.values()]:  # type: ignore[attr-defined]
            transport.abort()
        await asyncio.sleep(0)
