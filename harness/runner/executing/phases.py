"""The two phases of a run, index and answer, each in its own supervised processes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from harness.core.records import OWN_MODELS, Cost, Failure, IndexRecord, Phase, RunRecord, RunStatus, Usage
from harness.models.budget import Amount
from harness.models.llama_server import LocalServer
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.executing.jobs import job_of, servers_of
from harness.runner.executing.messages import (
    AnswerTurn,
    Event,
    IndexTurn,
    Job,
    OutputLine,
    Progress,
    QueryFinished,
    QueryTask,
    Turn,
)
from harness.runner.executing.resources import ResourceSampler
from harness.runner.executing.worker_supervisor import Supervisor, SystemBroken, WorkerEnd, WorkerEnvironment
from harness.runner.plan import Cell, index_dirs
from harness.runner.progress import Bar, Reporter
from harness.runner.routed_systems import joined_index
from harness.statistics.prices import usage_usd
from harness.store import IndexDir, RunDir
from harness.store.index_dir import Corpora


class ProgressCounter:
    """Counts finished queries and dollars for the progress bar."""

    def __init__(self, bar: Bar, spending: BudgetTracker, done: int, expected: int) -> None:
        self._bar, self._spending = bar, spending
        self._done, self._expected = done, expected
        self._usd, self._failed = 0.0, 0
        self._show(Amount())

    def count(self, finished: QueryFinished, usd: float | None) -> None:
        self._done += 1
        self._failed += finished.status != "ok"
        # The bar shows known dollars; the report says where a price is unknown.
        self._usd += usd or 0.0
        self._show(finished.spent)

    def _show(self, spent: Amount) -> None:
        failed = f", {self._failed} failed" if self._failed else ""
        note = self._spending.note(spent) or f"${self._usd:.4f}"
        self._bar.update(self._done, self._expected, f"{note}{failed}", self._spending.seconds_left())


OnEvent = Callable[[Event], None]


@dataclass(kw_only=True)
class Execution:
    """The two phases of one run, while its lock is held."""

    cell: Cell
    run: RunDir
    results: Path
    reporter: Reporter
    spending: BudgetTracker
    lock_fd: int
    fresh_index: bool = False
    server: LocalServer | None = None
    """The model server that was started for it."""
    todo: list[QueryTask] = field(default_factory=list)
    """The queries that were left when it began, in the order of the sample, one repeat after another."""
    is_finished: bool = False
    """It was finished before, and stays as it is."""
    broken: str = ""
    """Why it gets no more turns; empty if it does."""
    worker: Supervisor | None = field(default=None, init=False)
    """It answers turn by turn, and waits in between."""

    def usd(self, usage: Mapping[str, Usage]) -> float | None:
        """The price of this usage; None if a model that was called has none."""
        return usage_usd(self.spending.prices, self.cell.identity["models"], usage)

    def ensure_index(self) -> None:
        """Build the index unless one with the same id exists; for a router, the indexes of its systems."""
        routed = list({one.index_id: one for one in self.cell.routed}.values())
        if routed:
            # This run pays for the indexes of its routed systems.
            paying = [replace(cell, run_id=self.run.run_id) for cell in routed]
            parts = [replace(self, cell=cell).stored_index() for cell in paying]
            record = joined_index(self.cell.index_id, self.run.run_id, parts)
        else:
            record = self.stored_index()
        if self.run.index() is None:
            mine = record.built_by == self.run.run_id
            self.run.write_index(record if mine else record.model_copy(update={"reused_from": record.built_by}))

    def stored_index(self) -> IndexRecord:
        """The index of the system itself, built by this run unless it exists."""
        index = IndexDir(self.results, self.cell.index_id)
        # Another run may be building the very same index: then wait for it instead of paying again.
        with index.exclusive(wait_s=3600.0):
            record = index.record()
            if record is None:
                record = self._build(index)
                index.finish(record)
        return record

    def _build(self, index: IndexDir) -> IndexRecord:
        Corpora(self.results).save(self.cell.corpus_digest, self.cell.dataset.documents)
        with self.reporter.bar(f"{self.cell.spec.name}: index") as bar:
            outcome = self.only_turn("index", IndexTurn(), lambda event: self._show_index(bar, event))
        if outcome.indexed is None:
            raise SystemBroken(outcome.death or "the index ended without a result")
        return IndexRecord(
            index_id=index.index_id,
            stats=outcome.indexed.stats,
            cost=outcome.indexed.cost,
            bytes_on_disk=index.bytes_on_disk(),
            built_by=self.run.run_id,
        )

    def _show_index(self, bar: Bar, event: Event) -> None:
        if isinstance(event, Progress):
            usd = self.usd(event.usage) if event.usage else None
            note = self.spending.note(event.spent, usd)
            doing = f"{event.doing}, {note}" if note else event.doing
            bar.update(event.done, event.total, doing, self.spending.seconds_left())

    @contextmanager
    def index_in_use(self) -> Iterator[None]:
        """Holds the indexes, so that no other run rebuilds them while this one answers."""
        with ExitStack() as using:
            for index in index_dirs(self.cell, self.results):
                using.enter_context(index.in_use())
            yield

    def answer(self, todo: Sequence[QueryTask], progress: ProgressCounter) -> None:
        """Give each of these queries a record; the worker then waits for more. A query that kills the worker
        process is recorded as failed, and the others continue.
        """

        def on_event(event: Event) -> None:
            if isinstance(event, QueryFinished):
                progress.count(event, self.usd(event.usage))

        pending = list(todo)
        while pending:
            outcome = self._turn(pending, on_event)
            pending = self._left(pending, outcome)
            # Queries that were running when the process died are retried alone. This finds the query that
            # kills the process, and tolerates a kill from outside.
            for suspect in [one for one in outcome.in_flight if one in pending]:
                pending.remove(suspect)
                alone = self.only_turn("answer", AnswerTurn(todo=(suspect,)), on_event)
                if suspect in self._left([suspect], alone):
                    self.record_unanswered(suspect, "error", alone.death)

    def _turn(self, pending: Sequence[QueryTask], on_event: OnEvent) -> WorkerEnd:
        if self.worker is not None and self.worker.is_waiting:
            self.spending.check()
        else:
            self.end()
            self.worker = self.supervisor("answer", on_event)
        return self.worker.turn(AnswerTurn(todo=tuple(pending), allowance=self.spending.allowance()))

    @property
    def is_waiting(self) -> bool:
        return self.worker is not None and self.worker.is_waiting

    @property
    def rss_bytes(self) -> int:
        return self.worker.rss_bytes if self.worker else 0

    def leave(self) -> None:
        """Let the worker close its system and exit. The next turn starts a new one."""
        if self.worker:
            self.worker.leave()

    def end(self) -> None:
        if self.worker:
            self.worker.end()

    def _left(self, batch: Sequence[QueryTask], outcome: WorkerEnd) -> list[QueryTask]:
        """The unanswered queries of `batch` after a worker ended; overdue queries are recorded as timeouts."""
        # The worker may have been killed while it wrote a record: the next record must not continue that line.
        self.run.cut_torn_line()
        # A query that blocks its process also delays the messages about answered queries.
        for todo in self._unanswered(outcome.overdue):
            self.record_unanswered(todo, "timeout", "the query blocked its process past its time limit")
        if outcome.death and not outcome.in_flight and not outcome.has_answered:
            raise SystemBroken(f"{outcome.death} before its first query")
        if not outcome.completed:
            return self._unanswered(batch)
        if outcome.n_finished < len(batch):
            raise SystemBroken("its process ended its turn before every query was answered")
        return []

    def _unanswered(self, batch: Sequence[QueryTask]) -> list[QueryTask]:
        """Those without a record. It may be there although the worker could not say so."""
        endings = self.run.latest_attempts() if batch else {}
        return [
            one
            for one in batch
            if (ending := endings.get((one.query_id, one.repeat))) is None or ending.attempt < one.attempt
        ]

    def record_unanswered(self, todo: QueryTask, status: RunStatus, message: str) -> None:
        """Record a query that ended its worker process."""
        # The process that counted the calls of this query is gone.
        cell, unmetered = self.cell, Usage(unmetered_calls=1)
        role = "generator" if "generator" in cell.roles.answer else OWN_MODELS
        asks = cell.generates and (role == "generator" or cell.spec.own_models)
        unknown = {role: unmetered} if asks else {}
        self.run.append_record(
            RunRecord(
                query_id=todo.query_id,
                repeat=todo.repeat,
                status=status,
                failure=Failure(kind="timeout" if status == "timeout" else "crash", message=message),
                cost=Cost(wall_s=None, throttled_s=None, usage=unknown),
                attempt=todo.attempt,
                started_at=datetime.now(UTC).isoformat(),
            )
        )

    def only_turn(self, phase: Phase, turn: Turn, on_event: OnEvent) -> WorkerEnd:
        """The one turn of a worker that is started for it."""
        return self.supervisor(phase, on_event).only_turn(turn)

    def supervisor(self, phase: Phase, on_event: OnEvent) -> Supervisor:
        """Starts a worker with its first turn, and follows it, within the remaining budget."""
        interval_s = self.cell.config.runner.resources_interval_s
        servers = servers_of(self.cell, phase, self.server)
        sampler = ResourceSampler(self.run.append_resources, phase, interval_s, servers)
        self.spending.check()
        environment = WorkerEnvironment(self.run.log_path, sampler, self.lock_fd)
        return Supervisor(self.job(phase), environment, self.with_messages(on_event))

    def with_messages(self, on_event: OnEvent) -> OnEvent:
        """Like `on_event`, but also prints the messages of the worker."""

        def shown(event: Event) -> None:
            if isinstance(event, OutputLine):
                show = self.reporter.warn if event.is_warning else self.reporter.say
                show(f"{self.run.run_id}: {event.line}")
            on_event(event)

        return shown

    def job(self, phase: Phase) -> Job:
        update = {
            "allowance": self.spending.allowance(),
            "prices": self.spending.prices_of(self.cell.identity["models"]),
            "is_fresh": self.fresh_index and phase == "index",
        }
        return job_of(self.cell, self.results, phase, self.server).model_copy(update=update)
