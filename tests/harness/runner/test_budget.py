"""A budget over runs: what counts, what is refused, and how judgements stop."""

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from grading import GRADE, GRADER, Grader, fake_judge, plan_with
from journals import usage_by_role
from paired_runs import ScoredRun, write_run

from harness.config import BudgetConfig
from harness.core.errors import BudgetExhausted, ConfigError
from harness.core.records import Cost, Usage
from harness.evaluators.answer import SPEC as ANSWER
from harness.models.budget import Amount
from harness.protocols import EvaluatorSpec, Measure, Message, ScoringInput
from harness.runner.budget_tracker import BudgetTracker, CostOwner
from harness.runner.costs import cost_together
from harness.runner.evaluating.evaluate import EvaluationOutcome, evaluate_runs
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.progress import Reporter
from harness.statistics.prices import Price, Prices
from harness.store import CallKey, Journal, RunDir, StoredCall

PRICED = {"as_of": date(2026, 1, 1), "source": "test"}
PRICES = Prices(
    (
        Price(provider="openai", model="gpt-4o-mini", input=1.0, output=2.0, **PRICED),
        Price(provider="fake", model="*", input=3.0, output=100.0, **PRICED),
    )
)


class OneCall(Grader):
    """Asks the judge once for each query."""

    async def _grade(self, case: ScoringInput, measure: Measure) -> tuple[float, str]:
        reply = await self._judge.complete([Message("user", f"Grade {case.record.query_id}.")])
        return float(reply), reply


class Tolerant(OneCall):
    """Makes a failed score of whatever goes wrong."""

    async def _grade(self, case: ScoringInput, measure: Measure) -> tuple[float, str]:
        try:
            return await super()._grade(case, measure)
        except BudgetExhausted as error:
            raise ValueError("no reply") from error


def graded_by(grader: type[Grader], *others: EvaluatorSpec) -> EvaluationPlan:
    spec = replace(GRADER, measures=lambda _params: (GRADE,), build=grader)
    return plan_with(fake_judge(reply="0.5").model_copy(update={"max_tokens": 10}), spec, *others)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


def make_run(results: Path, n: int = 10, system: str = "naive") -> RunDir:
    return write_run(results, ScoredRun(system=system, scores={"accuracy": [1.0] * n}))


def spending(
    results: Path, runs: Sequence[RunDir], budget: BudgetConfig, plan: EvaluationPlan | None = None
) -> BudgetTracker:
    plan = plan or graded_by(OneCall)
    payers = [CostOwner.of(run, run.manifest().identity["models"], plan) for run in runs]
    return BudgetTracker(budget, PRICES, results, payers)


def evaluate(results: Path, runs: Sequence[RunDir], plan: EvaluationPlan, **limits: Any) -> EvaluationOutcome:
    budget = spending(results, runs, BudgetConfig(**limits), plan)
    return evaluate_runs(runs, plan, results, Reporter(quiet=True), budget)


def pay(path: Path, payer: str, role: str, usage: Usage, scope: str = "index") -> None:
    with closing(Journal(path, payer=payer, shared=True)) as journal:
        journal.add(CallKey(scope, role, "d", 0), StoredCall("m", b"", b"", usage, 0.0, ""))


def test_answers_indexes_and_judgements_count_for_the_run_that_paid_them(results: Path) -> None:
    run, other = make_run(results), make_run(results, system="kg")
    usage = Usage(calls=1, input_tokens=100, output_tokens=10)
    pay(run.journal_path, run.run_id, "generator", usage)
    pay(results / "indexes" / "calls.sqlite", run.run_id, "generator", usage)
    pay(results / "judge" / "calls.sqlite", run.run_id, "judge", usage)
    pay(results / "judge" / "calls.sqlite", "a-run-of-another-config", "judge", usage, scope="else")
    budget = BudgetConfig(usd=1, tokens=1000)
    # 2 x (100 x 1 + 10 x 2) + 100 x 3 + 10 x 100 dollars a million.
    assert spending(results, [run], budget).spent().usd == pytest.approx(1540e-6)
    assert spending(results, [run], budget).spent().tokens == 330
    assert spending(results, [run, other], budget).spent().tokens == 330
    assert spending(results, [other], budget).spent() == Amount()


def test_what_is_left_is_what_was_not_spent_and_nothing_begins_where_nothing_is_left(results: Path) -> None:
    run = make_run(results)
    pay(run.journal_path, run.run_id, "generator", Usage(calls=1, input_tokens=100))
    some = spending(results, [run], BudgetConfig(tokens=150))
    some.check()
    assert some.allowance().tokens == 50
    with pytest.raises(BudgetExhausted, match=r"budget\.tokens is exhausted"):
        spending(results, [run], BudgetConfig(tokens=100)).check()
    with pytest.raises(BudgetExhausted, match=r"budget\.usd is exhausted"):
        spending(results, [run], BudgetConfig(usd=100e-6)).check()


def test_the_way_on_has_room_for_the_call_that_did_not_fit(results: Path) -> None:
    both = spending(results, [make_run(results)], BudgetConfig(usd=0.01, tokens=100))
    reached = BudgetExhausted("too much", usd=0.0377, tokens=90)
    assert both.flags_for_larger(reached) == "--set budget.usd=0.038 --set budget.tokens=200"
    assert both.report() == "$0.0000 of $0.01, 0 of 100 tokens"


