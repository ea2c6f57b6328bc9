"""A whole benchmark: plan, run, evaluate."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.api.config_building import price_table
from harness.api.evaluating import scoring_elsewhere
from harness.config import BenchConfig
from harness.core.errors import BudgetExhausted, ConfigError, explained_io
from harness.runner.budget_tracker import BudgetTracker, CostOwner
from harness.runner.dataset_loading import DatasetReader
from harness.runner.estimating.estimate import Estimator, keep_speeds, say_total
from harness.runner.estimating.estimate_text import budget_text, downloads_text
from harness.runner.estimating.sample_size_notice import sample_sizes, size_lines
from harness.runner.evaluating.evaluate import EvaluationOutcome, evaluate_runs
from harness.runner.evaluating.plan import EvaluationPlan, check_judges, plan_evaluation
from harness.runner.executing.execute import CellResult, RunContext
from harness.runner.executing.schedule import run_cells
from harness.runner.executor import Executor, Executors
from harness.runner.language_check import language_lines
from harness.runner.model_preflight import ask_models, check_needs, fetch_models
from harness.runner.plan import Cell, is_finished, left_out_lines, plan_cells, weights_left
from harness.runner.progress import Reporter
from harness.runner.race_plan import PlannedRace, pace_lines, plan_race
from harness.store import RunDir, runs_called


@dataclass(frozen=True)
class RunOptions:
    """Options besides the config; they change no run id."""

    results: Path = Path("results")
    retry_failed: bool = False
    fresh_index: bool = False
    """Build indexes without replayed calls or cached vectors, so that the build time is measured."""
    records_only: bool = False
    opens_holdout: bool = False
    """Ask the held-out queries of the samples instead of the others."""
    quiet: bool = False
    note: str = ""
    """A line to print before the first run, once everything is checked."""


@dataclass(frozen=True)
class Benchmark:
    config: BenchConfig
    cells: tuple[Cell, ...]
    results: tuple[CellResult, ...]
    """Results of the runs, up to the one that the budget stopped."""
    outcome: EvaluationOutcome | None
    """None: nothing was scored, because the time was over or scoring was not wanted."""
    spending: BudgetTracker
    took_turns: bool = False

    @property
    def runs(self) -> list[RunDir]:
        return [result.run for result in self.results]

    @property
    def stopped(self) -> BudgetExhausted | None:
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
    def ended_by(self) -> BudgetExhausted | None:
        return next((result.ended_by for result in self.results if result.ended_by), None)

    @property
    def progress(self) -> str:
        """`3 of 10 queries answered`, and that none is answered by all systems, if they took turns."""
        done = sum(result.n_ok + result.n_error for result in self.results)
        answered = f"{done:,} of {sum(cell.n_answers for cell in self.cells):,} queries answered"
        stopped = [cell for cell, result in zip(self.cells, self.results, strict=False) if result.stopped]
        if not self.took_turns or not stopped:
            return answered
        return f"0 of {len(stopped[0].dataset.queries):,} queries answered by all systems ({answered})"

    @property
    def failed(self) -> list[CellResult]:
        """Runs whose system failed, or failed at more queries than `runner.failure_tolerance` allows."""
        tolerance = self.config.runner.failure_tolerance
        return [
            one
            for one in self.results
            if one.status == "failed" or (one.n_error and one.n_error / (one.n_ok + one.n_error) > tolerance)
        ]

    @property
    def troubles(self) -> list[str]:
        reached = [f"stopped at the budget ({self.stopped.what}): {self.progress}"] if self.stopped else []
        return [*map(_said, self.failed), *reached]


def run_benches(
    configs: Sequence[BenchConfig],
    options: RunOptions,
    on_stage_end: Callable[[Benchmark], None] = lambda _: None,
) -> list[Benchmark]:
    """Run the configs in order, up to the one that its budget stops. All are checked before the first one starts.

    They share one report, so they must name the same price table. `on_stage_end` is called when a scored config
    without a generator ends before others with one: they are never compared with it, so its verdict is final.
    """
    if len({config.prices for config in configs}) > 1:
        raise ConfigError(
            "these configs name different `prices`", "name the same table in each, or run them separately"
        )
    reporter = Reporter(quiet=options.quiet)
    benches: list[Benchmark] = []
    with Executors(configs, options.results, reporter) as executors:
        all_checked = [_checked(config, options, reporter, executors) for config in configs]
        _refuse_taken_names(all_checked, options.results)
        compared = [one.cells for one in all_checked if sum(not cell.spec.baseline for cell in one.cells) > 1]
        # The report says what more queries would settle.
        sizes = size_lines(size for cells in compared for size in sample_sizes(cells) if size.warning)
        notes = [line for one in all_checked for line in language_lines(one.cells)]
        for line in filter(None, (options.note, *dict.fromkeys(notes), *sizes)):
            reporter.say(line)
        for place, checked in enumerate(all_checked):
            if benches:
                is_retrieval = benches[-1].config.models.generator.is_none
                others_answer = not any(one.config.models.generator.is_none for one in all_checked[place:])
                if benches[-1].outcome is not None and is_retrieval and others_answer:
                    # Minutes that both configs share are for their runs.
                    with benches[-1].spending.paused():
                        on_stage_end(benches[-1])
                if checked.unfinished:
                    reporter.say(_next_line(checked, options.results))
                same = [one for one in benches if one.config.budget.minutes == checked.config.budget.minutes]
                checked.spending.begin(same[0].spending if same else None)
            benches.append(_run(checked, options, reporter, executors))
            if benches[-1].stopped:
                break
    return benches


def _next_line(checked: "_Checked", results: Path) -> str:
    """How many systems the next config has, what limits them, and what is downloaded."""
    queries = {cell.dataset.digest: len(cell.dataset.queries) for cell in checked.cells}
    n, n_systems = sum(queries.values()), len(checked.cells)
    facts = [f"{n:,} {'query' if n == 1 else 'queries'}"]
    if limits := budget_text(checked.config.budget):
        facts.append(f"at most {limits}")
    if weights := weights_left(checked.unfinished, results):
        facts.append(f"after downloading {downloads_text(weights)}")
    verb = "search" if checked.config.models.generator.is_none else "answer"
    who = f"{n_systems} configurations {verb}" if n_systems > 1 else f"1 configuration {verb}s"
    return f"next, {who}: {', '.join(facts)}"


def _refuse_taken_names(all_checked: Sequence["_Checked"], results: Path) -> None:
    """A name belongs to the configurations of one command, so that it says which runs are meant."""
    planned = {cell.run_id for checked in all_checked for cell in checked.cells}
    for name in {checked.config.name for checked in all_checked} - {None}:
        if others := sorted({*runs_called(results, str(name))} - planned):
            raise ConfigError(f"the name '{name}' is taken by {others[0]}", "choose another name, or leave it out")


def run_bench(config: BenchConfig, options: RunOptions) -> Benchmark:
    return run_benches([config], options)[0]


def run_apart(config: BenchConfig, options: RunOptions, run_id: str, folder: Path) -> RunDir:
    """The finished and scored run of a config with this one run, kept in `folder`. It is in the results folder,
    where reports find it, only while it runs, because it needs the indexes there.

    BudgetExhausted: the budget stopped it; the same call resumes. ConfigError: its system failed.
    """
    kept, place = folder / run_id, options.results / run_id
    if kept.exists() and not place.exists():
        kept.rename(place)
    bench = run_bench(config, options)
    if bench.stopped:
        raise bench.stopped
    (result,) = bench.results
    if result.status == "failed":
        what = f"{result.run.run_id} failed: {result.reason}"
        raise ConfigError(what, "correct it and run the same command again")
    with explained_io("write to", folder):
        folder.mkdir(parents=True, exist_ok=True)
        place.rename(kept)
    return RunDir(kept)


def _run(checked: "_Checked", options: RunOptions, reporter: Reporter, executors: Executors) -> Benchmark:
    """Run all systems and score them. Neither a failed run nor a failed evaluator stops the rest."""
    config, cells, spending, race = checked.config, checked.cells, checked.spending, checked.race
    if sum(not cell.spec.baseline for cell in cells) > 1:
        for line in pace_lines(race):
            reporter.say(line)
    estimator = Estimator(options.results, spending.prices, fresh_index=options.fresh_index)
    say_total(cells, estimator, reporter)
    # The clock of the budget is paused, so that a download does not reduce the answers.
    with spending.paused():
        for cell in checked.unfinished:
            fetch_models(cell, options.results, reporter)
    context = RunContext(options.results.resolve(), reporter, spending, options.retry_failed, options.fresh_index)
    is_interleaved = config.schedule == "interleaved"
    if config.schedule is None:
        # A budget that ends must not leave the first run with all answers and the others with none.
        is_interleaved = config.budget.is_limited and len(cells) > 1
    took_turns = checked.executor is None and (race is not None or is_interleaved)
    results = run_cells(cells, context, race, executor=checked.executor, in_turns=took_turns)
    keep_speeds(checked.unfinished, context.results, reporter)
    for result in results:
        if result.status == "failed":
            reporter.say(_said(result))
    outcome = None if options.records_only else _score(results, checked, options, reporter, executors)
    return Benchmark(config, tuple(cells), tuple(results), outcome, spending, took_turns)


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
        cells = plan_cells(config, progress, DatasetReader(progress, opens_holdout=options.opens_holdout))
    for line in left_out_lines(config, cells):
        reporter.say(line)
    evaluation = plan_evaluation(config)
    race = plan_race(config, cells, evaluation)
    payers = [
        CostOwner.of(RunDir(options.results / cell.run_id), cell.identity["models"], evaluation) for cell in cells
    ]
    prices = price_table(config.prices)
    spending = BudgetTracker(config.budget, prices, options.results, payers, began, reporter.warn)
    scoring = None if options.records_only else evaluation
    # Everything is checked here, so that a missing requirement of the last run shows at once, not after hours.
    for models in (*(cell.identity["models"] for cell in cells), scoring.models if scoring else {}):
        spending.check_prices(models)
    with explained_io("write to", options.results):
        options.results.mkdir(parents=True, exist_ok=True)
    unfinished = [cell for cell in cells if not is_finished(cell, options.results)]
    for cell in unfinished:
        check_needs(cell, options.results)
    if scoring:
        check_judges(scoring)
    executor = executors.joined(config) if unfinished else None
    ask_models(unfinished, scoring, options.results, reporter, spending)
    return _Checked(config, cells, unfinished, evaluation, race, spending, executor)


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


def _said(result: CellResult) -> str:
    if result.status == "failed":
        return f"{result.run.run_id} failed: {result.reason}"
    return f"{result.run.run_id}: {result.n_error:,} of {result.n_ok + result.n_error:,} queries failed"
