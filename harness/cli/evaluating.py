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
from harness.config import BenchConfig
from harness.config.load import build_config, parse_setting, read_yaml, set_value
from harness.errors import EXIT_DONE, EXIT_TOLERANCE, RunInterrupted
from harness.report import render_terminal
from harness.runner.evaluate import Evaluated, Outcome, evaluate_runs
from harness.runner.evaluation_plan import EvaluationPlan, plan_evaluation
from harness.runner.progress import Reporter
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
    outcomes = [
        (evaluate_run_dirs(members, plan, options.results, reporter), config) for plan, config, members in plans
    ]
    if options.as_json:
        shown = [_as_json(one) for outcome, _ in outcomes for one in outcome.evaluated]
        sys.stdout.write(json.dumps({"evaluations": shown}) + "\n")
    else:
        render_terminal(runs, open_console())
    return max((conclude(outcome, config) for outcome, config in outcomes), default=EXIT_DONE)


def evaluate_run_dirs(runs: Sequence[RunDir], plan: EvaluationPlan, results: Path, reporter: Reporter) -> Outcome:
    """Score each run with each evaluator of the plan and save the scores."""
    prices = load_prices()
    try:
        return evaluate_runs(runs, plan, results, reporter, lambda usage: usage_usd(prices, plan.models, usage))
    except KeyboardInterrupt:
        message = f"interrupted; no judgement that was paid for is lost. To resume: {same_command()}"
        raise RunInterrupted(message) from None


def conclude(outcome: Outcome, config: BenchConfig) -> int:
    """Say what could not be scored and return the exit code; an evaluator that could not work raises its error."""
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
        raise error
    return code


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
