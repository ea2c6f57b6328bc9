"""Judgements side by side: what becomes of whatever a judge function returns or raises."""

import asyncio

import pytest
from scoring import BareEvaluation, record, reference

from harness.core.errors import ModelUnavailable, StoreError
from harness.core.records import Query, Score
from harness.evaluators.judge_calls import Judgement, NotApplicable, judge_each
from harness.protocols import Measure, ScoringInput

MEASURES = tuple(Measure(name=name, summary=name, failure_value=0.0) for name in ("first", "second"))
CONCURRENCY = BareEvaluation.concurrency


CASES = [
    ScoringInput(Query(query_id=name, text=name), reference(name, "Ann"), record(name, "Ann"), MEASURES)
    for name in ("q1", "q2")
]


async def judged(outcome: Judgement | Exception) -> list[Score]:
    """Every score, where the second measure of the second query has this outcome and all others 0.5."""

    async def judge(case: ScoringInput, measure: Measure) -> Judgement:
        if (case.query.query_id, measure.name) != ("q2", "second"):
            return 0.5, "fair"
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return await judge_each(CASES, BareEvaluation(), judge)


OUTCOMES = [
    ((1.0, "good"), ("scored", "good")),
    (NotApplicable("the answer states nothing"), ("not_applicable", "the answer states nothing")),
    (ValueError("garbage"), ("failed", "ValueError: garbage")),
    (ModelUnavailable("the judge is down", "start it"), ("failed", "the judge is down: start it")),
]


@pytest.mark.parametrize(("outcome", "expected"), OUTCOMES)
async def test_each_outcome_is_the_status_of_its_own_score_alone(
    outcome: Judgement | Exception, expected: tuple[str, str]
) -> None:
    *others, last = await judged(outcome)
    assert (last.status, last.explanation) == expected
    assert (last.value is None) == (last.status != "scored")
    assert {(score.status, score.value, score.explanation) for score in others} == {("scored", 0.5, "fair")}


async def test_an_error_that_the_user_must_fix_ends_the_evaluation() -> None:
    with pytest.raises(StoreError, match="disk full"):
        await judged(StoreError("disk full", "free some space"))


async def test_judgements_run_within_the_limit_and_progress_counts_them() -> None:
    runtime, under_way, most = BareEvaluation(), 0, 0

    async def judge(_case: ScoringInput, _measure: Measure) -> Judgement:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001)
        under_way -= 1
        return 1.0, ""

    await judge_each(CASES, runtime, judge)
    assert most == CONCURRENCY
    assert [done for done, _, _ in runtime.told] == list(range(5))
    assert {total for _, total, _ in runtime.told} == {4}
