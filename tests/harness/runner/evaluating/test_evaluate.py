"""Evaluators over run directories: judgements journaled and paid once, failures said, scores byte for byte."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from grading import GRADE, GRADER, Grader, fake_judge, graded_run, plan_with
from journals import usage_by_role
from paired_runs import close_again
from serving import serving

from harness.config import BenchConfig, JudgeConfig
from harness.config.load import build_config
from harness.core.errors import ConfigError, MissingDependency
from harness.core.records import Cost
from harness.evaluators.answer import SPEC as ANSWER
from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer
from harness.models.providers import resolve_generator
from harness.protocols import EvaluationRuntime, EvaluatorSpec, Params
from harness.runner.evaluating.evaluate import EvaluationOutcome, evaluate_runs
from harness.runner.evaluating.plan import EvaluationPlan, plan_evaluation
from harness.runner.progress import Reporter
from harness.store import Done, RunDir

MakeRun = Callable[..., RunDir]
Evaluate = Callable[..., EvaluationOutcome]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def make_run(results: Path) -> MakeRun:
    """make_run("naive", ["Paris", "Rome"]): one query for each answer; None has no record yet."""

    return partial(graded_run, results)


@pytest.fixture
def evaluate(results: Path) -> Evaluate:
    def run(runs: Sequence[RunDir], plan: EvaluationPlan) -> EvaluationOutcome:
        return evaluate_runs(runs, plan, results, Reporter(quiet=True))

    return run


def files(run: RunDir, evaluator: str = "grader") -> bytes:
    return (run.path / "scores" / f"{evaluator}.jsonl").read_bytes()


def cost_of(run: RunDir) -> Cost:
    (found,) = (one for one in run.evaluations() if one.evaluator == "grader")
    return found.cost


def test_equal_texts_are_judged_and_paid_once(make_run: MakeRun, evaluate: Evaluate, results: Path) -> None:
    first, second = make_run("naive", ["Paris", "Rome"]), make_run("kg", ["Rome", "Oslo"])
    evaluate([first, second], plan_with(fake_judge(reply="0.5"), GRADER))
    # Three texts; one call for the grade, two for the doubt, since a block that asks twice means two answers.
    assert usage_by_role(results / "judge" / "calls.sqlite")["judge"].calls == 9
    assert (cost_of(first).usage["judge"].calls, cost_of(first).replayed_calls) == (6, 0)
    assert (cost_of(second).usage["judge"].calls, cost_of(second).replayed_calls) == (6, 3)
    assert cost_of(second).replayed_from[first.run_id]["judge"].calls == 3
    # Equal texts that are asked for at once are paid once, too.
    evaluate([make_run("hyde", ["Bonn"] * 8)], plan_with(fake_judge(reply="0.5", latency_s=0.02), GRADER))
    assert usage_by_role(results / "judge" / "calls.sqlite")["judge"].calls == 12


class ShownBar(Reporter):
    """One bar; what it showed: (done, total, note)."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.shown: list[tuple[int, int, str]] = []

    @contextmanager
    def bar(self, _label: str) -> Iterator["ShownBar"]:
        yield self

    def update(self, done: int, total: int, note: str = "", most_s: float | None = None) -> None:
        self.shown.append((done, total, note))


def test_the_bar_of_an_evaluator_tells_which_of_several_runs_it_scores(make_run: MakeRun, results: Path) -> None:
    runs, bar = [make_run("naive", ["Paris"]), make_run("kg", ["Rome"])], ShownBar()
    evaluate_runs(runs, plan_with(fake_judge(reply="0.5"), GRADER), results, bar)
    assert [one for one in bar.shown if one[2] == "runs scored"] == [(0, 2, "runs scored"), (1, 2, "runs scored")]
    assert {re.sub(r".*(run \d of \d).*", r"\1", note) for _, _, note in bar.shown} == {
        "runs scored",
        "run 1 of 2",
        "run 2 of 2",
    }
    alone = ShownBar()
    evaluate_runs(runs[:1], plan_with(fake_judge(reply="0.5"), GRADER), results, alone)
    assert not [note for _, _, note in alone.shown if "run 1" in note]


