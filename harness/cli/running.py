"""`rag-harness plan` and `rag-harness run`."""

import json
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from rich.table import Table

from harness.analysis import load_prices
from harness.analysis.prices import usage_usd
from harness.cli.consoles import open_console, same_command
from harness.cli.evaluating import conclude, evaluate_run_dirs, say_stopped
from harness.cli.reporting import print_report
from harness.config import BenchConfig, load_config
from harness.errors import EXIT_DONE, EXIT_TOLERANCE, RunInterrupted, explained_io
from harness.runner.estimating.estimate import say_total
from harness.runner.evaluating.evaluate import Outcome
from harness.runner.evaluating.plan import EvaluationPlan, check_judges, plan_evaluation
from harness.runner.executing.execute import CellResult, check_needs, run_cell
from harness.runner.plan import Cell, plan_cells
from harness.runner.progress import Reporter
from harness.runner.spending import Payer, Spending
from harness.store import IndexDir, RunDir


@dataclass(frozen=True)
class RunOptions:
    """What the command line says beyond the config; changes no run id."""

    results: Path
    retry_failed: bool
    records_only: bool
    out: Path | None
    as_json: bool
    quiet: bool


def build_config(
    path: Path | None, systems: Sequence[str] | None, dataset: str | None, settings: Sequence[str] | None
) -> BenchConfig:
    """The config file with --system, --dataset and --set on top."""
    chosen = [f"systems={json.dumps(list(systems))}"] if systems else []
    chosen += [f"dataset.name={json.dumps(dataset)}"] if dataset else []
    return load_config(path, [*chosen, *(settings or ())])


