"""Scores labelled sets with evaluators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.config import BenchConfig
from harness.core.errors import HarnessError
from harness.core.records import Score
from harness.extensions.meta_evaluation.card.values import CardValues, LabelledRow, MeasuredBy
from harness.extensions.meta_evaluation.labelled_sets.run import run_of
from harness.extensions.meta_evaluation.labelled_sets.types import LabelledDimension, LabelledItems, LabelledSet
from harness.protocols import Measure
from harness.registry import EVALUATORS
from harness.runner.budget_tracker import BudgetTracker, CostOwner
from harness.runner.evaluating.evaluate import EvaluationOutcome, evaluate_runs
from harness.runner.evaluating.plan import EvaluationPlan, PlannedEvaluator, check_judges, plan_evaluation
from harness.runner.progress import Reporter
from harness.statistics.prices import Prices, usage_usd
from harness.store import RunDir

ItemScores = Mapping[str, Mapping[str, float]]
"""Measure -> item -> value."""


@dataclass(frozen=True)
class ScoredSet:
    """A set, its scores, and the outcome of the scoring."""

    values: CardValues
    run: RunDir
    outcome: EvaluationOutcome
    spending: BudgetTracker


def evaluators_here(*, judged: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The evaluators that can run here, and a line for each whose packages are missing.

    Without a judge, those that need one are in neither.
    """
    able, unable = [], []
    for name in EVALUATORS.names():
        spec = EVALUATORS.load(name)
        if "judge" in spec.roles and not judged:
            continue
        try:
            if spec.preflight:
                spec.preflight(spec.params())
            able.append(name)
        except HarnessError as error:
            unable.append(f"{name} is left out: {error}")
    return tuple(able), tuple(unable)


def score_set(
    human: LabelledSet, config: BenchConfig, results: Path, prices: Prices, reporter: Reporter
) -> ScoredSet:
    """Score every item with every evaluator of the config that has not done so with the same models and
    parameters; failed scores are tried again, and judgements already made are not paid again.

    Raises HarnessError, one line, before anything is scored: an unknown evaluator, a judge that is not configured
    or does not answer.
    """
    plan = plan_evaluation(config)
    check_judges(plan)
    run = run_of(human, results, reporter.warn)
    spending = BudgetTracker(config.budget, prices, results, [CostOwner.of(run, {}, plan)], warn=reporter.warn)
    spending.check_prices(plan.models)

    left = replace(plan, evaluators=tuple(one for one in plan.evaluators if not _is_scored(one, plan, run)))
    outcome = evaluate_runs([run], left, results, reporter, spending)
    return ScoredSet(_values(human, run, plan, prices), run, outcome, spending)


def _is_scored(planned: PlannedEvaluator, plan: EvaluationPlan, run: RunDir) -> bool:
    """Whether the run already has all scores of this evaluator."""
    made = next((one for one in run.evaluations() if one.evaluator == planned.spec.name), None)
    if made is None or not plan.would_make(planned, made):
        return False
    names = set(made.measures)
    return not any(score.status == "failed" for score in run.scores() if score.measure in names)


def _values(human: LabelledSet, run: RunDir, plan: EvaluationPlan, prices: Prices) -> CardValues:
    scores = run.scores()
    found: dict[str, dict[str, float]] = {}
    for score in scores:
        if score.status == "scored" and score.value is not None:
            found.setdefault(score.measure, {})[score.query_id] = score.value
    measures = list(_measured(run, plan, prices, scores))
    worst = {one.name: one.worst for one in measures if one.worst is not None and one.name in found}
    rows = [row for one in human.dimensions for row in _rows(one, found, worst)]
    stored = dict.fromkeys(name for one in human.dimensions for name in one.stored)
    return CardValues(
        name=human.name,
        title=human.title,
        notes=human.notes,
        dimensions={one.name: one.title for one in human.dimensions},
        binary=tuple(one.name for one in human.dimensions if one.is_binary),
        measures=(*measures, *(MeasuredBy(name=name, n_items=len(human.items)) for name in stored)),
        rows=tuple(rows),
        models={role: dict(model) for role, model in plan.models.items()},
    )


def _measured(run: RunDir, plan: EvaluationPlan, prices: Prices, scores: Sequence[Score]) -> Iterator[MeasuredBy]:
    """Every metric of the plan's evaluators that scored the run, with its cost."""
    by_evaluator = {one.evaluator: one for one in run.evaluations()}
    n_items = len(run.sample())
    for planned in plan.evaluators:
        record = by_evaluator.get(planned.spec.name)
        if record is None:
            continue
        usage = record.cost.usage
        for measure in planned.measures:
            failed = sum(score.measure == measure.name and score.status == "failed" for score in scores)
            yield MeasuredBy(
                name=measure.name,
                title=_title(measure),
                evaluator=planned.spec.name,
                is_judged="judge" in planned.spec.roles,
                worst=measure.failure_value,
                n_items=n_items,
                n_failed=failed,
                evaluator_wall_s=record.cost.wall_s,
                evaluator_tokens=sum(used.input_tokens + used.output_tokens for used in usage.values()),
                evaluator_usd=usage_usd(prices, plan.models, usage),
            )


def _title(measure: Measure) -> str:
    """Short enough for a table; the full names are those of `compare` and `report`."""
    return "" if measure.title == measure.name else measure.title


def _rows(
    dimension: LabelledDimension, found: Mapping[str, Mapping[str, float]], worst: Mapping[str, float]
) -> Iterator[LabelledRow]:
    scores: dict[str, Mapping[str, float]] = {**found, **dimension.stored}
    for row in dimension.rows:
        said = {name: _said(row, values) for name, values in scores.items()}
        known = {name: value for name, value in said.items() if value is not None}
        filled = {
            name: _filled(row, scores.get(name, {}), least) for name, least in worst.items() if name not in known
        }
        yield LabelledRow(
            dimension=dimension.name,
            row_id=" ".join(row.item_ids),
            question_id=row.question_id,
            labels=row.labels,
            scores=known,
            filled=filled,
        )


def _said(row: LabelledItems, values: Mapping[str, float]) -> float | None:
    """The score of an item, or the difference second - first of a pair; None if a score is missing."""
    if any(item not in values for item in row.item_ids):
        return None
    return _difference([values[item] for item in row.item_ids])


def _filled(row: LabelledItems, values: Mapping[str, float], worst: float) -> float:
    return _difference([values.get(item, worst) for item in row.item_ids])


def _difference(scores: Sequence[float]) -> float:
    return scores[0] if len(scores) == 1 else scores[1] - scores[0]
