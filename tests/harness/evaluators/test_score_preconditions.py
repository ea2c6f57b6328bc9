"""What follows where a side of a case is missing or says nothing: the same for every judged evaluator."""

from dataclasses import replace
from typing import Literal

import pytest

from harness.core.records import Context, Cost, Prediction, Query, Reference, RunRecord
from harness.evaluators.run_scoring import NO_CONTEXTS, NO_GENERATOR, NO_REFERENCE
from harness.evaluators.score_preconditions import reference_answer, score_without_reading, why_not
from harness.protocols import Measure, RunFacts, ScoringInput, Side

Queries = Literal["all", "answerable", "null"]
MEASURE = Measure(
    name="m",
    summary="",
    failure_value=0.0,
    reads=frozenset({"question", "answer", "contexts", "reference"}),
    queries="answerable",
)
NULL = ("Insufficient information.",)


def reading(*sides: Side, queries: Queries = "answerable") -> Measure:
    return replace(MEASURE, reads=frozenset(sides), queries=queries)


def reference(*answers: str) -> Reference:
    return Reference(query_id="q", query_type="t", answers=answers)


def case(answer: str, *contexts: str) -> ScoringInput:
    prediction = Prediction(answer=answer, contexts=tuple(Context(text=text, doc_ids=()) for text in contexts))
    record = RunRecord(
        query_id="q",
        repeat=0,
        status="ok",
        prediction=prediction,
        cost=Cost(wall_s=1.0),
        attempt=1,
        started_at="2026-11-20T10:00:00+00:00",
    )
    return ScoringInput(Query(query_id="q", text="?"), reference("Yes"), record, (MEASURE,))


@pytest.mark.parametrize(
    ("side", "answers", "run", "expected"),
    [
        ("answer", ("Yes",), RunFacts(has_generator=False), NO_GENERATOR),
        ("contexts", ("Yes",), RunFacts(has_contexts=False), NO_CONTEXTS),
        ("reference", (), RunFacts(), NO_REFERENCE),
        ("reference", ("  ",), RunFacts(), NO_REFERENCE),
        ("question", NULL, RunFacts(), "the query is a null query"),
        ("question", (), RunFacts(has_generator=False, has_contexts=False), ""),
        ("answer", ("Yes",), RunFacts(), ""),
    ],
)
def test_what_is_missing_decides_whether_a_measure_applies(
    side: Side, answers: tuple[str, ...], run: RunFacts, expected: str
) -> None:
    assert why_not(reading(side), reference(*answers), run) == expected


@pytest.mark.parametrize(
    ("queries", "of_null", "of_answerable"),
    [
        ("all", "", ""),
        ("answerable", "the query is a null query", ""),
        ("null", "", "the query is answerable"),
    ],
)
def test_a_measure_says_to_which_queries_it_applies(queries: Queries, of_null: str, of_answerable: str) -> None:
    measure = reading("answer", queries=queries)
    assert why_not(measure, reference(*NULL), RunFacts()) == of_null
    assert why_not(measure, reference("Yes"), RunFacts()) == of_answerable


@pytest.mark.parametrize(
    ("answer", "contexts", "status", "value"),
    [
        ("  ", ("a text",), "scored", 0.0),
        ("Insufficient information.", ("a text",), "not_applicable", None),
        ("Apple", (), "scored", 0.0),
        ("Apple", (" ", "\n"), "scored", 0.0),
    ],
)
def test_a_side_that_says_nothing_settles_the_score(
    answer: str, contexts: tuple[str, ...], status: str, value: float | None
) -> None:
    score = score_without_reading(case(answer, *contexts), MEASURE)
    assert score is not None
    assert (score.status, score.value) == (status, value)


def test_what_says_something_is_left_to_the_evaluator() -> None:
    assert score_without_reading(case("Apple", "a text"), MEASURE) is None


def test_sides_that_a_measure_does_not_read_settle_nothing() -> None:
    assert score_without_reading(case("Insufficient information."), reading("question")) is None


def test_an_abstention_is_wrong_where_the_measure_knows_the_reference() -> None:
    score = score_without_reading(case("I don't know."), reading("answer"), abstention_is_wrong=True)
    assert score is not None
    assert score.value == 0.0


@pytest.mark.parametrize(
    ("answer", "contexts"), [("  ", ("a text",)), ("Apple", ()), ("I don't know.", ("a text",))]
)
def test_what_is_worth_the_least_is_worth_what_a_failure_is(answer: str, contexts: tuple[str, ...]) -> None:
    worst_is_one = replace(MEASURE, failure_value=1.0, higher_is_better=False)
    score = score_without_reading(case(answer, *contexts), worst_is_one, abstention_is_wrong=True)
    assert score is not None
    assert score.value == 1.0


def test_the_reference_answer_is_the_first_that_says_anything() -> None:
    assert reference_answer(reference(" ", "Apple", "Apple Inc.")) == "Apple"
    assert reference_answer(reference()) == ""
