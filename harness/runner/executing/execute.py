"""One cell, from nothing or from wherever it stopped, to done."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from harness.errors import BudgetReached
from harness.models.budget import Amount
from harness.models.local_server import LocalServer, serve_local
from harness.models.preflight import check_reachable
from harness.records import Cost, Failure, IndexRecord, RunRecord, RunStatus
from harness.runner.estimating.estimate import keep_estimate
from harness.runner.executing.messages import Event, Job, Phase, Todo
from harness.runner.executing.resources import ResourceSampler
from harness.runner.executing.supervise import Outcome, Supervisor, SystemBroken
from harness.runner.fetching import fetch_weights
from harness.runner.machine import describe_machine, git_commit, package_versions
from harness.runner.plan import Cell
from harness.runner.progress import Bar, Priced, Reporter
from harness.runner.spending import Spending
from harness.store import SCHEMA_VERSION, Done, IndexDir, Manifest, RunDir, SampleRow
from harness.store.index_dir import Corpora


@dataclass(frozen=True)
class CellResult:
    """What became of a cell."""

    run: RunDir
    status: Literal["done", "failed", "stopped"]
    """stopped: at the budget; the run is resumable."""
    n_ok: int
    n_error: int
    reason: str = ""
    """Why it failed: the system's own error, outside of any query."""
    stopped: BudgetReached | None = None
    """What the budget could not hold."""


def run_cell(
    cell: Cell,
    results: Path,
    reporter: Reporter,
    priced: Priced,
    *,
    retry_failed: bool = False,
    spending: Spending | None = None,
) -> CellResult:
    """Index if needed, answer what is unanswered, write done.json; interrupted anywhere, the next call goes on.

    A finished run is left as it is, unless `retry_failed` asks for its failed queries again. `spending` stops it
    before a budget is passed.
    """
    spending = spending or Spending.unlimited()
    run = RunDir.create(results, build_manifest(cell), _sample(cell))
    with run.exclusive() as lock_fd:
        if run.repair():
            reporter.say(f"{run.run_id}: cut a torn last record; its query is answered again")
        if run.done() and not (retry_failed and _todo(cell, run, retry_failed=True)):
            return _result(run)
        run.reopen()
        check_needs(cell)
        keep_estimate(cell, run, reporter)
        try:
            if _todo(cell, run, retry_failed=retry_failed):
                spending.check()
            fetch_weights(reporter, cell.generator, cell.embedder)
            with _model_server(cell, run) as server:
                execution = _Execution(cell, run, results, reporter, priced, spending, lock_fd, server)
                execution.ensure_index()
                execution.answer(_todo(cell, run, retry_failed=retry_failed))
        except SystemBroken as broken:
            return replace(_result(run), status="failed", reason=f"{broken}; its log is {run.log_path}")
        except BudgetReached as reached:
            run.repair()
            return replace(_result(run), status="stopped", stopped=reached)
        result = _result(run)
        run.mark_done(
            Done(
                n_expected=len(cell.dataset.queries) * cell.config.repeats,
                n_ok=result.n_ok,
                n_error=result.n_error,
                finished_at=_now(),
            )
        )
        return result


def check_needs(cell: Cell) -> None:
    """Raise HarnessError where a server or package that the cell needs is not there; nothing is paid for."""
    if cell.spec.preflight:
        cell.spec.preflight(cell.index_params, cell.answer_params)
    check_reachable(cell.generator)
    check_reachable(cell.embedder)


def build_manifest(cell: Cell) -> Manifest:
    """The header of the cell's run."""
    dataset = cell.dataset
    return Manifest(
        schema_version=SCHEMA_VERSION,
        run_id=cell.run_id,
        identity=cell.identity,
        config=cell.config.model_dump(mode="json"),
        dataset={
            "name": dataset.name,
            "subset": dataset.subset,
            "digest": dataset.digest,
            "corpus_digest": cell.corpus_digest,
            "n_queries": len(dataset.queries),
            "n_documents": len(dataset.documents),
            "type_mix": dataset.type_mix,
            "sample": cell.config.dataset.model_dump(mode="json")["sample"],
            "corpus": cell.config.dataset.corpus,
            "notes": list(dataset.notes),
        },
        index_id=cell.index_id,
        notes=(cell.spec.bracket,) if cell.spec.bracket else (),
        machine=describe_machine(),
        packages=package_versions(),
        git_commit=git_commit(),
        created_at=_now(),
    )


