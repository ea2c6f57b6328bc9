"""A worker killed while it writes records: what it wrote counts, and nothing is written into a torn line."""

from collections.abc import Sequence
from pathlib import Path

from harness.config import BenchConfig
from harness.core.records import Cost, Prediction, RunRecord
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.executing.execute import open_run
from harness.runner.executing.messages import QueryTask
from harness.runner.executing.phases import Execution, OnEvent, ProgressCounter
from harness.runner.executing.worker_supervisor import WorkerEnd
from harness.runner.plan import plan_cells
from harness.runner.progress import Reporter


def execution(results: Path) -> Execution:
    models = {"generator": {"provider": "fake"}, "embedder": {"provider": "fake"}}
    dataset = {"name": "demo", "sample": {"per_type": 2}}
    (cell,) = plan_cells(
        BenchConfig.model_validate({"systems": ["closed-book"], "dataset": dataset, "models": models})
    )
    reporter, spending = Reporter(quiet=True), BudgetTracker.unlimited()
    return Execution(cell, open_run(cell, results, reporter.warn), results, reporter, spending, 0, None)


def test_who_is_killed_for_one_query_has_answered_what_its_records_say(tmp_path: Path) -> None:
    going = execution(tmp_path)
    todo = [QueryTask(query_id=query.query_id, repeat=0, attempt=1) for query in going.cell.dataset.queries[:3]]
    answered, blocking, torn = todo
    asked: list[Sequence[QueryTask]] = []

    def ask(pending: Sequence[QueryTask], _on_event: OnEvent) -> WorkerEnd:
        asked.append(list(pending))
        if len(asked) > 1:
            going.run.append_records([record(one) for one in pending])
            return WorkerEnd(completed=True)
        # It was killed before it could tell of the first, and while it wrote the third.
        going.run.append_records([record(answered)])
        with (going.run.path / "records.jsonl").open("ab") as file:
            file.write(record(torn).model_dump_json().encode()[:40])
        return WorkerEnd(completed=False, overdue=[answered, blocking])

    with going.reporter.bar("answer") as bar:
        going.work_through(todo, ProgressCounter(bar, going.spending, 0, len(todo)), ask)
    assert asked == [todo, [torn]]
    assert {name: one.status for (name, _), one in going.run.records().items()} == {
        answered.query_id: "ok",
        blocking.query_id: "timeout",
        torn.query_id: "ok",
    }


def record(todo: QueryTask) -> RunRecord:
    return RunRecord(
        query_id=todo.query_id,
        repeat=todo.repeat,
        status="ok",
        prediction=Prediction(answer="Yes"),
        cost=Cost(wall_s=1.0),
        attempt=todo.attempt,
        started_at="2026-01-01T00:00:00+00:00",
    )
