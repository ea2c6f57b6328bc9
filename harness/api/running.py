"""A whole benchmark: every cell answered, then scored."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.analysis.prices import usage_usd
from harness.api.configs import price_table
from harness.api.evaluating import evaluate_run_dirs
from harness.config import NO_MODEL, BenchConfig
from harness.errors import BudgetReached, ConfigError, explained_io
from harness.runner.estimating.estimate import Estimator, keep_estimate, say_total
from harness.runner.estimating.sizes import size_lines
from harness.runner.evaluating.evaluate import EvaluationOutcome
from harness.runner.evaluating.plan import EvaluationPlan, check_judges, plan_evaluation
from harness.runner.executing.execute import Again, CellResult, check_needs, open_run, run_cell
from harness.runner.plan import Cell, plan_cells
from harness.runner.progress import Reporter
from harness.runner.spending import Payer, Spending
from harness.store import RunDir


@dataclass(frozen=True)
class RunOptions:
    """What is said beyond the config; changes no run id."""

    results: Path = Path("results")
    retry_failed: bool = False
    fresh_index: bool = False
    """Indexes are built with nothing that an earlier build left, so that their seconds are measured."""
    records_only: bool = False
    """Nothing is scored."""
    quiet: bool = False


@dataclass(frozen=True)
class Benchmark:
    """What came of a config."""

    config: BenchConfig
    cells: tuple[Cell, ...]
    results: tuple[CellResult, ...]
    """Of the cells up to the one that the budget stopped."""
    outcome: EvaluationOutcome | None
    """None: nothing was scored, for want of time or because nobody wanted it."""
    spending: Spending

    @property
    def runs(self) -> list[RunDir]:
        """Of every cell that was begun."""
        return [result.run for result in self.results]

    @property
    def stopped(self) -> BudgetReached | None:
        """What the budget could not hold."""
        return self.results[-1].stopped or (self.outcome.stopped if self.outcome else None)

    @property
    def progress(self) -> str:
        """`3 of 10 queries answered`."""
        done = sum(result.n_ok + result.n_error for result in self.results)
        return f"{done:,} of {sum(cell.n_answers for cell in self.cells):,} queries answered"

    @property
    def failed(self) -> list[CellResult]:
        """Cells whose system broke, or failed at more queries than `runner.failure_tolerance` allows."""
        tolerance = self.config.runner.failure_tolerance
        return [result for result in self.results if _is_beyond(result, tolerance)]

    @property
    def troubles(self) -> list[str]:
        """A line for each cell of `failed`, and for the budget."""
        lines = [_said(result) for result in self.failed]
        reached = [f"stopped at the budget ({self.stopped.what}): {self.progress}"] if self.stopped else []
        return [*lines, *reached]


def run_benches(configs: Sequence[BenchConfig], options: RunOptions) -> list[Benchmark]:
    """Each config after the other, up to the one that its budget stops; a mistake in any raises before the first.

    They end in one report, so they name one price table.
    """
    if len({config.prices for config in configs}) > 1:
        raise ConfigError("these configs name different `prices`", "name one table in each, or run them apart")
    if len(configs) > 1:
        for config in configs:
            _check_config(config, options, Reporter(quiet=True))
    benches: list[Benchmark] = []
    for config in configs:
        benches.append(run_bench(config, options))
        if benches[-1].stopped:
            break
    return benches


def run_bench(config: BenchConfig, options: RunOptions) -> Benchmark:
    """Run every cell and score it. A cell that fails is said and does not stop the next; nor does an evaluator."""
    reporter = Reporter(quiet=options.quiet)
    cells, evaluation, spending = _check_config(config, options, reporter)
    if sum(not cell.spec.bracket for cell in cells) > 1:
        for line in size_lines(cells):
            reporter.say(line)
    if len(cells) > 1:
        say_total(cells, Estimator(options.results, spending.prices), reporter)
    results = _run_until_stopped(cells, options, reporter, spending)
    for result in results:
        if result.status == "failed":
            reporter.say(_said(result))
    outcome = None if options.records_only else _score(results, evaluation, options, reporter, spending)
    return Benchmark(config, tuple(cells), tuple(results), outcome, spending)


def _check_config(
    config: BenchConfig, options: RunOptions, reporter: Reporter
) -> tuple[list[Cell], EvaluationPlan, Spending]:
    """What is to be done and what it may take; its time begins now."""
    began = time.monotonic()
    cells, evaluation = plan_cells(config), plan_evaluation(config)
    payers = [
        Payer.of(RunDir(options.results / cell.run_id), cell.identity["models"], evaluation) for cell in cells
    ]
    spending = Spending(config.budget, price_table(config.prices), options.results, payers, began, reporter.warn)
    _check_all(cells, None if options.records_only else evaluation, options.results, spending)
    return cells, evaluation, spending


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
        if not RunDir(results / cell.run_id).is_closed():
            check_needs(cell, results)
    if evaluation:
        check_judges(evaluation)


def _score(
    results: Sequence[CellResult],
    evaluation: EvaluationPlan,
    options: RunOptions,
    reporter: Reporter,
    spending: Spending,
) -> EvaluationOutcome | None:
    """Of what the budget stopped, only what is free: no judge is asked, and nothing is begun where the time is
    over.
    """
    if results[-1].stopped:
        evaluation = evaluation.without_models()
        if spending.time_is_over:
            return None
    return evaluate_run_dirs([result.run for result in results], evaluation, options.results, reporter, spending)


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


def _run_one(cell: Cell, place: str, options: RunOptions, reporter: Reporter, spending: Spending) -> CellResult:
    reporter.say(
        f"[{place}] {cell.run_id}: {len(cell.dataset.queries):,} queries over "
        f"{len(cell.dataset.documents):,} documents, generator {_generator(cell)}"
    )
    for note in cell.dataset.notes:
        reporter.say(f"  note: {note}")
    results = options.results.resolve()
    keep_estimate(cell, open_run(cell, results, reporter.warn), spending.prices, reporter)
    return run_cell(
        cell,
        results,
        reporter,
        lambda usage: usage_usd(spending.prices, cell.identity["models"], usage),
        again=Again(failed=options.retry_failed, index=options.fresh_index),
        spending=spending,
    )


def _is_beyond(result: CellResult, tolerance: float) -> bool:
    total = result.n_ok + result.n_error
    return result.status == "failed" or (total > 0 and result.n_error / total > tolerance)


def _said(result: CellResult) -> str:
    if result.status == "failed":
        return f"{result.run.run_id} failed: {result.reason}"
    return f"{result.run.run_id}: {result.n_error:,} of {result.n_ok + result.n_error:,} queries failed"


def _generator(cell: Cell) -> str:
    if cell.generator is None or cell.generator.is_none:
        return NO_MODEL
    return f"{cell.generator.provider}/{cell.generator.model}"