def test_dollars_cannot_be_limited_where_a_model_has_no_price(results: Path) -> None:
    models = {"generator": {"provider": "openai", "model": "gpt-9"}, "embedder": {"provider": "none"}}
    limited = spending(results, [], BudgetConfig(usd=1))
    with pytest.raises(ConfigError, match="generator openai/gpt-9 has no price"):
        limited.check_prices(models)
    limited.check_prices({"embedder": {"provider": "none"}, "judge": {"provider": "fake", "model": "fake"}})
    spending(results, [], BudgetConfig(tokens=1)).check_prices(models)


def test_dollars_cannot_be_limited_where_a_model_without_a_price_was_paid(results: Path) -> None:
    run = make_run(results)
    pay(run.journal_path, run.run_id, "unknown", Usage(calls=1, input_tokens=1))
    with pytest.raises(ConfigError, match="unknown that has no price"):
        spending(results, [run], BudgetConfig(usd=1)).spent()


def judged(results: Path) -> int:
    return usage_by_role(results / "judge" / "calls.sqlite").get("judge", Usage()).calls


@pytest.mark.parametrize("grader", [OneCall, Tolerant])
def test_a_judge_stops_before_the_budget_and_leaves_no_failed_scores(results: Path, grader: type[Grader]) -> None:
    run, plan = make_run(results), graded_by(grader, ANSWER)
    outcome = evaluate(results, [run], plan, tokens=160)
    assert isinstance(outcome.stopped, BudgetExhausted)
    assert 0 < judged(results) < 10
    assert spending(results, [run], BudgetConfig(tokens=160)).spent().tokens <= 250
    assert not (run.path / "scores" / "grader.jsonl").exists()
    assert [one.evaluator for one in outcome.evaluated] == ["answer"]


def test_a_larger_budget_pays_only_what_was_not_judged(results: Path) -> None:
    run, plan = make_run(results), graded_by(OneCall)
    evaluate(results, [run], plan, usd=0.002)
    first = judged(results)
    assert 0 < first < 10
    assert evaluate(results, [run], plan, usd=0.002).stopped
    assert judged(results) == first
    assert evaluate(results, [run], plan, usd=1).stopped is None
    assert judged(results) == 10
    assert [score.value for score in run.scores() if score.measure == "grade"] == [0.5] * 10
    before = (run.path / "scores" / "grader.jsonl").read_bytes()
    assert evaluate(results, [run], plan, tokens=1).stopped is None, "it is all in the journal"
    assert (run.path / "scores" / "grader.jsonl").read_bytes() == before


def test_one_budget_is_shared_by_all_runs_and_evaluators(results: Path) -> None:
    runs = [make_run(results, n=8), make_run(results, n=20, system="kg")]
    plan = graded_by(OneCall)
    outcome = evaluate(results, runs, plan, tokens=220)
    assert outcome.stopped
    assert spending(results, runs, BudgetConfig(tokens=220)).spent().tokens <= 300
    assert (runs[0].path / "scores" / "grader.jsonl").exists()
    assert not (runs[1].path / "scores" / "grader.jsonl").exists()


def test_no_judgement_is_begun_after_the_time(results: Path) -> None:
    run, plan = make_run(results), graded_by(OneCall)
    began = time.monotonic()
    budget = BudgetTracker(BudgetConfig(minutes=0.01), PRICES, results, [], began - 10)
    outcome = evaluate_runs([run], plan, results, Reporter(quiet=True), budget)
    assert str(outcome.stopped) == "the time is over"
    assert (judged(results), budget.flags_for_larger(BudgetExhausted(""))) == (0, "")


def test_what_is_fetched_first_takes_none_of_the_minutes(results: Path) -> None:
    budget = BudgetTracker(BudgetConfig(minutes=0.02), PRICES, results, [])
    with budget.paused():
        time.sleep(1.3)
    budget.check()
    assert not budget.time_is_over


def test_calls_that_were_cut_off_or_damaged_count_as_their_upper_bound(results: Path) -> None:
    run, said = make_run(results), list[str]()
    used = Usage(calls=1, input_tokens=100, output_tokens=10)
    with closing(Journal(run.journal_path, payer=run.run_id)) as journal:
        journal.reserve("generator", Usage(calls=1, input_tokens=500, output_tokens=50))
        assert spending(results, [run], BudgetConfig(tokens=1000)).spent().tokens == 550
        journal.add(CallKey("index", "generator", "d", 0), StoredCall("m", b"q" * 500, b"r" * 90, used, 0.0, ""))
    with closing(sqlite3.connect(run.journal_path)) as db:
        db.execute("UPDATE calls SET input_tokens = 1")
        db.commit()
    payers = [CostOwner.of(run, run.manifest().identity["models"], graded_by(OneCall))]
    budget = BudgetTracker(BudgetConfig(tokens=1100), PRICES, results, payers, warn=said.append)
    for _ in range(2):
        with pytest.raises(BudgetExhausted, match=r"budget\.tokens is exhausted"):
            budget.check()
    assert budget.spent().tokens == 550 + 590
    (line,) = said
    assert "damaged calls: 1" in line


def test_what_no_process_measured_is_unknown_in_a_sum_of_costs_and_not_zero() -> None:
    unmeasured, measured = Cost(wall_s=1.0), Cost(wall_s=1.0, cpu_s=2.0, peak_rss_bytes=5)
    together = [cost_together(costs, 1.0) for costs in ([unmeasured] * 2, [measured, unmeasured], [measured] * 2)]
    assert [cost.peak_rss_bytes for cost in together] == [None, 5, 5]
    assert [cost.cpu_s for cost in together] == [None, None, 4.0]
