"""The two phases of a run, index and answer, each in its own supervised processes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from harness.config import LimitsConfig
from harness.core.records import OWN_MODELS, Cost, Failure, IndexRecord, Phase, RunRecord, RunStatus, Usage
from harness.core.sanitize import secret_names
from harness.models.budget import Amount
from harness.models.llama_server import LocalServer
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.executing.messages import (
    Event,
    Job,
    OutputLine,
    Progress,
    QueryFinished,
    QueryTask,
    RoutedJob,
    WarningLine,
)
from harness.runner.executing.resources import ResourceSampler, Servers
from harness.runner.executing.worker_supervisor import Supervisor, SystemBroken, WorkerEnd, WorkerEnvironment
from harness.runner.plan import Cell, Configuration, index_dirs
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
Ask = Callable[[Sequence[QueryTask], OnEvent], WorkerEnd]
"""ask(todo, on_event): a worker answers as many queries as it can; `on_event` receives its events."""


@dataclass(kw_only=True)
class Execution:
    """The two phases of one run, while its lock is held and its model server runs."""

    cell: Cell
    run: RunDir
    results: Path
    reporter: Reporter
    spending: BudgetTracker
    lock_fd: int
    server: LocalServer | None = None
    fresh_index: bool = False

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
            outcome = self._supervise("index", [], lambda event: self._show_index(bar, event))
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

    def answer(self, todo: Sequence[QueryTask]) -> None:
        """A query that kills the worker process is recorded as failed, and the others continue."""
        expected = self.cell.n_answers
        with self.index_in_use(), self.reporter.bar(f"{self.cell.spec.name}: answer") as bar:
            progress = ProgressCounter(bar, self.spending, expected - len(todo), expected)
            self.work_through(todo, progress, partial(self._supervise, "answer"))

    @contextmanager
    def index_in_use(self) -> Iterator[None]:
        """Holds the indexes, so that no other run rebuilds them while this one answers."""
        with ExitStack() as using:
            for index in index_dirs(self.cell, self.results):
                using.enter_context(index.in_use())
            yield

    def work_through(self, todo: Sequence[QueryTask], progress: ProgressCounter, ask: Ask) -> None:
        """Start workers with `ask` until every query of `todo` has a record."""

        def on_event(event: Event) -> None:
            if isinstance(event, QueryFinished):
                progress.count(event, self.usd(event.usage))

        pending = list(todo)
        while pending:
            outcome = ask(pending, on_event)
            pending = self._left(pending, outcome)
            # Queries that were running when the process died are retried alone. This finds the query that
            # kills the process, and tolerates a kill from outside.
            for suspect in [one for one in outcome.in_flight if one in pending]:
                pending.remove(suspect)
                alone = self._supervise("answer", [suspect], on_event)
                if suspect in self._left([suspect], alone):
                    self.record_unanswered(suspect, "error", alone.death)

    def _left(self, batch: Sequence[QueryTask], outcome: WorkerEnd) -> list[QueryTask]:
        """The unanswered queries of `batch` after a worker ended; overdue queries are recorded as timeouts."""
        # The worker may have been killed while it wrote a record: the next record must not continue that line.
        self.run.cut_torn_line()
        # A query that blocks its process also delays the messages about answered queries.
        for todo in self._unanswered(outcome.overdue):
            self.record_unanswered(todo, "timeout", "the query blocked its process past its time limit")
        if outcome.death and not outcome.in_flight and not outcome.n_finished:
            raise SystemBroken(f"{outcome.death} before its first query")
        left = self._unanswered(batch)
        if outcome.completed and left:
            raise SystemBroken("its process ended before every query was answered")
        return left

    def _unanswered(self, batch: Sequence[QueryTask]) -> list[QueryTask]:
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

    def _supervise(self, phase: Phase, todo: Sequence[QueryTask], on_event: OnEvent) -> WorkerEnd:
        return self.supervisor(phase, todo, on_event).run()

    def supervisor(self, phase: Phase, todo: Sequence[QueryTask], on_event: OnEvent) -> Supervisor:
        """A supervisor that starts a worker for `todo` and follows it, within the remaining budget."""
        interval_s = self.cell.config.runner.resources_interval_s
        servers = servers_of(self.cell, phase, self.server)
        sampler = ResourceSampler(self.run.append_resources, phase, interval_s, servers)
        self.spending.check()
        environment = WorkerEnvironment(self.run.log_path, sampler, self.lock_fd)
        return Supervisor(self.job(phase, todo), environment, self.with_messages(on_event))

    def with_messages(self, on_event: OnEvent) -> OnEvent:
        """Like `on_event`, but also prints the messages of the worker."""

        def shown(event: Event) -> None:
            if isinstance(event, OutputLine):
                self.reporter.say(f"{self.run.run_id}: {event.line}")
            elif isinstance(event, WarningLine):
                self.reporter.warn(f"{self.run.run_id}: {event.line}")
            on_event(event)

        return shown

    def job(self, phase: Phase, todo: Sequence[QueryTask]) -> Job:
        update = {
            "allowance": self.spending.allowance(),
            "prices": self.spending.prices_of(self.cell.identity["models"]),
            "todo": tuple(todo),
            "is_fresh": self.fresh_index and phase == "index",
        }
        return job_of(self.cell, self.results, phase, self.server).model_copy(update=update)


def job_of(configuration: Configuration, results: Path, phase: Phase, server: LocalServer | None) -> Job:
    """The job of a phase, without queries and budget. `server`: the one that was started for its generator."""
    spec, identity = configuration.spec, configuration.identity
    roles = configuration.roles.index if phase == "index" else configuration.roles.answer
    routes = zip(spec.own_routes(configuration.answer_params), configuration.routed, strict=True)
    routed = [
        RoutedJob(
            route=route,
            system_version=one.spec.version,
            index_id=one.index_id,
            index_params=one.index_params.model_dump(mode="json"),
            answer_params=one.answer_params.model_dump(mode="json"),
        )
        for route, one in routes
    ]
    return Job(
        phase=phase,
        results=str(results),
        run_id=configuration.run_id,
        index_id=configuration.index_id,
        corpus_digest=configuration.corpus_digest,
        system=spec.name,
        system_version=spec.version,
        retrieves_only=not configuration.generates,
        generator=configuration.generator if "generator" in roles else None,
        embedder=configuration.embedder if "embedder" in roles else None,
        answer_style=configuration.answer_style,
        server=server.access if server else None,
        index_params=configuration.index_params.model_dump(mode="json"),
        answer_params=configuration.answer_params.model_dump(mode="json"),
        seed=identity["seed"],
        servers=configuration.servers,
        limits=LimitsConfig.model_validate(identity["limits"]),
        key_names=secret_names(),
        routed=tuple(routed) if phase == "answer" else (),
    )


def servers_of(configuration: Configuration, phase: Phase, started: LocalServer | None) -> Servers:
    """The servers that a phase uses. `started`: the model server that was started for it."""
    urls = [str(model.base_url) for model in configuration.models_in(phase).values() if model.base_url]
    systems = configuration.systems
    databases = [url for one in systems for url in one.spec.servers(one.index_params)]
    return Servers(urls, databases, started.pid if started else None, configuration.spec.is_elsewhere)
