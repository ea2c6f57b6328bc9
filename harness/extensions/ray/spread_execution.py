"""The cells of a command on one pool of workers: one builds an index, several answer shards of its queries.

Only this process writes to the run directory: workers send it their records and their model calls.
"""

import threading
from asyncio import AbstractEventLoop
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

from harness.core.records import IndexRecord, Phase
from harness.core.sanitize import secret_names
from harness.extensions.ray.remote_worker import StartWorker
from harness.extensions.ray.worker_pool import (
    MOST_LOST,
    RemoteReaders,
    WorkerPool,
    WorkQueue,
    cluster_lost,
    raise_first_error,
)
from harness.models.budget import Allowance
from harness.models.providers import provider_of
from harness.models.remote_call_server import RemoteCallServer
from harness.runner.executing.execute import CellResult, RunContext, run_cell
from harness.runner.executing.messages import (
    AnswerTurn,
    Event,
    ExtractionJob,
    Progress,
    QueryFinished,
    QueryTask,
    Turn,
)
from harness.runner.executing.phases import Execution, OnEvent, ProgressCounter
from harness.runner.executing.remote_workers import RULES
from harness.runner.executing.resources import Sampler
from harness.runner.executing.system_loader import open_calls
from harness.runner.executing.worker_supervisor import (
    LaunchWorker,
    Supervisor,
    SystemBroken,
    WorkerEnd,
    WorkerEnvironment,
    start_process,
)
from harness.runner.plan import Cell
from harness.store import IndexDir


def run_spread(
    cells: Sequence[Cell],
    context: RunContext,
    start_worker: StartWorker,
    n_workers: int,
    *,
    ends_within_s: float = 0.0,
) -> list[CellResult]:
    """Index and answer all of these cells concurrently, with at most `n_workers` workers; returns a result for
    each, in order. A lost worker ends within `ends_within_s` seconds.

    A cell whose system breaks does not stop the others; an exhausted budget stops all; a user error is raised.
    After an interruption the next call resumes.
    """
    context = replace(context, spending=context.spending.shared_copy())
    with WorkerPool(start_worker, n_workers, context.spending.allowance(), ends_within_s) as workers:
        context = replace(context, make=partial(SpreadExecution, workers=workers))
        # Cells that need a model server on this machine run one at a time. For others, enough to keep all workers
        # busy while some cells begin or end.
        served = any(cell.generator and provider_of(cell.generator).serve for cell in cells)
        n_side_by_side = 1 if served else min(len(cells), 2 * n_workers)
        with ThreadPoolExecutor(n_side_by_side) as pool:
            running = [pool.submit(run_cell, cell, context) for cell in cells]
            try:
                wait(running, return_when=FIRST_EXCEPTION)
                for cell in running:
                    if cell.done():
                        cell.result()
            except BaseException:  # Ctrl-C too.
                workers.stop()
                for cell in running:
                    cell.cancel()
                raise
        return [cell.result() for cell in running]


@dataclass(kw_only=True)
class SpreadExecution(Execution):
    """See `Execution`; its lock and its model server belong to this process."""

    workers: WorkerPool
    launch: LaunchWorker = start_process

    def answer(self, todo: Sequence[QueryTask], progress: ProgressCounter) -> None:
        """Answer `todo` in shards; other workers take over what a lost one had not answered."""
        with self.workers.serving(partial(self._call_server, "answer")) as (_, launch):
            shards = _Shards(replace(self, launch=launch), todo, progress)
            self.run.keep_cluster_info(shards.n_workers)
            shards.run()

    def supervisor(self, phase: Phase, on_event: OnEvent) -> Supervisor:
        """The same; events report what all workers have spent."""
        self.workers.check()
        self.spending.check_time()

        def with_spent(event: Event) -> None:
            if isinstance(event, Progress | QueryFinished):
                event = event.model_copy(update={"spent": self.workers.budget.spent})
            on_event(event)

        environment = WorkerEnvironment(self.run.log_path, Sampler(), self.lock_fd, self.launch)
        n_readers = self.workers.n_workers - 1 if phase == "index" else 0
        job = self.job(phase)
        # Calls, servers and costs are handled by this process.
        here: dict[str, object] = {
            "server": None,
            "allowance": Allowance(end_by=job.allowance.end_by),
            "prices": {},
        }
        relayed = job.model_copy(update={"is_relayed": True, "n_readers": n_readers, **here})
        return Supervisor(relayed, environment, self.with_messages(with_spent))

    def _build(self, index: IndexDir) -> IndexRecord:
        with self.workers.slot(), self.workers.serving(partial(self._call_server, "index")) as (server, launch):
            job = ExtractionJob(
                results=str(self.results.resolve()),
                limits=self.cell.config.limits,
                key_names=secret_names(),
            )
            environment = WorkerEnvironment(self.run.log_path, Sampler(), -1, launch)
            with RemoteReaders(self.workers, job, environment, self.reporter.warn) as readers:
                server.serve(RULES, readers)
                return Execution._build(replace(self, launch=launch), index)

    def only_turn(self, phase: Phase, turn: Turn, on_event: OnEvent) -> WorkerEnd:
        for _ in range(MOST_LOST):
            outcome = super().only_turn(phase, turn, on_event)
            if not outcome.is_lost:
                return outcome
            self.reporter.warn(f"{self.run.run_id}: {outcome.death}; another worker continues")
            self.workers.wait_for_its_end()
        return outcome

    def _call_server(self, phase: Phase, loop: AbstractEventLoop) -> RemoteCallServer:
        """Makes the model calls of a phase's workers, with the models, servers, prices and journal of this run."""
        job = self.job(phase)
        call_context = open_calls(
            job,
            budget=self.workers.budget,
            say=lambda line: self.reporter.say(f"{self.run.run_id}: {line}"),
            warn=lambda line: self.reporter.warn(f"{self.run.run_id}: {line}"),
            prices=job.prices,
            limiters=self.workers.limiters,
        )
        # Encoders run in the worker itself.
        models = [model for model in (job.generator, job.embedder) if model is not None and not model.is_none]
        called = {model.role: model for model in models if provider_of(model).encoder is None}
        servers = {job.generator.role: job.server} if job.generator and job.server else {}
        try:
            return RemoteCallServer(call_context, called, servers, loop)
        except BaseException:
            call_context.close()
            raise


