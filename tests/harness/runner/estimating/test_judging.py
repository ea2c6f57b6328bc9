"""What an evaluation will take, from earlier ones: the same evaluator, and contexts as long."""

from dataclasses import replace
from pathlib import Path

import pytest
from paired_runs import ScoredRun, write_run
from pydantic import JsonValue

from harness.core.records import Cost, EvaluationRecord, Usage
from harness.protocols import Params
from harness.registry import EVALUATORS
from harness.runner.estimating.earlier_runs import EarlierRuns
from harness.runner.evaluating.plan import PlannedEvaluator
from harness.statistics.estimate import Rates, Task, predict

JUDGE: dict[str, JsonValue] = {"provider": "fake", "model": "fake"}


def judged(system: str, version: str, calls: int) -> ScoredRun:
    cost = Cost(wall_s=1.0, usage={"judge": Usage(calls=calls)})
    made = EvaluationRecord(evaluator="mine", version=version, models={"judge": JUDGE}, cost=cost)
    return ScoredRun(system=system, scores={"grade": [1.0] * int(version)}, evaluator=made)


@pytest.mark.parametrize(("system", "calls"), [("long", 20), ("short", 5), ("other", 12.5)])
def test_calls_are_those_of_the_same_system_whose_contexts_take_as_many_windows(
    tmp_path: Path, system: str, calls: float
) -> None:
    for plan in (judged("long", "2", 20), judged("short", "2", 5), judged("long", "1", 1)):
        write_run(tmp_path / plan.evaluator.version, plan)
    for folder in ("1", "2"):
        for run in (tmp_path / folder).glob("*"):
            run.rename(tmp_path / f"{run.name}-{folder}")
    spec = replace(EVALUATORS.load("answer"), name="mine", version="2", params=Params)
    planned = PlannedEvaluator(spec, Params())
    earlier = EarlierRuns(tmp_path).judged(planned, system, {"judge": JUDGE})
    task = Task(units=2, work=None, rates=Rates(), earlier=earlier, price=lambda _: 0.0, embedder_is_metered=True)
    assert predict(task).calls == calls
