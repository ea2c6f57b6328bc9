"""Plans and checks the race of a config, before anything is paid."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.config import BenchConfig
from harness.core.errors import ConfigError, nearest
from harness.protocols import Measure
from harness.runner.evaluating.plan import EvaluationPlan, PlannedEvaluator, plan_evaluation
from harness.runner.plan import Cell
from harness.statistics.confidence_intervals import span_between
from harness.statistics.power import DISCORDANCE, rounded_up
from harness.statistics.race_test import RaceRules, expected_pace


@dataclass(frozen=True)
class PlannedRace:
    """The competing configurations, the metric and the rules of a race."""

    cells: tuple[Cell, ...]
    """Without baselines."""
    evaluation: EvaluationPlan
    evaluator: PlannedEvaluator
    """The one of `evaluation` that scores the answers."""
    measure: Measure
    rules: RaceRules


def plan_race(config: BenchConfig, cells: Sequence[Cell], plan: EvaluationPlan) -> PlannedRace | None:
    """The race of a config, or None if it has none. ConfigError if these configurations cannot race."""
    if config.race is None:
        return None
    racing = tuple(cell for cell in cells if not cell.spec.baseline)
    if len(racing) < 2:
        what = f"a race needs two systems, and this config has {'one' if racing else 'none'} besides baselines"
        raise ConfigError(what, "add one with --system, or remove `race`")
    if len({cell.dataset.digest for cell in cells}) > 1:
        raise ConfigError("a race needs one sample, and this config has several", "run a race for each of them")
    evaluator, measure = _measured(config, racing[0], plan)
    if evaluator.spec.roles:
        what = f"'{measure.name}' is judged by a model, and a race tests after every query"
        raise ConfigError(what, f"choose a metric that needs no judge: {_able(plan)}")
    margin = config.margin if config.race.margin is None else config.race.margin
    lowest = measure.ends[0] if measure.ends else 0.0
    if (span := _span(measure)) is None:
        what = f"'{measure.name}' has no known bounds, and the tests of a race need them"
        raise ConfigError(what, f"choose another metric: {_able(plan)}")
    rules = RaceRules(margin, config.race.alpha, span, measure.higher_is_better, lowest)
    return PlannedRace(racing, plan, evaluator, measure, rules)


def race_lines(config: BenchConfig, cells: Sequence[Cell]) -> list[str]:
    """The lines about the race in a plan, none without a race. ConfigError if these configurations cannot race."""
    return pace_lines(plan_race(config, cells, plan_evaluation(config)))


def pace_lines(race: PlannedRace | None) -> list[str]:
    """When the race ends, and the approximate number of queries; none without a race."""
    if race is None:
        return []
    rules, pace = race.rules, expected_pace(race.rules, len(race.cells))
    leaves = ", ".join(
        f"{100 * step:g} points {_queries_text(n)}" for step, n in pace.queries_until_elimination.items()
    )
    return [
        f"a race of {len(race.cells):,} systems by {race.measure.name} (alpha {rules.alpha:g}, over all pairs) "
        "tests after every query and ends when one is left, when all that are left are shown to be within "
        f"{rules.margin:g} points of each other, or after all {len(race.cells[0].dataset.queries):,} "
        "queries",
        f"queries needed, approximately: eliminating the worse of two systems, by difference: {leaves}; "
        f"showing that two equal systems are within {rules.margin:g} points: {_queries_text(pace.until_within)} "
        "(if two systems differ on "
        f"{100 * DISCORDANCE:g} % of the queries)",
    ]


def _queries_text(n: int | None) -> str:
    return "too many to run" if n is None else f"{rounded_up(n):,} queries"


def _measured(config: BenchConfig, cell: Cell, plan: EvaluationPlan) -> tuple[PlannedEvaluator, Measure]:
    name = config.measure or cell.dataset.primary_measure
    if not name:
        what = f"a race needs a metric, but neither the config nor {cell.dataset.name} sets one"
        raise ConfigError(what, f"add measure: one of {_able(plan)}")
    known = {one.name: (planned, one) for planned in plan.evaluators for one in planned.measures}
    if name not in known:
        what = f"'{name}' is not a metric of these evaluators, and a race needs its score after every query"
        raise ConfigError(what, f"{nearest(name, known)} (--measure, or add its evaluator to `evaluators`)")
    if not known[name][1].counts_failures:
        what = f"'{name}' leaves out failed queries, so that a system could win a race by failing"
        raise ConfigError(what, f"choose another metric: {_able(plan)}")
    return known[name]


def _span(measure: Measure) -> float | None:
    """The largest possible difference of two values; None if unknown or unbounded."""
    return span_between(measure.ends) if measure.ends else None


def _able(plan: EvaluationPlan) -> str:
    names = [
        measure.name
        for planned in plan.evaluators
        if not planned.spec.roles
        for measure in planned.measures
        if _span(measure) is not None and measure.failure_value is not None and measure.counts_failures
    ]
    return ", ".join(names[:8]) or "these evaluators have no such metric"