def test_evaluating_again_pays_and_changes_nothing(make_run: MakeRun, evaluate: Evaluate, results: Path) -> None:
    first, second = make_run("naive", ["Paris", "Rome"]), make_run("kg", ["Rome", "Oslo"])
    plan = plan_with(fake_judge(replies={"Rome": "0.25", "Paris": "1", "Oslo": "0"}), GRADER, ANSWER)
    evaluate([first, second], plan)
    before = [files(first), files(second), files(first, "answer")]
    evaluate([second, first], EvaluationPlan(plan.evaluators[::-1], plan.judge, plan.embedder, plan.models))
    assert [files(first), files(second), files(first, "answer")] == before
    assert usage_by_role(results / "judge" / "calls.sqlite")["judge"].calls == 9
    assert cost_of(first).usage == {"judge": cost_of(first).usage["judge"]}
    assert cost_of(first).replayed_calls == 6


def test_parameters_that_a_judge_refuses_are_part_of_its_identity(make_run: MakeRun, evaluate: Evaluate) -> None:
    # Two runs that were judged so and otherwise are not comparable, though one config asked for both.
    run = make_run("naive", ["Paris"])
    with serving(FakeServer(FakeScript(reply="0.5", refuses=("temperature",)))) as server:
        judge = JudgeConfig(provider="openai-compatible", base_url=server.base_url, model="m")
        for _ in range(2):
            evaluate([run], plan_with(judge, GRADER))
            (made,) = run.evaluations()
            assert made.models["judge"]["left_out"] == ["temperature=0.0"]
    assert server.model.served["faults"] == 1


def test_settings_and_cost_of_an_evaluation_are_saved_with_it(make_run: MakeRun, evaluate: Evaluate) -> None:
    run = make_run("naive", ["Paris"])
    records = (run.path / "records.jsonl").read_bytes()
    evaluate([run], plan_with(fake_judge(reply="0.5"), GRADER, ANSWER))
    answer, grader = RunDir(run.path).evaluations()
    assert (answer.evaluator, answer.models, answer.cost.usage) == ("answer", {}, {})
    assert grader.models["judge"]["provider"] == "fake"
    assert (grader.version, grader.measures) == ("1", ("grade", "doubt"))
    assert (run.path / "records.jsonl").read_bytes() == records
    assert not run.journal_path.exists()


def test_unanswered_queries_are_missing_and_not_failed(make_run: MakeRun, evaluate: Evaluate) -> None:
    run = make_run("naive", ["Paris", None])
    (answered,) = evaluate([run], plan_with(fake_judge(), ANSWER)).evaluated
    statuses = {score.query_id: score.status for score in run.scores() if score.measure == "accuracy"}
    assert statuses == {"q0": "scored", "q1": "missing"}
    assert (answered.n_failed, answered.reason) == (0, "")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I would say a half", "ValueError: could not convert string to float"),
        ("7", "the value 7 is not within 0 and 1"),
        ("nan", "ValidationError"),
    ],
)
def test_garbage_fails_only_that_score(make_run: MakeRun, evaluate: Evaluate, reply: str, reason: str) -> None:
    run = make_run("naive", ["Paris", "Rome"])
    plan = plan_with(fake_judge(replies={"Rome": reply}, reply="1"), GRADER, ANSWER)
    outcome = evaluate([run], plan)
    grades = [score for score in run.scores() if score.measure == "grade"]
    assert [score.status for score in grades] == ["scored", "failed"]
    assert reason in grades[1].explanation
    assert [(one.evaluator, one.n_failed) for one in outcome.evaluated] == [("grader", 2), ("answer", 0)]
    assert len([score for score in run.scores() if score.measure == "accuracy"]) == 2


