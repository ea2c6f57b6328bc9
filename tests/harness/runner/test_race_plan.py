"""By which measures a race can be held, and which it is told to take instead."""

from dataclasses import replace
from typing import Any

import pytest

from harness.config import BenchConfig
from harness.core.errors import ConfigError
from harness.protocols import Measure
from harness.runner.evaluating.plan import EvaluationPlan, plan_evaluation
from harness.runner.plan import plan_cells
from harness.runner.race_plan import plan_race


def config(measure: str) -> BenchConfig:
    tree: dict[str, Any] = {
        "systems": ["naive"],
        "dataset": {"name": "demo", "sample": {"per_type": 2}},
        "models": {"generator": {"provider": "fake"}, "embedder": {"provider": "fake"}},
        "matrix": {"answer.top_k": [1, 4]},
        "evaluators": ["retrieval"],
        "measure": measure,
        "race": {},
    }
    return BenchConfig.model_validate(tree)


def only(plan: EvaluationPlan, *names: str) -> EvaluationPlan:
    """The plan whose evaluator measures nothing but those."""
    (planned,) = plan.evaluators
    kept: tuple[Measure, ...] = tuple(one for one in planned.measures if one.name in names)
    assert len(kept) == len(names)
    spec = replace(planned.spec, measures=lambda _: kept)
    return replace(plan, evaluators=(replace(planned, spec=spec),))


@pytest.mark.parametrize("measure", ["map_compat@10", "documents_named", "contexts_shown"])
def test_no_race_is_held_by_a_measure_without_an_upper_end_nor_is_one_told_to_take_it(measure: str) -> None:
    """Each difference would be 0 of what can be, and the first system named would win."""
    chosen = config(measure)
    plan = only(plan_evaluation(chosen), *{measure, "map_compat@10", "mrr_compat@10", "hits_compat@10"})
    with pytest.raises(ConfigError, match=f"'{measure}' has no known bounds") as refused:
        plan_race(chosen, plan_cells(chosen), plan)
    assert refused.value.fix.endswith(": hits_compat@10, mrr_compat@10")


def test_a_race_counts_differences_as_parts_of_the_largest_that_can_be() -> None:
    chosen = config("mrr_compat@10")
    plan = plan_evaluation(chosen)
    (planned,) = plan.evaluators
    wide = tuple(replace(one, range=(-1.0, 3.0)) if "mrr" in one.name else one for one in planned.measures)
    wider = replace(plan, evaluators=(replace(planned, spec=replace(planned.spec, measures=lambda _: wide)),))
    for given, span in ((plan, 1.0), (wider, 4.0)):
        race = plan_race(chosen, plan_cells(chosen), given)
        assert race is not None
        assert race.rules.span == span