def _sample(cell: Cell) -> list[SampleRow]:
    pairs = zip(cell.dataset.queries, cell.dataset.references, strict=True)
    return [SampleRow(query=query, reference=reference) for query, reference in pairs]


def _todo(cell: Cell, run: RunDir, *, retry_failed: bool) -> list[Todo]:
    """What is still to be answered, in the sample's order, repeat by repeat."""
    records, todo = run.records(), []
    for repeat in range(cell.config.repeats):
        for query in cell.dataset.queries:
            record = records.get((query.query_id, repeat))
            if record is None or (retry_failed and record.status != "ok"):
                attempt = record.attempt + 1 if record else 1
                todo.append(Todo(query_id=query.query_id, repeat=repeat, attempt=attempt))
    return todo


def _result(run: RunDir) -> CellResult:
    n_ok = n_error = 0
    for record in run.records().values():
        n_ok += record.status == "ok"
        n_error += record.status != "ok"
    return CellResult(run, "done", n_ok, n_error)


def _model_server(cell: Cell, run: RunDir) -> AbstractContextManager[LocalServer | None]:
    if cell.generator.provider != "local":
        return nullcontext()
    return serve_local(cell.generator, run.path / "server.log")


@dataclass
class _Execution:
    """The two phases of one cell, while its lock is held and its model server runs."""

    cell: Cell
    run: RunDir
    results: Path
    reporter: Reporter
    priced: Priced
    spending: Spending
    lock_fd: int
    server: LocalServer | None

    def ensure_index(self) -> None:
        """Build the index unless one with the same identity is there."""
        index = IndexDir(self.results, self.cell.index_id)
        # Another run may be building the very same index: then wait for it instead of paying again.
        with index.exclusive(wait_s=3600.0):
            record = index.record()
            if record is None:
                record = self._build(index)
                index.finish(record)
        if self.run.index() is None:
            mine = record.built_by == self.run.run_id
            self.run.write_index(record if mine else record.model_copy(update={"reused_from": record.built_by}))

    def _build(self, index: IndexDir) -> IndexRecord:
        Corpora(self.results).save(self.cell.corpus_digest, self.cell.dataset.documents)
        with self.reporter.bar(f"{self.cell.spec.name}: index") as bar:
            outcome = self._supervise("index", [], lambda event: self._show_index(bar, event))
        if outcome.indexed is None or outcome.indexed.stats is None or outcome.indexed.cost is None:
            raise SystemBroken(outcome.death or "the index ended without a result")
        return IndexRecord(
            index_id=index.index_id,
            stats=outcome.indexed.stats,
            cost=outcome.indexed.cost,
            bytes_on_disk=index.bytes_on_disk(),
            built_by=self.run.run_id,
        )

    def _show_index(self, bar: Bar, event: Event) -> None:
        if event.kind == "progress":
            usd = self.priced(event.usage) if event.usage else None
            note = self.spending.note(event.spent) or (f"${usd:.4f}" if usd else "")
            bar.update(event.done, event.total, f"{event.doing}, {note}" if note else event.doing)

    def answer(self, todo: Sequence[Todo]) -> None:
        """Answer `todo`; a query that kills the system's process becomes a record, and the rest goes on."""
        expected = len(self.cell.dataset.queries) * self.cell.config.repeats
        pending = list(todo)
        with self.reporter.bar(f"{self.cell.spec.name}: answer") as bar:
            tally = _Tally(bar, self.priced, self.spending, expected - len(pending), expected)
            while pending:
                outcome = self._supervise("answer", pending, tally.take)
                pending = self._left(pending, outcome)
                # What was under way when the process died is tried alone: that finds the query that kills it,
                # and forgives a death that came from outside.
                for suspect in [one for one in outcome.in_flight if one in pending]:
                    pending.remove(suspect)
                    self._try_alone(suspect, tally)

    def _try_alone(self, suspect: Todo, tally: "_Tally") -> None:
        outcome = self._supervise("answer", [suspect], tally.take)
        if suspect in self._left([suspect], outcome):
            self._record_death(suspect, "error", outcome.death)

    def _left(self, batch: Sequence[Todo], outcome: Outcome) -> list[Todo]:
        """What of `batch` is still to do after a worker ended with `outcome`; overdue queries are recorded."""
        for todo in outcome.overdue:
            self._record_death(todo, "timeout", "the query blocked its process past its time limit")
        if outcome.death and not outcome.in_flight and not outcome.n_finished:
            raise SystemBroken(f"{outcome.death} before its first query")
        self.run.repair()
        records = self.run.records()
        left = [
            one
            for one in batch
            if (found := records.get((one.query_id, one.repeat))) is None or found.attempt < one.attempt
        ]
        if outcome.completed and left:
            raise SystemBroken("its process ended before every query was answered")
        return left

    def _record_death(self, todo: Todo, status: RunStatus, message: str) -> None:
        self.run.append_record(
            RunRecord(
                query_id=todo.query_id,
                repeat=todo.repeat,
                status=status,
                failure=Failure(kind="timeout" if status == "timeout" else "crash", message=message),
                cost=Cost(wall_s=None),
                attempt=todo.attempt,
                started_at=_now(),
            )
        )

    def _supervise(self, phase: Phase, todo: Sequence[Todo], on_event: Callable[[Event], None]) -> Outcome:
        interval_s = self.cell.config.runner.resources_interval_s
        sampler = ResourceSampler(self.run, phase, interval_s, self.server.pid if self.server else None)
        self.spending.check()
        job = self._job(phase, todo)
        return Supervisor(job, self.run.log_path, sampler, on_event, self.lock_fd).run()

    def _job(self, phase: Phase, todo: Sequence[Todo]) -> Job:
        cell = self.cell
        return Job(
            phase=phase,
            results=str(self.results),
            run_id=cell.run_id,
            index_id=cell.index_id,
            corpus_digest=cell.corpus_digest,
            system=cell.spec.name,
            generator=cell.generator,
            embedder=cell.embedder,
            local_url=self.server.base_url if self.server else None,
            index_params=cell.index_params.model_dump(mode="json"),
            answer_params=cell.answer_params.model_dump(mode="json"),
            seed=cell.config.seed,
            servers=cell.servers,
            limits=cell.config.limits,
            allowance=self.spending.allowance(),
            prices=self.spending.prices_of(cell.identity["models"]),
            todo=tuple(todo),
        )


class _Tally:
    """Counts finished queries and dollars for the progress bar."""

    def __init__(self, bar: Bar, priced: Priced, spending: Spending, done: int, expected: int) -> None:
        self._bar, self._priced, self._spending = bar, priced, spending
        self._done, self._expected = done, expected
        self._usd, self._failed = 0.0, 0
        self._show(Amount())

    def take(self, event: Event) -> None:
        """Count one event of a worker."""
        if event.kind == "finished":
            self._done += 1
            self._failed += event.status != "ok"
            # The bar shows known dollars; the report says where a price is unknown.
            self._usd += self._priced(event.usage) or 0.0
            self._show(event.spent)

    def _show(self, spent: Amount) -> None:
        failed = f", {self._failed} failed" if self._failed else ""
        note = self._spending.note(spent) or f"${self._usd:.4f}"
        self._bar.update(self._done, self._expected, f"{note}{failed}")


def _now() -> str:
    return datetime.now(UTC).isoformat()
