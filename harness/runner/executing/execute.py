"""One cell, from nothing or from wherever it stopped, to done."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from harness.config import GeneratorConfig, ModelConfig
from harness.core.errors import BudgetReached
from harness.core.records import RaceRecord
from harness.models.entailment import check_entailment
from harness.models.llama_server import LocalServer
from harness.models.providers import check_reachable, provider_of
from harness.models.rerankers import check_reranker, reranker_files
from harness.protocols import BY_GENERATOR, Params, Role, SystemSpec
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.executing.manifest_builder import build_manifest, sample_of
from harness.runner.executing.messages import QueryTask
from harness.runner.executing.phases import Execution
from harness.runner.executing.run_status import index_dirs, is_whole
from harness.runner.executing.worker_supervisor import SystemBroken
from harness.runner.plan import Cell
from harness.runner.progress import Priced, Reporter
from harness.runner.weight_download import fetch_files, fetch_weights
from harness.store import Done, RunDir


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
    n_left: int = 0
    """done: of its queries, those that it is not closed over."""
    ended_by: BudgetReached | None = None
    """Where the budget ended its turns before: what could not be held."""


@dataclass(frozen=True)
class RerunOptions:
    """What is done although it was done before."""

    failed: bool = False
    """Queries that failed."""
    index: bool = False
    """The index of a run that has none yet: it is built with nothing that an earlier build left, so that its
    seconds are measured. No other run may be answering from it meanwhile."""


NOTHING_AGAIN = RerunOptions()


def open_run(cell: Cell, results: Path, tell: Callable[[str], None] = lambda _: None) -> RunDir:
    """The cell's run directory, begun where it is not there yet; `tell` is given a line where it is mended."""
    return RunDir.create(results, build_manifest(cell), sample_of(cell), tell)


def run_cell(
    cell: Cell,
    results: Path,
    reporter: Reporter,
    priced: Priced,
    *,
    again: RerunOptions = NOTHING_AGAIN,
    spending: BudgetTracker | None = None,
) -> CellResult:
    """Index if needed, answer what is unanswered, write done.json; interrupted anywhere, the next call goes on.

    A finished run is left as it is, unless `again` asks for its failed queries. `spending` stops it before a
    budget is passed.
    """
    outset = RunContext(results, reporter, priced, again, spending or BudgetTracker.unlimited())
    return carry_out(cell, outset, Execution)


@dataclass(frozen=True)
class RunContext:
    """What a cell is run with: see `run_cell`."""

    results: Path
    reporter: Reporter
    priced: Priced
    again: RerunOptions
    spending: BudgetTracker


def carry_out(cell: Cell, outset: RunContext, make: Callable[..., Execution]) -> CellResult:
    """See `run_cell`; `make` is `Execution`, or makes what is one."""
    results, reporter, again, spending = outset.results, outset.reporter, outset.again, outset.spending
    run = open_run(cell, results, reporter.warn)
    with run.exclusive() as lock_fd:
        todo = begin(cell, run, results, reporter, again)
        if todo is None:
            return result_of(run)
        try:
            if todo or run.index() is None:
                if todo:
                    spending.check()
                models = prepare(cell, run, results, reporter)
                with model_server(models.get("generator"), run.path) as server:
                    execution = make(
                        cell, run, results, reporter, outset.priced, spending, lock_fd, server, again.index
                    )
                    execution.ensure_index()
                    execution.answer(todo)
        except SystemBroken as broken:
            return broken_result(run, broken)
        except BudgetReached as reached:
            run.repair()
            return replace(result_of(run), status="stopped", stopped=reached)
        return close_run(cell, run)


def begin(
    cell: Cell, run: RunDir, results: Path, reporter: Reporter, again: RerunOptions
) -> list[QueryTask] | None:
    """Mend the run, open it again and say what is to be answered; None: it is finished, and stays as it is."""
    for line in run.mend():
        reporter.warn(f"{run.run_id}: {line}")
    if is_whole(cell, run) and not (again.failed and _todo(cell, run, retry_failed=True)):
        return None
    run.reopen()
    if again.index and run.index() is None:
        for index in index_dirs(cell, results):
            index.forget()
    return _todo(cell, run, retry_failed=again.failed)


