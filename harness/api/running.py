"""A whole benchmark: plan, run, evaluate."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.api.config_building import price_table
from harness.api.evaluating import scoring_elsewhere
from harness.config import LOCAL_EXECUTOR, NO_MODEL, BenchConfig
from harness.core.errors import BudgetExhausted, ConfigError, explained_io
from harness.runner.budget_tracker import BudgetTracker, CostOwner
from harness.runner.estimating.estimate import Estimator, keep_estimate, say_total
from harness.runner.estimating.sample_size_notice import size_lines
from harness.runner.evaluating.evaluate import EvaluationOutcome, evaluate_runs
from harness.runner.evaluating.plan import EvaluationPlan, check_judges, plan_evaluation
from harness.runner.executing.execute import (
    CellResult,
    RerunOptions,
    check_needs,
    fetch_models,
    open_run,
    run_cell,
)
from harness.runner.executing.interleaved_scheduler import InterleavedOptions, run_in_turns
from harness.runner.executing.reuse_warnings import changed_lines, reuse_lines
from harness.runner.executor import CellRunOptions, Executor, Executors
from harness.runner.model_preflight import Preflight
from harness.runner.plan import Cell, is_finished, plan_cells
from harness.runner.progress import Priced, Reporter, SharedBars
from harness.runner.race_plan import PlannedRace, pace_lines, plan_race
from harness.statistics.prices import usage_usd
from harness.store import RunDir


@dataclass(frozen=True)
class RunOptions:
    """Options besides the config; they change no run id."""

    results: Path = Path("results")
    retry_failed: bool = False
    fresh_index: bool = False
    """Build indexes without replayed calls or cached vectors, so that the build time is measured."""
    records_only: bool = False
    """Do not evaluate."""
    quiet: bool = False


@dataclass(frozen=True)
class Benchmark:
    """The result of a config."""

    config: BenchConfig
    cells: tuple[Cell, ...]
    results: tuple[CellResult, ...]
    """Results of the runs, up to the one that the budget stopped."""
    outcome: EvaluationOutcome | None
    """None: nothing was scored, because the time was over or scoring was not wanted."""
    spending: BudgetTracker

    @property
    def runs(self) -> list[RunDir]:
        """The directories of all runs that were started."""
        return [result.run for result in self.results]

    @property
    def stopped(self) -> BudgetExhausted | None:
        """The budget error that stopped the benchmark, if any."""
        cells = next((result.stopped for result in self.results if result.stopped), None)
        return cells or (self.outcome.stopped if self.outcome else None)

    @property
    def shortened(self) -> str:
        """Queries answered by all interleaved runs when the budget was exhausted: `23 of 40 queries`."""
        held = {
            cell.dataset.digest: (len(cell.dataset.queries) - result.n_left, len(cell.dataset.queries))
            for cell, result in zip(self.cells, self.results, strict=False)
            if result.ended_by
        }
        return ", ".join(f"{n:,} of {of:,} queries" for n, of in held.values())

    @property
    def shortened_by(self) -> str:
        """Which limit of the budget was exhausted."""
        return next((result.ended_by.what for result in self.results if result.ended_by), "")

    @property
    def progress(self) -> str:
        """`3 of 10 queries answered`."""
        done = sum(result.n_ok + result.n_error for result in self.results)
        return f"{done:,} of {sum(cell.n_answers for cell in self.cells):,} queries answered"

    @property
    def failed(self) -> list[CellResult]:
        """Runs whose system failed, or failed at more queries than `runner.failure_tolerance` allows."""
        tolerance = self.config.runner.failure_tolerance
        return [result for result in self.results if _is_beyond(result, tolerance)]

    @property
    def troubles(self) -> list[str]:
        """One line per run in `failed`, and one for an exhausted budget."""
        lines = [_said(result) for result in self.failed]
        reached = [f"stopped at the budget ({self.stopped.what}): {self.progress}"] if self.stopped else []
        return [*lines, *reached]


def run_benches(configs: Sequence[BenchConfig], options: RunOptions) -> list[Benchmark]:
    """Run the configs in order, up to the one that its budget stops. All are checked before the first one starts.

    They share one report, so they must name the same price table.
    """
    if len({config.prices for config in configs}) > 1:
        raise ConfigError(
            "these configs name different `prices`", "name the same table in each, or run them separately"
        )
    is_remote = any(config.runner.executor != LOCAL_EXECUTOR for config in configs)
    reporter = SharedBars(quiet=options.quiet) if is_remote else Reporter(quiet=options.quiet)
    benches: list[Benchmark] = []
    with Executors(configs, options.results, reporter) as executors:
        for checked in [_checked(config, options, reporter, executors) for config in configs]:
            if benches:
                checked.spending.begin()
            benches.append(_run(checked, options, reporter, executors))
            if benches[-1].stopped:
                break
    return benches


def run_bench(config: BenchConfig, options: RunOptions) -> Benchmark:
    """Run one config, as `run_benches` does."""
    return run_benches([config], options)[0]


def _run(checked: "_Checked", options: RunOptions, reporter: Reporter, executors: Executors) -> Benchmark:
    """Run all systems and score them. Neither a failed run nor a failed evaluator stops the rest."""
    config, cells, spending = checked.config, checked.cells, checked.spending
    race = checked.race
    if sum(not cell.spec.baseline for cell in cells) > 1:
        for line in (*size_lines(cells), *pace_lines(race)):
            reporter.say(line)
    if len(cells) > 1:
        say_total(cells, Estimator(options.results, spending.prices), reporter)
    _fetch_weights(checked.unfinished, options.results, reporter, spending)
    if checked.executor is not None:
        results = _run_elsewhere(checked, checked.executor, options, reporter)
    elif race is not None or config.schedule == "interleaved":
        results = _run_in_turns(checked, options, reporter, spending)
    else:
        results = _run_until_stopped(cells, options, reporter, spending)
    for result in results:
        if result.status == "failed":
            reporter.say(_said(result))
    outcome = None if options.records_only else _score(results, checked, options, reporter, executors)
    return Benchmark(config, tuple(cells), tuple(results), outcome, spending)


@dataclass(frozen=True)
class _Checked:
    """A checked config: what is left to do, and its budget."""

    config: BenchConfig
    cells: list[Cell]
    unfinished: list[Cell]
    evaluation: EvaluationPlan
    race: PlannedRace | None
    spending: BudgetTracker
    executor: Executor | None
    """Where the runs are executed. None: on this machine, or nothing is left to do."""


def _checked(config: BenchConfig, options: RunOptions, reporter: Reporter, executors: Executors) -> _Checked:
    """Plan a config and check it. The time limit of its budget starts now."""
    began = time.monotonic()
    with reporter.reading() as progress:
        cells = plan_cells(config, progress)
    evaluation = plan_evaluation(config)
    race = plan_race(config, cells, evaluation)
    payers = [
        CostOwner.of(RunDir(options.results / cell.run_id), cell.identity["models"], evaluation) for cell in cells
    ]
    prices = price_table(config.prices)
    spending = BudgetTracker(config.budget, prices, options.results, payers, began, reporter.warn)
    scoring = None if options.records_only else evaluation
    unfinished = _check_all(cells, scoring, options.results, spending)
    executor = executors.joined(config) if unfinished else None
    Preflight(options.results, reporter, spending).ask(unfinished, scoring)
    return _Checked(config, cells, unfinished, evaluation, race, spending, executor)


def _check_all(
    cells: Sequence[Cell], evaluation: EvaluationPlan | None, results: Path, spending: BudgetTracker
) -> list[Cell]:
    """Check everything before anything is paid, so that a missing requirement of the last run shows at once, not
    after hours. Returns the unfinished runs.
    """
    for cell in cells:
        spending.check_prices(cell.identity["models"])
    if evaluation:
        spending.check_prices(evaluation.models)
    with explained_io("write to", results):
        results.mkdir(parents=True, exist_ok=True)
    unfinished = [cell for cell in cells if not is_finished(cell, results)]
    for cell in unfinished:
        check_needs(cell, results)
    if evaluation:
        check_judges(evaluation)
    return unfinished


def _fetch_weights(cells: Sequence[Cell], results: Path, reporter: Reporter, spending: BudgetTracker) -> None:
    """Download model weights while the budget's clock is paused, so a download does not reduce the answers."""
    with spending.standing():
        for cell in cells:
            fetch_models(cell, results, reporter)


