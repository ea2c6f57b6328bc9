"""Runs one configuration (`Cell`), or resumes it where it stopped, until its run is done."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from harness.config import GeneratorConfig, ModelConfig
from harness.core.errors import BudgetExhausted
from harness.core.page_and_section import has_places
from harness.core.records import RaceRecord
from harness.models.cross_encoders import InferenceModel, RerankingModel
from harness.models.llama_server import LocalServer
from harness.models.providers import check_reachable, provider_of
from harness.protocols import BY_GENERATOR, Role
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.dataset_loading import describe_dataset
from harness.runner.executing.messages import QueryTask
from harness.runner.executing.phases import Execution
from harness.runner.executing.worker_supervisor import SystemBroken
from harness.runner.machine_info import describe_machine, git_commit, package_versions
from harness.runner.model_preflight import fetch_files, fetch_weights
from harness.runner.plan import Cell, Configuration, index_dirs, is_indexed, is_whole, models_left
from harness.runner.progress import Reporter
from harness.store import SCHEMA_VERSION, Done, Manifest, RunDir, RunFile, sample_rows


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


@dataclass(frozen=True)
class CellResult:
    run: RunDir
    status: Literal["done", "failed", "stopped"]
    """stopped: the budget is exhausted; the run can be resumed."""
    n_ok: int
    n_error: int
    reason: str = ""
    """Why it failed: an error of the system outside of any query."""
    stopped: BudgetExhausted | None = None
    n_left: int = 0
    """If done: number of queries that were not answered, because the run was closed early."""
    ended_by: BudgetExhausted | None = None
    """The limit that closed the run early, in an interleaved schedule."""


@dataclass(frozen=True)
class RerunOptions:
    failed: bool = False
    index: bool = False
    """If the run has no index yet, build it without anything that an earlier build left behind, so that its time
    is measured. No other run may answer from that index meanwhile.
    """


NO_RERUN = RerunOptions()


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
    rerun: RerunOptions = NO_RERUN
    make: Callable[..., Execution] = Execution

    def execution(self, cell: Cell, run: RunDir, lock_fd: int, server: LocalServer | None = None) -> Execution:
        """The phases of a run whose lock is held; `server`: the model server that was started for it."""
        return self.make(
            cell=cell,
            run=run,
            results=self.results,
            reporter=self.reporter,
            spending=self.spending,
            lock_fd=lock_fd,
            server=server,
            fresh_index=self.rerun.index,
        )


def run_cell(cell: Cell, context: RunContext) -> CellResult:
    """Build the index if needed, answer the remaining queries, write done.json. The next call resumes.

    A finished run is not changed, unless its failed queries are retried.
    """
    run = open_run(cell, context.results, context.reporter.warn)
    with run.exclusive() as lock_fd:
        todo = begin(cell, run, context)
        if todo is None:
            return result_of(run)
        try:
            if todo or run.index() is None:
                if todo:
                    context.spending.check()
                models = prepare(cell, run, context)
                with model_server(models.get("generator"), run.path) as server:
                    execution = context.execution(cell, run, lock_fd, server)
                    execution.ensure_index()
                    execution.answer(todo)
        except SystemBroken as broken:
            return broken_result(run, broken)
        except BudgetExhausted as exhausted:
            run.cut_torn_line()
            return replace(result_of(run), status="stopped", stopped=exhausted)
        return close_run(cell, run)


def build_index(cell: Cell, context: RunContext) -> RunDir:
    """The run with its index and no query answered, to ask its system others. Raises SystemBroken."""
    run = open_run(cell, context.results, context.reporter.warn)
    with run.exclusive() as lock_fd:
        if run.index() is None or not is_indexed(cell, context.results):
            models = prepare(cell, run, context)
            reading = models.get("generator") if "generator" in cell.roles.index else None
            with model_server(reading, run.path) as server:
                context.execution(cell, run, lock_fd, server).ensure_index()
    return run


def begin(cell: Cell, run: RunDir, context: RunContext) -> list[QueryTask] | None:
    """Repair and reopen the run. The remaining queries; None if the run is finished and stays as it is."""
    rerun = context.rerun
    for line in run.remove_damaged():
        context.reporter.warn(f"{run.run_id}: {line}")
    if cell.config.name:
        run.rename(cell.config.name)
    if is_whole(cell, run) and not (rerun.failed and _remaining_queries(cell, run, retry_failed=True)):
        return None
    # A run that was closed early has answers beyond those over which it was closed.
    run.reopen()
    if rerun.index and run.index() is None:
        for index in index_dirs(cell, context.results):
            index.forget()
    return _remaining_queries(cell, run, retry_failed=rerun.failed)


def prepare(cell: Cell, run: RunDir, context: RunContext) -> dict[Role, ModelConfig]:
    """Repair indexes, check requirements, download weights. Returns the models that are still needed."""
    for index in index_dirs(cell, context.results):
        for line in index.remove_damaged():
            context.reporter.warn(f"{run.run_id}: {line}")
    check_needs(cell, context.results)
    return fetch_models(cell, context.results, context.reporter)


def fetch_models(configuration: Configuration, results: Path, reporter: Reporter) -> dict[Role, ModelConfig]:
    """Download the weights of the models that are still needed; returns these models."""
    models = models_left(configuration, results)
    fetch_weights(reporter, *models.values())
    for one in configuration.systems:
        fetch_files(reporter, RerankingModel(one.spec.reranker(one.answer_params) or "").files)
    return models


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


def broken_result(run: RunDir, broken: SystemBroken) -> CellResult:
    return replace(result_of(run), status="failed", reason=f"{broken}; its log is {run.log_path}")


def check_needs(configuration: Configuration, results: Path) -> None:
    """HarnessError if a server, package or weight file that is still needed is missing. Makes no paid call."""
    for one in configuration.systems:
        if one.spec.preflight:
            one.spec.preflight(one.index_params, one.answer_params)
        if reranker := one.spec.reranker(one.answer_params):
            RerankingModel(reranker).check()
        if (entailment := one.spec.entailment(one.answer_params)) not in {None, BY_GENERATOR}:
            InferenceModel(str(entailment)).check()
    for model in models_left(configuration, results).values():
        check_reachable(model)


def _remaining_queries(cell: Cell, run: RunDir, *, retry_failed: bool) -> list[QueryTask]:
    """The remaining queries in the order of the sample, one repeat after another."""
    endings, todo = run.latest_attempts(), []
    for repeat in range(cell.config.repeats):
        for query in cell.dataset.queries:
            ending = endings.get((query.query_id, repeat))
            if ending is None or (retry_failed and ending.status != "ok"):
                attempt = ending.attempt + 1 if ending else 1
                todo.append(QueryTask(query_id=query.query_id, repeat=repeat, attempt=attempt))
    return todo


def result_of(run: RunDir) -> CellResult:
    statuses = [ending.status for ending in run.latest_attempts().values()]
    n_ok = statuses.count("ok")
    return CellResult(run, "done", n_ok, len(statuses) - n_ok)


def model_server(model: ModelConfig | None, folder: Path) -> AbstractContextManager[LocalServer | None]:
    """The local server of a generator that needs one; it logs to `folder`."""
    if not isinstance(model, GeneratorConfig):
        return nullcontext()
    serve = provider_of(model).serve
    return serve(model, folder / RunFile.SERVER_LOG) if serve else nullcontext()
