"""One cell, from nothing or from wherever it stopped, to done."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from harness.config import GeneratorConfig, ModelConfig
from harness.errors import BudgetReached
from harness.models.local_server import LocalServer
from harness.models.providers import check_reachable, provider_of
from harness.protocols import Role
from harness.runner.executing.header import build_manifest, sample_of
from harness.runner.executing.messages import Todo
from harness.runner.executing.phases import Execution
from harness.runner.executing.supervise import SystemBroken
from harness.runner.fetching import fetch_weights
from harness.runner.plan import Cell
from harness.runner.progress import Priced, Reporter
from harness.runner.spending import Spending
from harness.store import Done, IndexDir, RunDir


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


@dataclass(frozen=True)
class Again:
    """What is done although it was done before."""

    failed: bool = False
    """Queries that failed."""
    index: bool = False
    """The index of a run that has none yet: it is built with nothing that an earlier build left, so that its
    seconds are measured. No other run may be answering from it meanwhile."""


NOTHING_AGAIN = Again()


def open_run(cell: Cell, results: Path) -> RunDir:
    """The cell's run directory, begun where it is not there yet."""
    return RunDir.create(results, build_manifest(cell), sample_of(cell))


def run_cell(
    cell: Cell,
    results: Path,
    reporter: Reporter,
    priced: Priced,
    *,
    again: Again = NOTHING_AGAIN,
    spending: Spending | None = None,
) -> CellResult:
    """Index if needed, answer what is unanswered, write done.json; interrupted anywhere, the next call goes on.

    A finished run is left as it is, unless `again` asks for its failed queries. `spending` stops it before a
    budget is passed.
    """
    spending = spending or Spending.unlimited()
    run = open_run(cell, results)
    with run.exclusive() as lock_fd:
        for line in run.mend():
            reporter.say(f"{run.run_id}: {line}")
        if run.done() and not (again.failed and _todo(cell, run, retry_failed=True)):
            if again.index:
                reporter.say(
                    f"{run.run_id}: finished, its index stays as it is: remove {run.path} to build it anew"
                )
            return _result(run)
        run.reopen()
        if again.index and run.index() is None:
            IndexDir(results, cell.index_id).forget()
        todo = _todo(cell, run, retry_failed=again.failed)
        try:
            if todo or run.index() is None:
                for line in IndexDir(results, cell.index_id).mend():
                    reporter.say(f"{run.run_id}: {line}")
                check_needs(cell, results)
                if todo:
                    spending.check()
                models = _models_left(cell, results)
                fetch_weights(reporter, *models.values())
                with _model_server(models.get("generator"), run) as server:
                    execution = Execution(
                        cell, run, results, reporter, priced, spending, lock_fd, server, again.index
                    )
                    execution.ensure_index()
                    execution.answer(todo)
        except SystemBroken as broken:
            return replace(_result(run), status="failed", reason=f"{broken}; its log is {run.log_path}")
        except BudgetReached as reached:
            run.repair()
            return replace(_result(run), status="stopped", stopped=reached)
        result = _result(run)
        run.mark_done(
            Done(
                n_expected=cell.n_answers,
                n_ok=result.n_ok,
                n_error=result.n_error,
                finished_at=datetime.now(UTC).isoformat(),
            )
        )
        return result


def check_needs(cell: Cell, results: Path) -> None:
    """Raise HarnessError where a server or package that is still needed is not there; nothing is paid for."""
    if cell.spec.preflight:
        cell.spec.preflight(cell.index_params, cell.answer_params)
    for model in _models_left(cell, results).values():
        check_reachable(model)


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


def _models_left(cell: Cell, results: Path) -> dict[Role, ModelConfig]:
    """The models that what is left of the cell calls."""
    is_built = IndexDir(results, cell.index_id).record() is not None
    roles = cell.roles.answer if is_built else cell.roles.index | cell.roles.answer
    return {role: model for role, model in cell.models.items() if role in roles}


def _model_server(model: ModelConfig | None, run: RunDir) -> AbstractContextManager[LocalServer | None]:
    """Of a generator that has one started for it."""
    if not isinstance(model, GeneratorConfig):
        return nullcontext()
    serve = provider_of(model).serve
    return serve(model, run.path / "server.log") if serve else nullcontext()
