"""From a config to evaluators with their parameters and models, checked before anything is answered or judged."""

from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from harness.config import BenchConfig, JudgeConfig, JudgeEmbedderConfig
from harness.config.load import explain
from harness.errors import ConfigError
from harness.models.identity import embedder_identity, generator_identity
from harness.models.preflight import check_reachable
from harness.models.providers import resolve_embedder, resolve_generator
from harness.protocols import EvaluatorSpec, Measure, Params
from harness.registry import load_evaluator


@dataclass(frozen=True)
class PlannedEvaluator:
    """One evaluator, resolved."""

    spec: EvaluatorSpec
    params: Params

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What it measures with these parameters."""
        return self.spec.measures(self.params)


@dataclass(frozen=True)
class EvaluationPlan:
    """What scores the runs of one command."""

    evaluators: tuple[PlannedEvaluator, ...]
    judge: JudgeConfig
    embedder: JudgeEmbedderConfig
    models: dict[str, dict[str, Any]]
    """Role -> identity, of the models that these evaluators call."""

    def without_models(self) -> "EvaluationPlan":
        """The evaluators that call no model: what is left is free."""
        free = tuple(planned for planned in self.evaluators if not planned.spec.roles)
        return replace(self, evaluators=free, models={})

    def needs(self, role: str) -> bool:
        """Whether any evaluator calls that model."""
        return any(role in planned.spec.roles for planned in self.evaluators)


def plan_evaluation(config: BenchConfig) -> EvaluationPlan:
    """The evaluators of a config.

    Raises HarnessError: an unknown name or parameter, a package that is missing, two evaluators with one measure,
    a judge that is needed and not chosen.
    """
    for name in config.per_evaluator:
        load_evaluator(name)
    evaluators = tuple(_planned(name, config) for name in dict.fromkeys(config.evaluators))
    _refuse_twins(evaluators)
    judge, embedder = resolve_generator(config.models.judge), resolve_embedder(config.models.judge_embedder)
    roles = {role for planned in evaluators for role in planned.spec.roles}
    if "judge" in roles and judge.provider == "none":
        asking = ", ".join(planned.spec.name for planned in evaluators if "judge" in planned.spec.roles)
        raise ConfigError(f"{asking}: models.judge.provider is none", "choose a provider, or leave them out")
    models = {"judge": generator_identity(judge)} if "judge" in roles else {}
    models |= {"judge_embedder": embedder_identity(embedder)} if "judge_embedder" in roles else {}
    return EvaluationPlan(evaluators, judge, embedder, models)


def check_judges(plan: EvaluationPlan) -> None:
    """Raise ModelUnavailable where a model that the evaluators call does not answer: before hours of answering."""
    if plan.needs("judge"):
        check_reachable(plan.judge)
    if plan.needs("judge_embedder"):
        check_reachable(plan.embedder)


def _planned(name: str, config: BenchConfig) -> PlannedEvaluator:
    spec = load_evaluator(name)
    try:
        params = spec.params.model_validate(config.per_evaluator.get(name, {}))
    except ValidationError as error:
        raise ConfigError(*explain(error, spec.params, prefix=f"per_evaluator.{name}")) from error
    if spec.preflight:
        spec.preflight(params)
    return PlannedEvaluator(spec, params)


def _refuse_twins(evaluators: tuple[PlannedEvaluator, ...]) -> None:
    owners: dict[str, str] = {}
    for planned in evaluators:
        for measure in planned.measures:
            owner = owners.setdefault(measure.name, planned.spec.name)
            if owner != planned.spec.name:
                raise ConfigError(
                    f"'{owner}' and '{planned.spec.name}' both measure '{measure.name}'", "leave one of them out"
                )
