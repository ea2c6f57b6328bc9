"""Evaluators over workers on other machines: the scores of one here, whichever is lost; no call paid twice."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from grading import GRADER, Grader, fake_judge, graded_run, plan_with
from journals import usage_by_role
from workers_in_threads import Machines, losing_at

from harness.config.schema import BudgetConfig
from harness.core.records import EvaluationRecord
from harness.evaluators.answer import SPEC as ANSWER
from harness.extensions.ray.spread_scoring import SpreadScoring
from harness.protocols import EvaluatorSpec
from harness.runner.budget_tracker import BudgetTracker, CostOwner
from harness.runner.evaluating.evaluate import EvaluationOutcome, evaluate_runs
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.executing.messages import AnswersScored, CallRequested, WaitingForTurn, WorkerMessage
from harness.runner.progress import Reporter
from harness.statistics.prices import Prices
from harness.store import RunDir

REPLIES = {"Paris": "1", "Rome": "0.25", "Oslo": "0", "Bern": "0.5"}
ANSWERS: list[str | None] = [*REPLIES, *REPLIES, None, *REPLIES, *REPLIES, "Rome"]
Scored = tuple[EvaluationOutcome, list[str]]


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[[EvaluatorSpec], None]:
    """known(spec): what a worker finds by its name from now on."""

    def know(spec: EvaluatorSpec) -> None:
        monkeypatch.setattr(
            "harness.runner.executing.remote_workers.EVALUATORS", SimpleNamespace(load=lambda _name: spec)
        )

    know(GRADER)
    return know


def scored_elsewhere(
    results: Path,
    runs: list[RunDir],
    plan: EvaluationPlan,
    machines: Machines,
    spending: BudgetTracker | None = None,
) -> Scored:
    warned: list[str] = []
    elsewhere = SpreadScoring(plan, results, machines.start, 3, warned.append)
    return evaluate_runs(runs, plan, results, Reporter(quiet=True), spending, elsewhere), warned


def judging(**options: Any) -> EvaluationPlan:
    return plan_with(fake_judge(replies=REPLIES, **options), GRADER)


def calls(results: Path) -> int:
    return usage_by_role(results / "judge" / "calls.sqlite")["judge"].calls


def scores(run: RunDir) -> bytes:
    return (run.path / "scores" / "grader.jsonl").read_bytes()


def record(run: RunDir) -> EvaluationRecord:
    (found,) = run.evaluations()
    return found


def test_scores_of_workers_elsewhere_are_those_of_this_process(tmp_path: Path) -> None:
    here, there = (graded_run(tmp_path / name, "naive", ANSWERS) for name in ("here", "there"))
    evaluate_runs([here], judging(), tmp_path / "here", Reporter(quiet=True))
    machines = Machines()
    outcome, warned = scored_elsewhere(tmp_path / "there", [there], judging(), machines)
    assert (outcome.refusals, warned) == ((), [])
    assert len(machines.started) == 3
    assert scores(there) == scores(here)
    # Four texts: one call for the grade, two for the doubt, whichever workers ask.
    assert calls(tmp_path / "there") == calls(tmp_path / "here") == 12
    ours, theirs = record(here), record(there)
    assert theirs.cost.usage == ours.cost.usage
    assert theirs.cost.replayed_calls == ours.cost.replayed_calls
    assert (theirs.measures, theirs.models, theirs.params) == (ours.measures, ours.models, ours.params)


def test_workers_stay_from_run_to_run_and_each_run_pays_for_its_own(tmp_path: Path) -> None:
    first, second = graded_run(tmp_path, "naive", ["Paris"] * 12), graded_run(tmp_path, "kg", ["Oslo"] * 12)
    machines = Machines()
    scored_elsewhere(tmp_path, [first, second], judging(), machines)
    assert len(machines.started) == 3
    assert record(second).cost.usage["judge"].calls == 36
    assert record(second).cost.replayed_from.keys() == {second.run_id}


@pytest.mark.parametrize(
    ("number", "kind"), [(1, CallRequested), (7, CallRequested), (1, AnswersScored), (2, WaitingForTurn)]
)
def test_a_worker_that_is_lost_costs_no_score_and_no_judgement_twice(
    tmp_path: Path, number: int, kind: type[WorkerMessage]
) -> None:
    run, machines = graded_run(tmp_path, "naive", ANSWERS), Machines(losing_at(number, kind))
    outcome, warned = scored_elsewhere(tmp_path, [run], judging(latency_s=0.01), machines)
    assert outcome.refusals == ()
    assert sum(one.is_lost for one in machines.started) == 1
    assert kind is WaitingForTurn or any("was lost" in line for line in warned)
    assert calls(tmp_path) == 12
    whole = graded_run(tmp_path / "whole", "naive", ANSWERS)
    evaluate_runs([whole], judging(), tmp_path / "whole", Reporter(quiet=True))
    assert scores(run) == scores(whole)


def test_machines_that_are_all_lost_are_one_line_and_the_run_keeps_its_scores(tmp_path: Path) -> None:
    run = graded_run(tmp_path, "naive", ANSWERS)
    scored_elsewhere(tmp_path, [run], judging(), Machines())
    before = scores(run)
    machines = Machines(lambda worker, event: worker.lose() if isinstance(event, CallRequested) else None)
    outcome, _ = scored_elsewhere(tmp_path, [run], judging(), machines)
    ((name, error),) = outcome.refusals
    assert name == "grader" and "was lost" in error.what and "it resumes" in error.fix
    assert scores(run) == before
    # An evaluator without a model needs no machine.
    n_started = len(machines.started)
    scored_elsewhere(tmp_path, [run], plan_with(fake_judge(), ANSWER), machines)
    assert (len(machines.started), len(run.evaluations())) == (n_started, 2)


def test_a_budget_that_is_reached_elsewhere_is_kept_and_nothing_is_written(tmp_path: Path) -> None:
    run, plan = graded_run(tmp_path, "naive", ANSWERS), judging()
    budget = BudgetConfig(tokens=1200)
    spending = BudgetTracker(budget, Prices(()), tmp_path, [CostOwner.of(run, {}, plan)])
    outcome, _ = scored_elsewhere(tmp_path, [run], plan, Machines(), spending)
    assert outcome.stopped is not None
    assert run.evaluations() == []
    used = usage_by_role(tmp_path / "judge" / "calls.sqlite")["judge"]
    assert used.input_tokens + used.output_tokens <= 1200


def test_another_version_of_an_evaluator_there_is_one_line(
    tmp_path: Path, known: Callable[[EvaluatorSpec], None]
) -> None:
    known(replace(GRADER, version="2"))
    run = graded_run(tmp_path, "naive", ANSWERS)
    outcome, _ = scored_elsewhere(tmp_path, [run], judging(), Machines())
    ((_, error),) = outcome.refusals
    assert error.what == "evaluator 'grader' has version 2 on the worker, but 1 in the plan"
    assert run.evaluations() == []


def test_an_evaluator_that_breaks_for_one_answer_fails_its_scores_alone(
    tmp_path: Path, known: Callable[[EvaluatorSpec], None]
) -> None:
    class Choosy(Grader):
        async def evaluate(self, cases: Any) -> Any:
            if any(case.prediction.answer == "Rome" for case in cases):
                raise ValueError("not Rome")
            return await super().evaluate(cases)

    spec = replace(GRADER, build=Choosy)
    known(spec)
    run = graded_run(tmp_path, "naive", ANSWERS)
    scored_elsewhere(tmp_path, [run], plan_with(fake_judge(replies=REPLIES), spec), Machines())
    failed = [score for score in run.scores() if score.status == "failed"]
    assert len(failed) == 2 * ANSWERS.count("Rome")
    assert {score.explanation for score in failed} == {"ValueError: not Rome"}
