"""What an evaluation will take, from earlier ones: the same evaluator, and contexts as long."""

from pathlib import Path

import pytest
from paired_runs import ScoredRun, write_run
from pydantic import JsonValue

from harness.core.records import Cost, EvaluationRecord, Usage
from harness.runner.estimating.earlier_runs import EarlierRuns

JUDGE: dict[str, JsonValue] = {"provider": "fake", "model": "fake"}


def judged(system: str, version: str, calls: int) -> ScoredRun:
    cost = Cost(wall_s=1.0, usage={"judge": Usage(calls=calls)})
    made = EvaluationRecord(evaluator="mine", version=version, models={"judge": JUDGE}, cost=cost)
    return ScoredRun(system=system, scores={"grade": [1.0] * int(version)}, evaluator=made)


@pytest.mark.parametrize(("system", "calls"), [("long", [20]), ("short", [5]), ("other", [5, 20])])
def test_calls_are_those_of_the_same_system_whose_contexts_take_as_many_windows(
    tmp_path: Path, system: str, calls: list[int]
) -> None:
    for plan in (judged("long", "2", 20), judged("short", "2", 5), judged("long", "1", 1)):
        write_run(tmp_path / plan.evaluator.version, plan)
    for folder in ("1", "2"):
        for run in (tmp_path / folder).glob("*"):
            run.rename(tmp_path / f"{run.name}-{folder}")

    def closeness(record: EvaluationRecord, own: str) -> int:
        return 2 * (record.version == "2") + (own == system)

    found = EarlierRuns(tmp_path).judged("mine", {"judge": JUDGE}, closeness)
    assert sorted(record.cost.usage["judge"].calls for record, _ in found) == calls
