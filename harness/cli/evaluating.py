"""`rag-harness evaluate`, and the evaluation at the end of `run`."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.analysis import load_prices
from harness.analysis.prices import usage_usd
from harness.cli.consoles import open_console, same_command
from harness.config import BenchConfig, BudgetConfig
from harness.config.load import build_config, parse_setting, read_yaml, set_value
from harness.errors import EXIT_DONE, EXIT_TOLERANCE, EXIT_USER, BudgetReached, RunInterrupted
from harness.report import load_chapters, render_terminal
from harness.runner.evaluating.evaluate import Evaluated, Outcome, evaluate_runs
from harness.runner.evaluating.plan import EvaluationPlan, plan_evaluation
from harness.runner.progress import Reporter
from harness.runner.spending import Payer, Spending
from harness.store import RunDir, find_runs

Tree = dict[str, Any]


@dataclass(frozen=True)
class EvaluateOptions:
    """What the command line says beyond the runs' own configs."""

    config: Path | None
    evaluators: str | None
    settings: Sequence[str]
    results: Path
    as_json: bool
    quiet: bool


def evaluate_named(names: Sequence[str], options: EvaluateOptions) -> int:
    """Score the named runs, print the table; returns the exit code.

    Evaluators, their parameters and judges are those of each run's config, or of `--config`, with `--evaluators`
    and `--set` on top.
    """
    runs = find_runs(options.results, names)
    configs = [config_of(run, options) for run in runs]
    plans = [(plan_evaluation(config), config, members) for config, members in _grouped(runs, configs)]
    reporter = Reporter(quiet=options.quiet)
    spending = _spending(plans, options.results)
    outcomes = [
        (evaluate_run_dirs(members, plan, options.results, reporter, spending), config)
        for plan, config, members in plans
    ]
    if options.as_json:
        shown = [_as_json(one) for outcome, _ in outcomes for one in outcome.evaluated]
        sys.stdout.write(json.dumps({"evaluations": shown}) + "\n")
    else:
        render_terminal(load_chapters(runs), open_console())
    code = max((conclude(outcome, config) for outcome, config in outcomes), default=EXIT_DONE)
    stopped = next((outcome.stopped for outcome, _ in outcomes if outcome.stopped), None)
    return say_stopped(stopped, spending, "judgements are unfinished") if stopped else code


def evaluate_run_dirs(
    runs: Sequence[RunDir], plan: EvaluationPlan, results: Path, reporter: Reporter, spending: Spending
) -> Outcome:
    """Score each run with each evaluator of the plan and save the scores."""
    prices = load_prices()
    try:
        return evaluate_runs(
            runs, plan, results, reporter, lambda usage: usage_usd(prices, plan.models, usage), spending
        )
    except KeyboardInterrupt:
        message = f"interrupted; no judgement that was paid for is lost. To resume: {same_command()}"
        raise RunInterrupted(message) from None


def conclude(outcome: Outcome, config: BenchConfig) -> int:
    """Say what could not be scored and return the exit code; an evaluator that could not work raises its error.

    One that the budget stopped raises nothing: see `say_stopped`.
    """
    code = EXIT_DONE
    for one in outcome.evaluated:
        share = one.n_failed / (one.n_counted + one.n_failed) if one.n_failed else 0.0
        if share > config.runner.failure_tolerance:
            code = EXIT_TOLERANCE
            total = one.n_counted + one.n_failed
            # Said even if quiet: it explains the exit code.
            sys.stderr.write(
                f"{one.run.run_id}: {one.evaluator} has no value for {one.n_failed:,} of {total:,} scores "
                f"({one.reason}). What was judged is kept; to go on: {same_command()}\n"
            )
    for _, error in outcome.refusals:
        if not isinstance(error, BudgetReached):
            raise error
    return code


def say_stopped(reached: BudgetReached, spending: Spending, progress: str) -> int:
    """Say on one line, even if quiet, that the budget stopped the command, and how to go on; the exit code."""
    go_on = " ".join(filter(None, (same_command(), spending.larger(reached))))
    sys.stderr.write(
        f"stopped at the budget ({reached.what}): {spending.report()}; {progress}. Nothing paid is lost. "
        f"To go on: {go_on}\n"
    )
    return EXIT_USER


def _spending(plans: Sequence[tuple[EvaluationPlan, BenchConfig, list[RunDir]]], results: Path) -> Spending:
    """The budget is one for all named runs; it stands in `--config` or `--set`, so every group has the same."""
    payers = [
        Payer.of(run, run.manifest().identity.get("models", {}), plan)
        for plan, _, members in plans
        for run in members
    ]
    budget = plans[0][1].budget if plans else BudgetConfig()
    spending = Spending(budget, load_prices(), results, payers)
    for plan, _, _ in plans:
        spending.check_prices(plan.models)
    return spending


def config_of(run: RunDir, options: EvaluateOptions) -> BenchConfig:
    """How a run is evaluated: by its own config or that of the options, with the flags on top."""
    tree = read_yaml(options.config) if options.config else _own_config(run.manifest().config)
    if options.evaluators:
        tree["evaluators"] = [name.strip() for name in options.evaluators.split(",")]
    for setting in options.settings:
        set_value(tree, *parse_setting(setting))
    return build_config(tree)


def _own_config(config: Mapping[str, Any]) -> Tree:
    """The part of a run's config that its evaluation reads; what an older run does not say is the default."""
    models = config.get("models", {})
    kept = {role: models[role] for role in ("judge", "judge_embedder") if role in models}
    tree = {key: config[key] for key in ("evaluators", "per_evaluator", "runner") if key in config}
    return {**tree, "models": kept}


def _grouped(runs: Sequence[RunDir], configs: Sequence[BenchConfig]) -> list[tuple[BenchConfig, list[RunDir]]]:
    """Runs that are evaluated alike stand together, so that they share models and embeddings."""
    groups: dict[str, tuple[BenchConfig, list[RunDir]]] = {}
    for run, config in zip(runs, configs, strict=True):
        groups.setdefault(config.model_dump_json(), (config, []))[1].append(run)
    return list(groups.values())


def _as_json(one: Evaluated) -> dict[str, object]:
    return {
        "run_id": one.run.run_id,
        "evaluator": one.evaluator,
        "n_counted": one.n_counted,
        "n_failed": one.n_failed,
        "reason": one.reason,
    }
