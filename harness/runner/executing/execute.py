"""Runs one configuration (`Cell`), or resumes it where it stopped, until its run is done."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from harness.config import ModelConfig
from harness.core.errors import BudgetExhausted
from harness.core.page_and_section import has_places
from harness.core.records import RaceRecord
from harness.models.llama_server import LocalServer
from harness.protocols import Role
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.dataset_loading import describe_dataset
from harness.runner.executing.messages import QueryTask
from harness.runner.executing.phases import Execution, ProgressCounter
from harness.runner.executing.worker_supervisor import SystemBroken
from harness.runner.machine_info import describe_machine, git_commit, package_versions
from harness.runner.model_preflight import check_needs, fetch_models, model_server
from harness.runner.plan import Cell, index_dirs, is_indexed, is_whole
from harness.runner.progress import Reporter
from harness.store import SCHEMA_VERSION, Done, Manifest, RunDir, sample_rows


def build_manifest(cell: Cell) -> Manifest:
    dataset = cell.dataset
    return Manifest(
        schema_version=SCHEMA_VERSION,
        run_id=cell.run_id,
        identity=cell.identity,
        config=cell.config.model_dump(mode="json"),
        dataset=describe_dataset(dataset)
        | {
            "corpus_digest": cell.corpus_digest,
            "sample": cell.config.dataset.model_dump(mode="json")["sample"],
            "corpus": cell.config.dataset.corpus,
            "has_places": any(has_places(document.text) for document in dataset.documents),
        },
        index_id=cell.index_id,
        baseline=cell.spec.baseline,
        notes=cell.spec.notes,
        machine=describe_machine(),
        packages=dict(package_versions()),
        git_commit=git_commit(),
        created_at=datetime.now(UTC).isoformat(),
    )


Status = Literal["done", "failed", "stopped"]
"""stopped: the budget is exhausted; the run can be resumed."""


@dataclass(frozen=True)
class CellResult:
    run: RunDir
    status: Status
    n_ok: int
    n_error: int
    reason: str = ""
    """Why it failed: an error of the system outside of any query."""
    stopped: BudgetExhausted | None = None
    n_left: int = 0
    """If done: number of queries that were not answered, because the run was closed early."""
    ended_by: BudgetExhausted | None = None
    """The limit that closed the run early, in an interleaved schedule."""

    @property
    def trouble(self) -> str:
        """Why it failed, or how many of its queries did."""
        if self.status == "failed":
            return f"{self.run.run_id} failed: {self.reason}"
        return f"{self.run.run_id}: {self.n_error:,} of {self.n_ok + self.n_error:,} queries failed"


def open_run(cell: Cell, results: Path, tell: Callable[[str], None] = lambda _: None) -> RunDir:
    """The run directory, created if it does not exist. `tell` receives a line if it was repaired."""
    sample = sample_rows(cell.dataset.queries, cell.dataset.references)
    return RunDir.create(results, build_manifest(cell), sample, tell)


@dataclass(frozen=True)
class RunContext:
    results: Path
    reporter: Reporter
    spending: BudgetTracker = field(default_factory=BudgetTracker.unlimited)
    """Stops a run before a budget is exceeded."""
    retry_failed: bool = False
    fresh_index: bool = False
    """If a run has no index yet, build it without anything that an earlier build left behind, so that its time is
    measured. No other run may answer from that index meanwhile.
    """
    make: Callable[..., Execution] = Execution

    def locked(self, cell: Cell, stack: ExitStack) -> Execution:
        """The run of a configuration, created or opened. Its lock is held until `stack` is closed."""
        run = open_run(cell, self.results, self.reporter.warn)
        return self.make(
            cell=cell,
            run=run,
            results=self.results,
            reporter=self.reporter,
            spending=self.spending,
            lock_fd=stack.enter_context(run.exclusive()),
            fresh_index=self.fresh_index,
        )


def run_cell(cell: Cell, context: RunContext) -> CellResult:
    """Build the index if needed, answer the remaining queries, write done.json. The next call resumes.

    A finished run is not changed, unless its failed queries are retried.
    """
    with ExitStack() as stack:
        return Schedule([cell], context, stack).run()[0]


class Schedule:
    """Runs that are open at the same time. Each answers all of its queries in one turn (see also `InTurns`)."""

    def __init__(self, cells: Sequence[Cell], context: RunContext, stack: ExitStack) -> None:
        """Open the runs; `stack` closes them."""
        self._stack, self._reporter, self._spending = stack, context.reporter, context.spending
        self._servers: dict[str, LocalServer | None] = {}
        self._executions = [begin(cell, context, stack) for cell in cells]

    def run(self) -> list[CellResult]:
        """One result each, in their order."""
        stopped = None
        try:
            for execution in self._executions:
                if self._is_needed(execution):
                    self._build(execution)
            self._answer()
        except BudgetExhausted as exhausted:
            stopped = exhausted
        for execution in self._executions:
            execution.run.cut_torn_line()
        return self._results(stopped)

    def _is_needed(self, execution: Execution) -> bool:
        """Whether something is left to do for a run."""
        return bool(execution.todo) or not (execution.is_finished or execution.run.index())

    def _build(self, execution: Execution) -> None:
        """Build its index, and start its model server unless another run already uses the same one."""
        if execution.todo:
            self._spending.check()
        model = prepare(execution).get("generator")
        key = model.model_dump_json() if model else ""
        if key not in self._servers:
            self._servers[key] = self._stack.enter_context(model_server(model, execution.run.path))
        execution.server = self._servers[key]
        try:
            execution.ensure_index()
        except SystemBroken as broken:
            self._drop(execution, broken)

    def _answer(self) -> None:
        answering = [one for one in self._executions if one.todo and not one.broken and self._is_needed(one)]
        if not answering:
            return
        left = sum(len(execution.todo) for execution in answering)
        expected = sum(execution.cell.n_answers for execution in answering)
        with ExitStack() as using:
            for execution in answering:
                using.enter_context(execution.index_in_use())
            label = f"answer, {len(answering)} systems in turns"
            if len(answering) == 1:
                label = f"{answering[0].cell.spec.name}: answer"
            bar = using.enter_context(self._reporter.bar(label))
            for execution in answering:
                using.callback(execution.end)
            progress = ProgressCounter(bar, self._spending, expected - left, expected)
            for execution, todo in self._turns(answering):
                try:
                    execution.answer(todo, progress)
                except SystemBroken as broken:
                    execution.end()
                    self._drop(execution, broken)
            for execution in answering:
                execution.leave()

    def _turns(self, answering: Sequence[Execution]) -> Iterator[tuple[Execution, list[QueryTask]]]:
        for execution in answering:
            yield execution, execution.todo

    def _drop(self, execution: Execution, broken: SystemBroken) -> None:
        """Give a run no more turns."""
        execution.broken = f"{broken}; its log is {execution.run.log_path}"

    def _results(self, stopped: BudgetExhausted | None) -> list[CellResult]:
        """Of all runs; those that are done are closed."""
        return [
            result_of(one.run, one.broken, stopped)
            if one.broken or stopped or one.is_finished
            else close_run(one.cell, one.run)
            for one in self._executions
        ]


def begin(cell: Cell, context: RunContext, stack: ExitStack) -> Execution:
    """The run, repaired and reopened, with its remaining queries. One that is finished stays as it is, unless its
    failed queries are retried. Its lock is held until `stack` is closed.
    """
    execution = context.locked(cell, stack)
    run = execution.run
    for line in run.remove_damaged():
        context.reporter.warn(f"{run.run_id}: {line}")
    if cell.config.name:
        run.rename(cell.config.name)
    execution.is_finished = is_whole(cell, run) and not (
        context.retry_failed and _remaining_queries(cell, run, retry_failed=True)
    )
    if execution.is_finished:
        return execution
    # A run that was closed early has answers beyond those over which it was closed.
    run.reopen()
    if context.fresh_index and run.index() is None:
        for index in index_dirs(cell, context.results):
            index.forget()
    execution.todo = _remaining_queries(cell, run, retry_failed=context.retry_failed)
    return execution


def prepare(execution: Execution) -> dict[Role, ModelConfig]:
    """Repair indexes, check requirements, download weights. Returns the models that are still needed."""
    cell, results, reporter = execution.cell, execution.results, execution.reporter
    for index in index_dirs(cell, results):
        for line in index.remove_damaged():
            reporter.warn(f"{execution.run.run_id}: {line}")
    check_needs(cell, results)
    return fetch_models(cell, results, reporter)


def close_run(
    cell: Cell, run: RunDir, query_ids: Sequence[str] = (), why: str = "", *, race: RaceRecord | None = None
) -> CellResult:
    """Write done.json for all queries, or only for `query_ids` if the run is closed early."""
    n_queries = len(query_ids) or len(cell.dataset.queries)
    included = set(query_ids)
    endings = [one for (query_id, _), one in run.latest_attempts().items() if not included or query_id in included]
    n_ok = sum(ending.status == "ok" for ending in endings)
    done = Done(
        n_expected=n_queries * cell.config.repeats,
        n_ok=n_ok,
        n_error=len(endings) - n_ok,
        finished_at=datetime.now(UTC).isoformat(),
    )
    run.write_race(race)
    run.mark_done(done, query_ids, why)
    return CellResult(run, "done", n_ok, done.n_error, n_left=len(cell.dataset.queries) - n_queries)


def _remaining_queries(cell: Cell, run: RunDir, *, retry_failed: bool) -> list[QueryTask]:
    """The remaining queries in the order of the sample, one repeat after another."""
    endings, todo = run.latest_attempts(), list[QueryTask]()
    for repeat in range(cell.config.repeats):
        for query in cell.dataset.queries:
            ending = endings.get((query.query_id, repeat))
            if ending is None or (retry_failed and ending.status != "ok"):
                attempt = ending.attempt + 1 if ending else 1
                todo.append(QueryTask(query_id=query.query_id, repeat=repeat, attempt=attempt))
    return todo


def result_of(run: RunDir, failed: str = "", stopped: BudgetExhausted | None = None) -> CellResult:
    """Of a run as it is, closed or open."""
    statuses = [ending.status for ending in run.latest_attempts().values()]
    n_ok = statuses.count("ok")
    status: Status = "failed" if failed else "stopped" if stopped else "done"
    return CellResult(run, status, n_ok, len(statuses) - n_ok, failed, stopped)


def build_index(cell: Cell, context: RunContext) -> RunDir:
    """The run with its index and no query answered, to ask its system others. Raises SystemBroken."""
    with ExitStack() as stack:
        execution = context.locked(cell, stack)
        if execution.run.index() is None or not is_indexed(cell, context.results):
            models = prepare(execution)
            reading = models.get("generator") if "generator" in cell.roles.index else None
            execution.server = stack.enter_context(model_server(reading, execution.run.path))
            execution.ensure_index()
    return execution.run
