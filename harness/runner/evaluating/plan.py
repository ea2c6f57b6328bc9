"""Plans the evaluators of a config with their parameters and models, and checks them before anything is paid."""

from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from harness.config import BenchConfig, JudgeConfig, JudgeEmbedderConfig
from harness.config.load import explain
from harness.core.errors import ConfigError, nearest
from harness.core.records import EvaluationRecord
from harness.models.model_endpoint import model_identity
from harness.models.providers import check_reachable, resolve_embedder, resolve_generator
from harness.protocols import EvaluatorSpec, Measure, Params
from harness.registry import EVALUATORS


@dataclass(frozen=True)
class PlannedEvaluator:
    spec: EvaluatorSpec
    params: Params

    @property
    def measures(self) -> tuple[Measure, ...]:
        return self.spec.measures(self.params)

    @property
    def weights(self) -> dict[str, str]:
        """The weights that it loads itself: name -> digest."""
        return dict(self.spec.weights(self.params)) if self.spec.weights else {}


@dataclass(frozen=True)
class EvaluationPlan:
    """The evaluators and models that score the runs of one command."""

    evaluators: tuple[PlannedEvaluator, ...]
    judge: JudgeConfig
    embedder: JudgeEmbedderConfig
    models: dict[str, dict[str, Any]]
    """Role -> identity, for all models that these evaluators call."""
    failure_tolerance: float = 0.0
    """Share of failed scores above which an evaluation of a run is in trouble."""

    def models_of(self, planned: PlannedEvaluator) -> dict[str, dict[str, Any]]:
        """Role -> identity, for the models that this evaluator calls."""
        return {role: model for role, model in self.models.items() if role in planned.spec.roles}

    def would_make(self, planned: PlannedEvaluator, record: EvaluationRecord) -> bool:
        """Whether `record` was made with the planned version, parameters, models and weights of this evaluator."""
        known = {
            # The plan does not know yet which parameters a model rejects.
            role: {key: value for key, value in model.items() if key != "left_out"}
            for role, model in record.models.items()
        }
        made = (record.evaluator, record.version, record.params, known, dict(record.weights))
        params = planned.params.model_dump(mode="json")
        return made == (planned.spec.name, planned.spec.version, params, self.models_of(planned), planned.weights)

    def without_models(self) -> "EvaluationPlan":
        """A plan of only the evaluators without a model, which are free."""
        free = tuple(planned for planned in self.evaluators if not planned.spec.roles)
        return replace(self, evaluators=free, models={})

    def needs(self, role: str) -> bool:
        return any(role in planned.spec.roles for planned in self.evaluators)


def plan_evaluation(config: BenchConfig) -> EvaluationPlan:
    """HarnessError for an unknown name or parameter, two evaluators with the same metric, or a missing judge."""
    for name in config.per_evaluator:
        EVALUATORS.load(name)
    evaluators = tuple(_planned(name, config) for name in dict.fromkeys(config.evaluators))
    _refuse_twins(evaluators)
    _check_ranking(config, evaluators)
    judge, embedder = resolve_generator(config.models.judge), resolve_embedder(config.models.judge_embedder)
    models = {}
    for model in (judge, embedder):
        asking = [planned.spec.name for planned in evaluators if model.role in planned.spec.roles]
        if asking and model.is_none:
            what = f"{', '.join(asking)}: models.{model.role}.provider is none"
            raise ConfigError(what, "choose a provider, or remove these evaluators")
        if asking:
            models[model.role] = model_identity(model)
    return EvaluationPlan(evaluators, judge, embedder, models, config.runner.failure_tolerance)


def check_packages(plan: EvaluationPlan) -> None:
    """HarnessError if an evaluator needs a package or file that is missing."""
    for planned in plan.evaluators:
        if planned.spec.preflight:
            planned.spec.preflight(planned.params)


def check_judges(plan: EvaluationPlan) -> None:
    """HarnessError if a package is missing or a model of the evaluators is not reachable."""
    check_packages(plan)
    if plan.needs("judge"):
        check_reachable(plan.judge)
    if plan.needs("judge_embedder"):
        check_reachable(plan.embedder)


def _planned(name: str, config: BenchConfig) -> PlannedEvaluator:
    spec = EVALUATORS.load(name)
    try:
        params = spec.params.model_validate(config.per_evaluator.get(name, {}))
    except ValidationError as error:
        raise ConfigError(*explain(error, spec.params, prefix=f"per_evaluator.{name}")) from error
    return PlannedEvaluator(spec, params)


def _check_ranking(config: BenchConfig, evaluators: tuple[PlannedEvaluator, ...]) -> None:
    if config.measure is None:
        return
    from harness.statistics.query_values import COSTS

    scored = {measure.name for planned in evaluators for measure in planned.measures}
    if config.measure not in scored | set(COSTS):
        what = f"measure '{config.measure}' is not scored by these evaluators ({', '.join(config.evaluators)})"
        raise ConfigError(what, nearest(config.measure, scored | set(COSTS)))


def _refuse_twins(evaluators: tuple[PlannedEvaluator, ...]) -> None:
    owners: dict[str, str] = {}
    for planned in evaluators:
        for measure in planned.measures:
            owner = owners.setdefault(measure.name, planned.spec.name)
            if owner != planned.spec.name:
                raise ConfigError(
                    f"'{owner}' and '{planned.spec.name}' both measure '{measure.name}'", "remove one of them"
                )
