"""A whole benchmark: plan, run, evaluate."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.api.benchmark import Benchmark
from harness.api.config_building import price_table
from harness.api.evaluating import scoring_elsewhere
from harness.config import BenchConfig
from harness.core.errors import ConfigError, explained_io
from harness.runner.budget_tracker import BudgetTracker, CostOwner
from harness.runner.dataset_loading import DatasetReader
from harness.runner.estimating.estimate import Estimator, keep_speeds, say_total
from harness.runner.estimating.estimate_text import budget_text, downloads_text
from harness.runner.estimating.sample_size_notice import sample_sizes, size_lines
from harness.runner.evaluating.evaluate import EvaluationOutcome, evaluate_runs
from harness.runner.evaluating.plan import check_judges, plan_evaluation
from harness.runner.executing.execute import CellResult, RunContext
from harness.runner.executing.schedule import run_cells
from harness.runner.executor import JoinExecutor, joining_executors
from harness.runner.language_check import language_lines
from harness.runner.model_preflight import ask_models, check_needs, fetch_models
from harness.runner.plan import is_finished, left_out_lines, plan_cells, weights_left
from harness.runner.progress import Reporter
from harness.runner.race_plan import pace_lines, plan_race
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
    done: list[Benchmark] = []
    with joining_executors(configs, options.results, reporter) as join:
        command = _Command(options, reporter, join)
        benches = [command.check(config) for config in configs]
        command.say_before(benches)
        for place, bench in enumerate(benches):
            if done:
                is_retrieval = done[-1].config.models.generator.is_none
                others_answer = not any(one.config.models.generator.is_none for one in benches[place:])
                if done[-1].outcome is not None and is_retrieval and others_answer:
                    # Minutes that both configs share are for their runs.
                    with done[-1].spending.paused():
                        on_stage_end(done[-1])
                if bench.unfinished:
                    reporter.say(_next_line(bench, options.results))
                same = [one for one in done if one.config.budget.minutes == bench.config.budget.minutes]
                bench.spending.begin(same[0].spending if same else None)
            done.append(command.run(bench))
            if done[-1].stopped:
                break
    return done


def _next_line(bench: Benchmark, results: Path) -> str:
    """How many systems the next config has, what limits them, and what is downloaded."""
    queries = {cell.dataset.digest: len(cell.dataset.queries) for cell in bench.cells}
    n, n_systems = sum(queries.values()), len(bench.cells)
    facts = [f"{n:,} {'query' if n == 1 else 'queries'}"]
    if limits := budget_text(bench.config.budget):
        facts.append(f"at most {limits}")
    if weights := weights_left(bench.unfinished, results):
        facts.append(f"after downloading {downloads_text(weights)}")
    verb = "search" if bench.config.models.generator.is_none else "answer"
    who = f"{n_systems} configurations {verb}" if n_systems > 1 else f"1 configuration {verb}s"
    return f"next, {who}: {', '.join(facts)}"


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


@dataclass(frozen=True)
class _Command:
    options: RunOptions
    reporter: Reporter
    join: JoinExecutor

    def check(self, config: BenchConfig) -> Benchmark:
        """Plan a config and check it. The time limit of its budget starts now."""
        began, results, reporter = time.monotonic(), self.options.results, self.reporter
        with reporter.reading() as progress:
            reader = DatasetReader(progress, opens_holdout=self.options.opens_holdout)
            cells = plan_cells(config, progress, reader)
        for line in left_out_lines(config, cells):
            reporter.say(line)
        evaluation = plan_evaluation(config)
        race = plan_race(config, cells, evaluation)
        payers = [
            CostOwner.of(RunDir(results / cell.run_id), cell.identity["models"], evaluation) for cell in cells
        ]
        prices = price_table(config.prices)
        spending = BudgetTracker(config.budget, prices, results, payers, began, reporter.warn)
        scoring = None if self.options.records_only else evaluation
        # Everything is checked here, so that a missing requirement of the last run shows at once, not after hours.
        for models in (*(cell.identity["models"] for cell in cells), scoring.models if scoring else {}):
            spending.check_prices(models)
        with explained_io("write to", results):
            results.mkdir(parents=True, exist_ok=True)
        unfinished = [cell for cell in cells if not is_finished(cell, results)]
        for cell in unfinished:
            check_needs(cell, results)
        if scoring:
            check_judges(scoring)
        executor = self.join(config) if unfinished else None
        ask_models(unfinished, scoring, results, reporter, spending)
        return Benchmark(config, cells, unfinished, evaluation, race, spending, executor)

    def say_before(self, benches: Sequence[Benchmark]) -> None:
        """Notices before the first config runs. ConfigError: its name is that of other runs, and so would not say
        which runs are meant.
        """
        planned = {cell.run_id for bench in benches for cell in bench.cells}
        for name in {bench.config.name for bench in benches} - {None}:
            if others := sorted({*runs_called(self.options.results, str(name))} - planned):
                what = f"the name '{name}' is taken by {others[0]}"
                raise ConfigError(what, "choose another name, or leave it out")
        compared = [one.cells for one in benches if sum(not cell.spec.baseline for cell in one.cells) > 1]
        # The report says what more queries would settle.
        sizes = size_lines(size for cells in compared for size in sample_sizes(cells) if size.warning)
        notes = [line for bench in benches for line in language_lines(bench.cells)]
        for line in filter(None, (self.options.note, *dict.fromkeys(notes), *sizes)):
            self.reporter.say(line)

    def run(self, bench: Benchmark) -> Benchmark:
        """Run all systems and score them. Neither a failed run nor a failed evaluator stops the rest."""
        options, reporter, spending = self.options, self.reporter, bench.spending
        if sum(not cell.spec.baseline for cell in bench.cells) > 1:
            for line in pace_lines(bench.race):
                reporter.say(line)
        estimator = Estimator(options.results, spending.prices, fresh_index=options.fresh_index)
        say_total(bench.cells, estimator, reporter)
        # The clock of the budget is paused, so that a download does not reduce the answers.
        with spending.paused():
            for cell in bench.unfinished:
                fetch_models(cell, options.results, reporter)
        results = options.results.resolve()
        context = RunContext(results, reporter, spending, options.retry_failed, options.fresh_index)
        made = run_cells(bench.cells, context, bench.race, executor=bench.executor, in_turns=bench.takes_turns)
        keep_speeds(bench.unfinished, results, reporter)
        for result in made:
            if result.status == "failed":
                reporter.say(result.trouble)
        outcome = None if options.records_only else self._score(bench, made)
        return replace(bench, results=tuple(made), outcome=outcome)

    def _score(self, bench: Benchmark, made: Sequence[CellResult]) -> EvaluationOutcome | None:
        """Score the runs. After the budget stopped a run, only evaluators without a model are used, and none if
        the time is over. Interleaved runs that ended early are scored over the queries that they answered.
        """
        evaluation, spending = bench.evaluation, bench.spending
        if any(result.ended_by for result in made):
            evaluation, spending = evaluation.without_models(), spending.without_minutes()
        elif any(result.stopped for result in made):
            evaluation = evaluation.without_models()
            if spending.time_is_over:
                return None
        elsewhere = scoring_elsewhere(self.join, bench.config, evaluation, self.reporter)
        runs, results = [result.run for result in made], self.options.results
        return evaluate_runs(runs, evaluation, results, self.reporter, spending, elsewhere, keep_final=True)