def test_a_judge_that_is_down_fails_only_what_it_has_not_judged(make_run: MakeRun, evaluate: Evaluate) -> None:
    run, other = make_run("naive", ["Paris", "Rome"]), make_run("kg", ["Paris"])
    url = "http://127.0.0.1:9/v1"
    judge = JudgeConfig(provider="openai-compatible", model="m", base_url=url, max_retries=0)
    outcome = evaluate([run], plan_with(judge, GRADER, ANSWER))
    grades = [score for score in run.scores() if score.measure == "grade"]
    assert {score.status for score in grades} == {"failed"}
    assert all("cannot reach the judge at http://127.0.0.1:9/v1" in score.explanation for score in grades)
    assert outcome.evaluated[0].n_failed == 4
    assert [score.value for score in run.scores() if score.measure == "accuracy"] == [1.0, 0.0]
    plan = plan_with(fake_judge(reply="0.5"), GRADER)
    evaluate([other], plan)
    before = files(other)
    # The same identity: only the server's mood differs.
    down = plan.judge.model_copy(update={"options": {"fault": "http_401"}})
    evaluate([other], EvaluationPlan(plan.evaluators, down, plan.embedder, plan.models))
    assert files(other) == before


def test_an_evaluator_that_cannot_run_does_not_stop_others(make_run: MakeRun, evaluate: Evaluate) -> None:
    def build(_params: Params, _runtime: EvaluationRuntime) -> Grader:
        raise MissingDependency("no torch", "install it")

    broken = EvaluatorSpec("broken", "1", "", Params, lambda _params: (GRADE,), build)
    run = make_run("naive", ["Paris"])
    outcome = evaluate([run], plan_with(fake_judge(), broken, ANSWER))
    assert [(name, str(error)) for name, error in outcome.refusals] == [("broken", "no torch: install it")]
    assert [one.evaluator for one in outcome.evaluated] == ["answer"]


@pytest.mark.parametrize(
    ("tree", "complaint"),
    [
        ({"evaluators": ["answr"]}, "unknown evaluator 'answr': did you mean 'answer'?"),
        ({"per_evaluator": {"answr": {}}}, "unknown evaluator 'answr': did you mean 'answer'?"),
        ({"per_evaluator": {"answer": {"top": 1}}}, "unknown key 'per_evaluator.answer.top'"),
        (
            {"evaluators": ["ragas"], "models": {"judge": {"provider": "none"}}},
            "ragas: models.judge.provider is none",
        ),
        ({"models": {"judge": {"provider": "opnai"}}}, "unknown judge provider 'opnai': did you mean 'openai'?"),
    ],
)
def test_mistakes_in_evaluators_are_one_line(tree: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        plan_evaluation(build_config(tree))
    assert str(caught.value).startswith(complaint)


def test_the_local_judge_is_the_larger_model_unless_named_and_no_judge_names_no_models() -> None:
    assert resolve_generator(JudgeConfig()).model == "qwen2.5-coder-1.5b"
    assert resolve_generator(JudgeConfig(model="qwen2.5-coder-0.5b")).model == "qwen2.5-coder-0.5b"
    plan = plan_evaluation(BenchConfig(evaluators=("answer",)))
    assert (plan.models, plan.needs("judge")) == ({}, False)


def test_final_scores_without_a_model_are_kept_on_request(make_run: MakeRun, results: Path) -> None:
    run = make_run("naive", ["Paris", "Rome"])
    run.mark_done(Done(n_expected=2, n_ok=2, n_error=0, finished_at="2026-11-26"))
    plan = plan_evaluation(BenchConfig(evaluators=("answer",)))
    score = partial(evaluate_runs, [run], plan, results, Reporter(quiet=True), keep_final=True)
    path = run.path / "scores" / "answer.json"
    score()
    first = path.stat().st_mtime_ns
    score()
    assert path.stat().st_mtime_ns == first
    # Another attempt changes the records.
    changed = next(iter(run.records().values())).model_copy(update={"attempt": 2})
    close_again(run, changed)
    score()
    assert path.stat().st_mtime_ns != first