class _Shards:
    """The workers that answer one cell together, each supervised by its own thread."""

    def __init__(self, execution: SpreadExecution, todo: Sequence[QueryTask], progress: ProgressCounter) -> None:
        self._execution, self._progress = execution, progress
        at_once = execution.cell.config.limits.concurrency
        self.n_workers = min(execution.workers.n_workers, ceil(len(todo) / at_once))
        self._queue = WorkQueue(todo, self.n_workers, at_once)
        self._answered: set[QueryTask] = set()
        self._lock = threading.Lock()

    def run(self) -> None:
        """Answer all queries; an error that stops one worker permanently stops all, and is raised."""
        workers, shards = self._execution.workers, list[Future[None]]()
        with ThreadPoolExecutor(self.n_workers) as pool:
            # A thread for each worker that may run, not for each that concurrent cells could use.
            while len(shards) < self.n_workers and not self._queue.is_empty:
                if any(shard.done() and shard.exception() is not None for shard in shards):
                    break
                if workers.take_slot():
                    shards.append(pool.submit(self._work))
            wait(shards, return_when=FIRST_EXCEPTION)
            self._queue.close()
        raise_first_error(shards)

    def _work(self) -> None:
        worker: Supervisor | None = None
        n_lost = 0
        try:
            while shard := self._queue.take():
                if worker is None or not worker.is_waiting:
                    worker = self._execution.supervisor("answer", self._on_event)
                outcome = worker.turn(AnswerTurn(todo=tuple(shard)))
                n_lost = n_lost + 1 if outcome.is_lost and not outcome.has_answered else 0
                self._settle(shard, outcome, n_lost)
            if worker is not None:
                worker.leave()
        finally:
            if worker is not None:
                worker.end()
            self._execution.workers.give_slot()

    def _on_event(self, event: Event) -> None:
        """Called from the threads of all workers; the lock lets one at a time write a record."""
        if not isinstance(event, QueryFinished):
            return
        with self._lock:
            if event.record is not None:
                self._execution.run.append_record(event.record)
                self._answered.add(event.todo)
            self._progress.count(event, self._execution.usd(event.usage))

    def _settle(self, shard: Sequence[QueryTask], outcome: WorkerEnd, n_lost: int) -> None:
        """Make sure that what a worker left unanswered is answered, or has a record with the reason."""
        self._execution.workers.check()
        for todo in outcome.overdue:
            self._record(todo, outcome)
        left = self._left(shard)
        if outcome.completed and left:
            raise SystemBroken("its process ended before every query was answered")
        if outcome.death and not outcome.is_lost and not outcome.in_flight and not outcome.has_answered:
            raise SystemBroken(f"{outcome.death} before its first query")
        under_way = [one for one in outcome.in_flight if one in left]
        if outcome.is_lost:
            self._execution.reporter.warn(f"{self._execution.run.run_id}: {outcome.death}; other workers continue")
            if n_lost >= MOST_LOST:
                raise cluster_lost(outcome)
            under_way = self._queue.suspects(under_way)
        for suspect in under_way:
            self._try_by_itself(suspect)
        self._queue.give_back(self._left(shard))

    def _left(self, shard: Sequence[QueryTask]) -> list[QueryTask]:
        with self._lock:
            return [one for one in shard if one not in self._answered]

    def _try_by_itself(self, suspect: QueryTask) -> None:
        outcome = self._execution.supervisor("answer", self._on_event).only_turn(AnswerTurn(todo=(suspect,)))
        self._execution.workers.check()
        if self._left([suspect]):
            if outcome.is_lost and not self._answered:
                # If no other query was answered either, this one is not the cause.
                raise cluster_lost(outcome)
            self._record(suspect, outcome)

    def _record(self, todo: QueryTask, outcome: WorkerEnd) -> None:
        with self._lock:
            is_late = todo in outcome.overdue
            message = "the query blocked its process past its time limit" if is_late else outcome.death
            self._execution.record_unanswered(todo, "timeout" if is_late else "error", message)
            self._answered.add(todo)
