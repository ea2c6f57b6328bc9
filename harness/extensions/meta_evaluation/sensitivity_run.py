"""Sensitivity of measures: perturbed answers, scored like any other run."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.api.config_building import evaluation_config
from harness.api.evaluating import EvaluateOptions, Evaluation, evaluate_all
from harness.core.errors import ConfigError
from harness.core.hashing import short_digest
from harness.display.text_format import file_name
from harness.extensions.meta_evaluation.perturbed_runs import (
    BaseAnswer,
    PerturbationChoice,
    PerturbedRuns,
    swap_answers,
)
from harness.extensions.meta_evaluation.presets import PerturbationPreset, preset_named
from harness.extensions.meta_evaluation.sensitivity import PerturbationEffect, swap_effects
from harness.protocols import Measure
from harness.registry import EVALUATORS
from harness.runner.evaluating.plan import PlannedEvaluator, plan_evaluation
from harness.store import RunDir

FOLDER = "sensitivity"
"""Folder below the results."""


@dataclass(frozen=True)
class ParameterSweep:
    """One parameter of an evaluator at several values."""

    evaluator: str
    parameter: str
    values: tuple[str, ...]

    @property
    def key(self) -> str:
        """The key in a config."""
        return f"per_evaluator.{self.evaluator}.{self.parameter}"


@dataclass(frozen=True)
class SensitivityOptions:
    """Which perturbations, which evaluators, and which parameter sweeps."""

    choice: PerturbationChoice = field(default_factory=PerturbationChoice)
    evaluate: EvaluateOptions = field(default_factory=EvaluateOptions)
    asks_judges: bool = True
    """False: evaluators that need a judge are left out."""
    sweeps: tuple[ParameterSweep, ...] = ()


@dataclass(frozen=True)
class SweptEffects:
    """The effects on an evaluator's metrics for one value of a parameter."""

    sweep: ParameterSweep
    value: str
    effects: tuple[PerturbationEffect, ...]


@dataclass(frozen=True)
class SensitivityResult:
    runs: PerturbedRuns
    evaluation: Evaluation
    evaluators: tuple[str, ...]
    measures: tuple[Measure, ...]
    effects: tuple[PerturbationEffect, ...]
    swept: tuple[SweptEffects, ...] = ()
    notes: tuple[str, ...] = ()


def measure_sensitivity(run: RunDir, options: SensitivityOptions) -> SensitivityResult:
    """Create the perturbed runs, score them, and compare. Judgements are saved in the journal of all evaluations.

    ConfigError: nothing to perturb, or no evaluator is left.
    """
    planned, notes = _planned(run, options)
    # Fail before any judge is called.
    for sweep in options.sweeps:
        for value in sweep.values:
            _swept_evaluator(run, options, sweep, value)
    names = tuple(one.spec.name for one in planned)
    folder = options.evaluate.results / FOLDER / f"{run.run_id}--{short_digest(_of(options.choice))}"
    swapped = swap_answers(run, options.choice, folder)
    evaluate = replace(options.evaluate, evaluators=names)
    evaluation = evaluate_all(swapped.runs, evaluate)
    # Scores of an earlier command are ignored if the evaluator refused now.
    refused = {name for outcome, _ in evaluation.outcomes for name, _ in outcome.refusals}
    measures = tuple(measure for one in planned if one.spec.name not in refused for measure in one.measures)
    effects = () if evaluation.stopped else tuple(swap_effects(swapped, measures))
    if not effects and not evaluation.stopped:
        notes.append("no measure has a value for the original answers: nothing can be compared")
    swept = () if evaluation.stopped else tuple(_swept(run, options, folder))
    return SensitivityResult(swapped, evaluation, names, measures, effects, swept, (*swapped.notes, *notes))


@dataclass(frozen=True)
class PerturbationOptions:
    """The user's options for perturbations; None or empty: from the preset, or the default."""

    preset: str | None = None
    base: BaseAnswer | None = None
    swaps: tuple[str, ...] = ()
    n: int | None = None
    seed: int = 0