def prepare(cell: Cell, run: RunDir, results: Path, reporter: Reporter) -> dict[Role, ModelConfig]:
    """Have whatever is needed here; returns the models that what is left of the cell calls."""
    for index in index_dirs(cell, results):
        for line in index.mend():
            reporter.warn(f"{run.run_id}: {line}")
    check_needs(cell, results)
    return fetch_models(cell, results, reporter)


def fetch_models(cell: Cell, results: Path, reporter: Reporter) -> dict[Role, ModelConfig]:
    """Have the weights of all models here that what is left of the cell calls; returns those."""
    models = _models_left(cell, results)
    fetch_weights(reporter, *models.values())
    for one in (cell, *(lent.cell for lent in cell.lent)):
        fetch_files(reporter, reranker_files(one.spec.own_reranker(one.answer_params) or ""))
    return models


def close_run(
    cell: Cell, run: RunDir, reached: Sequence[str] = (), why: str = "", *, race: RaceRecord | None = None
) -> CellResult:
    """Write done.json, over all queries or over those that were `reached`; `race`: what it was closed with."""
    n_queries = len(reached) or len(cell.dataset.queries)
    kept = set(reached)
    endings = [one for (query_id, _), one in run.endings().items() if not kept or query_id in kept]
    n_ok = sum(ending.status == "ok" for ending in endings)
    done = Done(
        n_expected=n_queries * cell.config.repeats,
        n_ok=n_ok,
        n_error=len(endings) - n_ok,
        finished_at=datetime.now(UTC).isoformat(),
    )
    run.write_race(race)
    run.mark_done(done, reached, why)
    return CellResult(run, "done", n_ok, done.n_error, n_left=len(cell.dataset.queries) - n_queries)


def broken_result(run: RunDir, broken: SystemBroken) -> CellResult:
    """Of a cell whose system failed outside of any query."""
    return replace(result_of(run), status="failed", reason=f"{broken}; its log is {run.log_path}")


def check_needs(cell: Cell, results: Path) -> None:
    """Raise HarnessError where a server or package that is still needed is not there; nothing is paid for."""
    for one in (cell, *(lent.cell for lent in cell.lent)):
        check_system(one.spec, one.index_params, one.answer_params)
    for model in _models_left(cell, results).values():
        check_reachable(model)


def check_system(spec: SystemSpec, index_params: Params, answer_params: Params) -> None:
    """Likewise for what a system needs besides its models."""
    if spec.preflight:
        spec.preflight(index_params, answer_params)
    if reranker := spec.own_reranker(answer_params):
        check_reranker(reranker)
    if (entailment := spec.own_entailment(answer_params)) not in {None, BY_GENERATOR}:
        check_entailment(str(entailment))


def _todo(cell: Cell, run: RunDir, *, retry_failed: bool) -> list[QueryTask]:
    """What is still to be answered, in the sample's order, repeat by repeat."""
    endings, todo = run.endings(), []
    for repeat in range(cell.config.repeats):
        for query in cell.dataset.queries:
            ending = endings.get((query.query_id, repeat))
            if ending is None or (retry_failed and ending.status != "ok"):
                attempt = ending.attempt + 1 if ending else 1
                todo.append(QueryTask(query_id=query.query_id, repeat=repeat, attempt=attempt))
    return todo


def result_of(run: RunDir) -> CellResult:
    """What a run has so far."""
    n_ok = n_error = 0
    for ending in run.endings().values():
        n_ok += ending.status == "ok"
        n_error += ending.status != "ok"
    return CellResult(run, "done", n_ok, n_error)


def _models_left(cell: Cell, results: Path) -> dict[Role, ModelConfig]:
    """The models that what is left of the cell calls."""
    is_built = all(index.record() is not None for index in index_dirs(cell, results))
    roles = cell.roles.answer if is_built else cell.roles.index | cell.roles.answer
    return {role: model for role, model in cell.models.items() if role in roles}


def model_server(model: ModelConfig | None, folder: Path) -> AbstractContextManager[LocalServer | None]:
    """Of a generator that has one started for it; its log is in `folder`."""
    if not isinstance(model, GeneratorConfig):
        return nullcontext()
    serve = provider_of(model).serve
    return serve(model, folder / "server.log") if serve else nullcontext()