def print_plan(config: BenchConfig, results: Path, *, as_json: bool) -> None:
    """Print each cell: run id, status, and whether its index is there."""
    rows = [_plan_row(cell, results) for cell in plan_cells(config)]
    console = open_console()
    if as_json:
        console.print(json.dumps({"cells": rows}, indent=2), markup=False, highlight=False, soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("run id", no_wrap=True)
    for column in ("status", "queries", "documents", "index", "answer parameters"):
        table.add_column(column, overflow="fold")
    for row in rows:
        answer = ", ".join(f"{key}={value}" for key, value in row["answer"].items())  # type: ignore[attr-defined]
        done = f"{row['n_recorded']}/{row['n_expected']}"
        table.add_row(
            *(str(row["run_id"]), str(row["status"]), done, str(row["n_documents"]), str(row["index"]), answer)
        )
    console.print(table)


def _plan_row(cell: Cell, results: Path) -> dict[str, object]:
    run = RunDir(results / cell.run_id)
    n_recorded = len(run.records())
    status = "done" if run.done() else "partial" if n_recorded else "missing"
    return {
        "run_id": cell.run_id,
        "system": cell.spec.name,
        "dataset": cell.dataset.name,
        "status": status,
        "n_recorded": n_recorded,
        "n_expected": len(cell.dataset.queries) * cell.config.repeats,
        "n_documents": len(cell.dataset.documents),
        "index": "built" if IndexDir(results, cell.index_id).record() else "missing",
        "answer": cell.answer_params.model_dump(mode="json"),
        "notes": list(cell.dataset.notes),
    }


def run_all(config: BenchConfig, options: RunOptions) -> int:
    """Run every cell, evaluate, report; returns the exit code."""
    reporter, began = Reporter(quiet=options.quiet), time.monotonic()
    cells, evaluation = plan_cells(config), plan_evaluation(config)
    payers = [
        Payer.of(RunDir(options.results / cell.run_id), cell.identity["models"], evaluation) for cell in cells
    ]
    spending = Spending(config.budget, load_prices(), options.results, payers, began)
    _check_all(cells, None if options.records_only else evaluation, options.results, spending)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        if len(cells) > 1:
            say_total(cells, options.results, reporter)
        results = _run_until_stopped(cells, options, reporter, spending)
    except KeyboardInterrupt:
        raise RunInterrupted(f"interrupted; nothing answered is lost. To resume: {same_command()}") from None
    for result in results:
        if result.status == "failed":
            reporter.say(f"{result.run.run_id} failed: {result.reason}")
    outcome = None if options.records_only else _conclude_runs(results, evaluation, options, reporter, spending)
    if options.as_json:
        sys.stdout.write(json.dumps({"runs": [_as_json(result) for result in results]}) + "\n")
    code = conclude(outcome, config) if outcome else EXIT_DONE
    if stopped := results[-1].stopped or (outcome.stopped if outcome else None):
        return say_stopped(stopped, spending, _progress(cells, results))
    beyond = any(_is_beyond(result, config.runner.failure_tolerance) for result in results)
    return EXIT_TOLERANCE if beyond else code


def _check_all(
    cells: Sequence[Cell], evaluation: EvaluationPlan | None, results: Path, spending: Spending
) -> None:
    """Refuse what cannot be before anything is paid: what only the last cell lacks must not show after hours."""
    for cell in cells:
        spending.check_prices(cell.identity["models"])
    if evaluation:
        spending.check_prices(evaluation.models)
    with explained_io("write to", results):
        results.mkdir(parents=True, exist_ok=True)
    for cell in cells:
        if not RunDir(results / cell.run_id).done():
            check_needs(cell)
    if evaluation:
        check_judges(evaluation)


def _conclude_runs(
    results: Sequence[CellResult],
    evaluation: EvaluationPlan,
    options: RunOptions,
    reporter: Reporter,
    spending: Spending,
) -> Outcome | None:
    """Evaluate and report. Of what the budget stopped, only what is free: no judge is asked, and nothing is begun
    where the time is over.
    """
    if results[-1].stopped:
        evaluation = evaluation.without_models()
        if spending.time_is_over:
            return None
    runs = [result.run for result in results]
    outcome = evaluate_run_dirs(runs, evaluation, options.results, reporter, spending)
    print_report(runs, options.out, options.results, open_console(stderr=options.as_json, quiet=options.quiet))
    return outcome


def _run_until_stopped(
    cells: Sequence[Cell], options: RunOptions, reporter: Reporter, spending: Spending
) -> list[CellResult]:
    """Every cell in order, up to the one that the budget stops."""
    results: list[CellResult] = []
    for number, cell in enumerate(cells, 1):
        results.append(_run_one(cell, f"{number}/{len(cells)}", options, reporter, spending))
        if results[-1].status == "stopped":
            break
    return results


def _progress(cells: Sequence[Cell], results: Sequence[CellResult]) -> str:
    done = sum(result.n_ok + result.n_error for result in results)
    expected = sum(len(cell.dataset.queries) * cell.config.repeats for cell in cells)
    return f"{done:,} of {expected:,} queries answered"


def _run_one(cell: Cell, place: str, options: RunOptions, reporter: Reporter, spending: Spending) -> CellResult:
    reporter.say(
        f"[{place}] {cell.run_id}: {len(cell.dataset.queries):,} queries over "
        f"{len(cell.dataset.documents):,} documents, generator {_generator(cell)}"
    )
    for note in cell.dataset.notes:
        reporter.say(f"  note: {note}")
    return run_cell(
        cell,
        options.results.resolve(),
        reporter,
        lambda usage: usage_usd(spending.prices, cell.identity["models"], usage),
        retry_failed=options.retry_failed,
        spending=spending,
    )


def _generator(cell: Cell) -> str:
    provider, model = cell.generator.provider, cell.generator.model
    return provider if provider == "none" or not model else f"{provider}/{model}"


def _is_beyond(result: CellResult, tolerance: float) -> bool:
    total = result.n_ok + result.n_error
    return result.status == "failed" or (total > 0 and result.n_error / total > tolerance)


def _as_json(result: CellResult) -> dict[str, object]:
    return {
        "run_id": result.run.run_id,
        "path": str(result.run.path),
        "status": result.status,
        "n_ok": result.n_ok,
        "n_error": result.n_error,
    }


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