def _score(
    results: Sequence[CellResult],
    checked: "_Checked",
    options: RunOptions,
    reporter: Reporter,
    executors: Executors,
) -> EvaluationOutcome | None:
    """Score the runs. After the budget stopped a run, only evaluators without a model are used, and none if the
    time is over. Interleaved runs that ended early are scored over the queries that they answered.
    """
    evaluation, spending = checked.evaluation, checked.spending
    if any(result.ended_by for result in results):
        evaluation, spending = evaluation.without_models(), spending.without_minutes()
    elif any(result.stopped for result in results):
        evaluation = evaluation.without_models()
        if spending.time_is_over:
            return None
    elsewhere = scoring_elsewhere(executors, checked.config, evaluation, reporter)
    runs = [result.run for result in results]
    return evaluate_runs(runs, evaluation, options.results, reporter, spending, elsewhere, keep_final=True)


def _run_until_stopped(
    cells: Sequence[Cell], options: RunOptions, reporter: Reporter, spending: BudgetTracker
) -> list[CellResult]:
    """Execute the runs in order, up to the one that the budget stops."""
    results: list[CellResult] = []
    for number, cell in enumerate(cells, 1):
        results.append(_run_one(cell, f"{number}/{len(cells)}", options, reporter, spending))
        if results[-1].status == "stopped":
            break
    return results


