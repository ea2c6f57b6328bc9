"""One cell among others that take turns: its worker stays between them, so that its index is loaded once."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from harness.models.providers import provider_of
from harness.runner.executing.messages import Event, QueryTask, Turn
from harness.runner.executing.phases import Execution
from harness.runner.executing.progress_counter import ProgressCounter
from harness.runner.executing.worker_supervisor import Supervisor, SystemBroken, WorkerEnd


class InterleavedRun:
    """One cell, its answers to come, and its worker."""

    def __init__(self, execution: Execution, todo: Sequence[QueryTask]) -> None:
        self.execution = execution
        self._todo = {(one.query_id, one.repeat): one for one in todo}
        self._worker: Supervisor | None = None
        self.broken: SystemBroken | None = None
        """Why its system can answer no more."""

    @property
    def n_left(self) -> int:
        """Answers to come."""
        return len(self._todo)

    @property
    def is_waiting(self) -> bool:
        """Whether its worker is there."""
        return self._worker is not None and self._worker.is_waiting

    @property
    def rss_bytes(self) -> int:
        """What its worker holds in memory, 0 without one."""
        return self._worker.rss_bytes if self._worker else 0

    @property
    def block(self) -> int:
        """How many queries it takes in a turn.

        Two at least: the model server that cells share keeps the beginning of the last prompt of each of its
        slots, and the first query of a turn must not find there what another system was told about it. Where
        queries are answered side by side, several times as many: the last ones of a turn have less company.
        """
        cell, slots = self.execution.cell, 1
        if cell.generator is not None and provider_of(cell.generator).serve:
            slots = provider_of(cell.generator).parallel(cell.generator)
        at_once = cell.config.limits.concurrency
        return max(2, slots + 1, 4 * at_once if at_once > 1 else 0)

    def left_of(self, query_ids: Sequence[str]) -> list[QueryTask]:
        """What is to be answered of these queries."""
        keys = [
            (query_id, repeat) for query_id in query_ids for repeat in range(self.execution.cell.config.repeats)
        ]
        return [self._todo[key] for key in keys if key in self._todo]

    def take_turn(self, todo: Sequence[QueryTask], tally: ProgressCounter) -> None:
        """Answer `todo`; the worker stays. Raises as `Supervisor.run` does."""
        self.execution.work_through(todo, tally, self._ask)
        for one in todo:
            del self._todo[one.query_id, one.repeat]

    def index_in_use(self) -> AbstractContextManager[None]:
        """While it answers."""
        return self.execution.index_in_use()

    def leave(self) -> None:
        """Its worker closes its system and goes; the next turn starts another."""
        if self._worker:
            self._worker.leave()
            self._worker = None

    def end(self) -> None:
        """Its worker goes at once."""
        if self._worker:
            self._worker.end()
            self._worker = None

    def _ask(self, pending: Sequence[QueryTask], heard: Callable[[Event], None]) -> WorkerEnd:
        execution = self.execution
        if self._worker is None or not self._worker.is_waiting:
            self.end()
            self._worker = execution.supervisor("answer", pending, heard)
        else:
            execution.spending.check()
        return self._worker.turn(Turn(todo=tuple(pending), allowance=execution.spending.allowance()))