def chosen_swaps(wishes: PerturbationOptions) -> tuple[PerturbationChoice, PerturbationPreset | None]:
    """The checked choice and the preset. ConfigError: an unknown name."""
    preset = preset_named(wishes.preset) if wishes.preset else None
    base = wishes.base or (preset.base if preset else PerturbationChoice().base)
    choice = PerturbationChoice(base, wishes.swaps or (preset.swaps if preset else ()), wishes.n, wishes.seed)
    _ = choice.chosen
    return choice, preset


def parse_sweep(text: str) -> ParameterSweep:
    """`EVALUATOR.PARAMETER=VALUE,VALUE`. ConfigError: anything else."""
    key, equals, values = text.partition("=")
    evaluator, dot, parameter = key.strip().partition(".")
    found = tuple(filter(None, (value.strip() for value in values.split(","))))
    if not (equals and dot and parameter and found):
        raise ConfigError(f"--sweep {text!r} is no sweep", "write EVALUATOR.PARAMETER=VALUE,VALUE")
    EVALUATORS.load(evaluator)
    return ParameterSweep(evaluator, parameter, found)


def _planned(run: RunDir, options: SensitivityOptions) -> tuple[Sequence[PlannedEvaluator], list[str]]:
    """The evaluators, without those that need a judge if none may be called."""
    given = options.evaluate
    config = evaluation_config(run, given.config, given.evaluators, given.settings)
    found: list[PlannedEvaluator] = []
    left_out: list[PlannedEvaluator] = []
    for planned in plan_evaluation(config).evaluators:
        judged = "judge" in planned.spec.roles and not options.asks_judges
        (left_out if judged else found).append(planned)
    if not found:
        names = ", ".join(one.spec.name for one in left_out)
        raise ConfigError(
            f"each of these evaluators asks a judge: {names}", "leave out --no-judge, or name others: -e"
        )
    said = (
        [f"left out, because they need a judge: {', '.join(one.spec.name for one in left_out)}"]
        if left_out
        else []
    )
    return found, said


def _swept(run: RunDir, options: SensitivityOptions, folder: Path) -> list[SweptEffects]:
    """The effects at each value of the swept parameters, with scores in separate directories."""
    found: list[SweptEffects] = []
    choice = replace(options.choice, swaps=("wrong_answer",))
    for sweep in options.sweeps:
        for value in sweep.values:
            swapped = swap_answers(run, choice, folder / file_name(f"{sweep.evaluator}-{sweep.parameter}-{value}"))
            given = options.evaluate
            settings = (*given.settings, f"{sweep.key}={value}")
            evaluate = replace(given, evaluators=(sweep.evaluator,), settings=settings)
            evaluation = evaluate_all(swapped.runs, evaluate)
            if evaluation.stopped:
                return found
            planned = _swept_evaluator(run, options, sweep, value)
            found.append(SweptEffects(sweep, value, tuple(swap_effects(swapped, planned.measures))))
    return found


def _swept_evaluator(
    run: RunDir, options: SensitivityOptions, sweep: ParameterSweep, value: str
) -> PlannedEvaluator:
    """ConfigError: no such parameter or value, or it needs a judge and judges are disabled."""
    given = options.evaluate
    settings = (*given.settings, f"{sweep.key}={value}")
    config = evaluation_config(run, given.config, (sweep.evaluator,), settings)
    (planned,) = plan_evaluation(config).evaluators
    if "judge" in planned.spec.roles and not options.asks_judges:
        raise ConfigError(
            f"--sweep {sweep.evaluator}.{sweep.parameter} asks a judge", "leave out --no-judge, or the sweep"
        )
    return planned


def _of(choice: PerturbationChoice) -> dict[str, object]:
    """What determines which answers are perturbed, and how."""
    return {"base": choice.base, "n": choice.n, "seed": choice.seed}