def _run_elsewhere(
    checked: "_Checked", executor: Executor, options: RunOptions, reporter: Reporter
) -> list[CellResult]:
    """Execute all runs in parallel on the machines of an executor."""
    cells, spending = checked.cells, checked.spending
    for number, cell in enumerate(cells, 1):
        _announce(cell, f"{number}/{len(cells)}", options, reporter, spending)
    run_options = CellRunOptions(options.results.resolve(), _priced(spending), _again(options))
    return executor.run_cells(cells, run_options, reporter, spending)


def _run_in_turns(
    checked: "_Checked", options: RunOptions, reporter: Reporter, spending: BudgetTracker
) -> list[CellResult]:
    """Execute all runs interleaved, a few queries each in turn."""
    cells = checked.cells
    for number, cell in enumerate(cells, 1):
        _announce(cell, f"{number}/{len(cells)}", options, reporter, spending)
    turns = InterleavedOptions(
        options.results.resolve(), _priced(spending), _again(options), checked.race, checked.evaluation
    )
    return run_in_turns(cells, turns, reporter, spending)


def _run_one(
    cell: Cell, place: str, options: RunOptions, reporter: Reporter, spending: BudgetTracker
) -> CellResult:
    _announce(cell, place, options, reporter, spending)
    return run_cell(
        cell,
        options.results.resolve(),
        reporter,
        _priced(spending)(cell),
        again=_again(options),
        spending=spending,
    )


def _announce(cell: Cell, place: str, options: RunOptions, reporter: Reporter, spending: BudgetTracker) -> None:
    """Print what the run is and what is reused, and save its estimate."""
    reporter.say(
        f"[{place}] {cell.run_id}: {len(cell.dataset.queries):,} queries over "
        f"{len(cell.dataset.documents):,} documents, generator {_generator(cell)}"
    )
    for note in cell.dataset.notes:
        reporter.say(f"  note: {note}")
    run = open_run(cell, options.results.resolve(), reporter.warn)
    for line in (*changed_lines(cell, run), *reuse_lines(cell, run, _again(options))):
        reporter.warn(f"  {line}")
    keep_estimate(cell, run, spending.prices, reporter)


def _priced(spending: BudgetTracker) -> Callable[[Cell], Priced]:
    return lambda cell: lambda usage: usage_usd(spending.prices, cell.identity["models"], usage)


def _again(options: RunOptions) -> RerunOptions:
    return RerunOptions(failed=options.retry_failed, index=options.fresh_index)


def _is_beyond(result: CellResult, tolerance: float) -> bool:
    total = result.n_ok + result.n_error
    return result.status == "failed" or (total > 0 and result.n_error / total > tolerance)


def _said(result: CellResult) -> str:
    if result.status == "failed":
        return f"{result.run.run_id} failed: {result.reason}"
    return f"{result.run.run_id}: {result.n_error:,} of {result.n_ok + result.n_error:,} queries failed"


def _generator(cell: Cell) -> str:
    if cell.generator is None and cell.generates:
        return "its own"
    if cell.generator is None or cell.generator.is_none:
        return NO_MODEL
    return f"{cell.generator.provider}/{cell.generator.model}"
