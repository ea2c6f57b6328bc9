"""Scores saved runs."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.api.config_building import evaluation_config, price_table, prices_of_runs
from harness.api.untrusted_config import reject_untrusted_judges
from harness.config import BenchConfig
from harness.config.load import parse_setting
from harness.core.errors import BudgetExhausted, ConfigError, nearest
from harness.protocols import AnswerChoice, Measure, OpenedAnswer, RunFacts, ScoringInput
from harness.runner.budget_tracker import BudgetTracker, CostOwner
from harness.runner.evaluating.evaluate import (
    EvaluationOutcome,
    RemoteScoring,
    evaluate_runs,
    is_worth_a_worker,
)
from harness.runner.evaluating.models import EvaluationModels, MeteredEvaluation
from harness.runner.evaluating.plan import EvaluationPlan, check_packages, plan_evaluation
from harness.runner.executor import JoinExecutor, joining_executors, needs_own_process
from harness.runner.progress import Reporter
from harness.store import RunDir, find_runs


@dataclass(frozen=True)
class EvaluateOptions:
    config: Path | None = None
    evaluators: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    prices: Path | None = None
    results: Path = Path("results")
    quiet: bool = False


@dataclass(frozen=True)
class Evaluation:
    outcomes: tuple[EvaluationOutcome, ...]
    """One for each group of runs with the same config."""
    spending: BudgetTracker

    @property
    def stopped(self) -> BudgetExhausted | None:
        return next((outcome.stopped for outcome in self.outcomes if outcome.stopped), None)


def needs_child_process(runs: Sequence[RunDir], options: EvaluateOptions) -> bool:
    return needs_own_process(_configs(runs, options))


def evaluate_all(runs: Sequence[RunDir], options: EvaluateOptions) -> Evaluation:
    """Score runs by their configs, or that of `options`. Errors of single evaluators are recorded, not raised."""
    configs = _configs(runs, options)
    plans = [(plan_evaluation(config), config, members) for config, members in _grouped(runs, configs)]
    for plan, _, members in plans:
        for run in members:
            _refuse_unsaid(run, plan, options.config, options.settings)
        check_packages(plan)
    reporter = Reporter(quiet=options.quiet)
    spending = _spending(plans, options, reporter)
    outcomes = []
    # Saved answers are scored in order, even if they were answered interleaved.
    places = [BenchConfig(runner=config.runner) for _, config, _ in plans]
    with joining_executors(places, options.results, reporter) as join:
        for plan, config, members in plans:
            elsewhere = scoring_elsewhere(join, config, plan, reporter)
            outcomes.append(evaluate_runs(members, plan, options.results, reporter, spending, elsewhere))
    return Evaluation(tuple(outcomes), spending)


def _configs(runs: Sequence[RunDir], options: EvaluateOptions) -> list[BenchConfig]:
    return [evaluation_config(run, options.config, options.evaluators, options.settings) for run in runs]


def scoring_elsewhere(
    join: JoinExecutor, config: BenchConfig, plan: EvaluationPlan, reporter: Reporter
) -> RemoteScoring | None:
    """Remote scoring by the config's executor, if there is one and an evaluator is slow enough to need it."""
    executor = join(config) if any(map(is_worth_a_worker, plan.evaluators)) else None
    return executor.scoring(plan, reporter.warn) if executor else None


@contextmanager
def open_answer(choice: AnswerChoice) -> Iterator[OpenedAnswer]:
    """Open one saved answer with its evaluator's models (see `harness.protocols.CommandRuntime`)."""
    run = find_runs(choice.results, [choice.run])[0]
    plan = plan_evaluation(evaluation_config(run, choice.config, (choice.evaluator,), choice.settings))
    _refuse_unsaid(run, plan, choice.config, choice.settings)
    check_packages(plan)
    (planned,) = plan.evaluators
    case = _answered(run, choice, planned.measures)
    facts = RunFacts(has_generator=case.prediction.answer is not None)
    reporter = Reporter(quiet=choice.quiet)
    with ExitStack() as stack, reporter.bar(choice.query_id) as bar:
        models = EvaluationModels(plan, choice.results / "judge", reporter, stack)
        runtime = MeteredEvaluation(models, bar.update)
        runtime.begin(run.run_id)
        yield OpenedAnswer(run.run_id, case, facts, planned.params, runtime)


def _refuse_unsaid(run: RunDir, plan: EvaluationPlan, config: Path | None, settings: Sequence[str]) -> None:
    """Reject judges that only the run names. A config file given by the user is always accepted."""
    if config is None:
        reject_untrusted_judges(run, plan, [parse_setting(setting)[0] for setting in settings])


def _answered(run: RunDir, choice: AnswerChoice, measures: tuple[Measure, ...]) -> ScoringInput:
    rows = run.sample_by_id()
    if choice.query_id not in rows:
        raise ConfigError(f"{run.run_id} has no query '{choice.query_id}'", nearest(choice.query_id, rows))
    record = run.records().get((choice.query_id, choice.repeat))
    if record is None or record.prediction is None:
        why = f"failed ({record.failure.kind})" if record and record.failure else "has no record yet"
        raise ConfigError(f"{choice.query_id}, repeat {choice.repeat}, {why}", "choose another query")
    row = rows[choice.query_id]
    return ScoringInput(row.query, row.reference, record, measures)


def _spending(
    plans: Sequence[tuple[EvaluationPlan, BenchConfig, list[RunDir]]], options: EvaluateOptions, reporter: Reporter
) -> BudgetTracker:
    """The budget, shared by all named runs: a config or setting for all gives it, so every group has the same."""
    payers = [CostOwner.of(run, run.manifest().models, plan) for plan, _, members in plans for run in members]
    config = plans[0][1] if plans else BenchConfig()
    own = options.prices or config.prices
    prices = price_table(own) if options.config else prices_of_runs([payer.run for payer in payers], own)
    spending = BudgetTracker(config.budget, prices, options.results, payers, warn=reporter.warn)
    for plan, _, _ in plans:
        spending.check_prices(plan.models)
    return spending


def _grouped(runs: Sequence[RunDir], configs: Sequence[BenchConfig]) -> list[tuple[BenchConfig, list[RunDir]]]:
    """Runs grouped by config, so that runs of a group share models and embeddings."""
    groups: dict[str, tuple[BenchConfig, list[RunDir]]] = {}
    for run, config in zip(runs, configs, strict=True):
        groups.setdefault(config.model_dump_json(), (config, []))[1].append(run)
    return list(groups.values())
