"""One run of an interleaved schedule. Its worker stays alive between turns, so that the index is loaded once."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from harness.models.providers import provider_of
from harness.runner.executing.messages import Event, QueryTask, Turn
from harness.runner.executing.phases import Execution, ProgressCounter
from harness.runner.executing.worker_supervisor import Supervisor, SystemBroken, WorkerEnd


class InterleavedRun:
    """A cell with its remaining answers and its worker."""

    def __init__(self, execution: Execution, todo: Sequence[QueryTask]) -> None:
        self.execution = execution
        self._todo = {(one.query_id, one.repeat): one for one in todo}
        self._worker: Supervisor | None = None
        self.broken: SystemBroken | None = None
        """The error that stopped its system."""

    @property
    def n_left(self) -> int:
        """Number of remaining answers."""
        return len(self._todo)

    @property
    def is_waiting(self) -> bool:
        """Whether its worker is alive and waits for a turn."""
        return self._worker is not None and self._worker.is_waiting

    @property
    def rss_bytes(self) -> int:
        """Memory of its worker, 0 without one."""
        return self._worker.rss_bytes if self._worker else 0

    @property
    def block(self) -> int:
        """Number of queries in a turn.

        At least two and more than the slots of a local model server: each slot caches its last prompt, and the
        first query of a turn must not profit from the prompt of another system about the same query. With
        concurrency, several times as many, because the last queries of a turn run less concurrently.
        """
        cell, slots = self.execution.cell, 1
        if cell.generator is not None and provider_of(cell.generator).serve:
            slots = provider_of(cell.generator).parallel(cell.generator)
        at_once = cell.config.limits.concurrency
        return max(2, slots + 1, 4 * at_once if at_once > 1 else 0)

    def left_of(self, query_ids: Sequence[str]) -> list[QueryTask]:
        """The remaining answers to these queries."""
        keys = [
            (query_id, repeat) for query_id in query_ids for repeat in range(self.execution.cell.config.repeats)
        ]
        return [self._todo[key] for key in keys if key in self._todo]

    def take_turn(self, todo: Sequence[QueryTask], tally: ProgressCounter) -> None:
        """Answer `todo` and keep the worker. Raises like `Supervisor.run`."""
        self.execution.work_through(todo, tally, self._ask)
        for one in todo:
            del self._todo[one.query_id, one.repeat]

    def index_in_use(self) -> AbstractContextManager[None]:
        """Protect the index while the run answers."""
        return self.execution.index_in_use()

    def leave(self) -> None:
        """Let the worker close its system and exit. The next turn starts a new one."""
        if self._worker:
            self._worker.leave()
            self._worker = None

    def end(self) -> None:
        """Kill the worker."""
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
