"""Accuracy, hallucination and false abstention, and to which queries each applies."""

from collections.abc import Callable

import pytest

from harness.evaluators.answer import EVALUATOR, is_null
from harness.evaluators.base import score_run
from harness.records import Score

from .conftest import MakeRecord, MakeReference

Scored = Callable[..., dict[str, Score]]


@pytest.fixture
def score(reference: MakeReference, record: MakeRecord) -> Scored:
    """score(("Yes",), "yes") -> measure -> Score."""

    def scores(answers: tuple[str, ...], answer: str | None, error: str = "") -> dict[str, Score]:
        records = {("q", 0): record("q", answer, error=error)}
        return {one.measure: one for one in score_run(EVALUATOR, [reference("q", *answers)], records, 1)}

    return scores


def values(scores: dict[str, Score]) -> tuple[float | None, ...]:
    return tuple(scores[name].value for name in ("accuracy", "hallucination_rate", "false_abstention_rate"))


NULL = ("Insufficient information.",)


@pytest.mark.parametrize(
    ("references", "answer", "expected"),
    [
        (("Google",), "google", (1.0, None, 0.0)),
        (("Google",), "Apple", (0.0, None, 0.0)),
        (("Google",), "I don't know", (0.0, None, 1.0)),
        (("Apple", "Google"), "google", (1.0, None, 0.0)),
        (NULL, "insufficient information", (1.0, 0.0, None)),
        (NULL, "Google", (0.0, 1.0, None)),
        (NULL, "", (0.0, 1.0, None)),
        (("Google",), "", (0.0, None, 0.0)),
        (("No Answer Present.",), "Unknown", (1.0, 0.0, None)),
        ((), "Google", (None, None, None)),
        (("", " "), "", (None, None, None)),
    ],
)
def test_each_measure_of_one_answer(
    score: Scored, references: tuple[str, ...], answer: str, expected: tuple[float | None, ...]
) -> None:
    assert values(score(references, answer)) == expected


def test_a_failed_query_gets_the_worst_value_of_every_measure_that_applies_to_it(score: Scored) -> None:
    assert values(score(("Google",), None, "boom")) == (0.0, None, 1.0)
    assert values(score(NULL, None, "boom")) == (0.0, 1.0, None)


def test_a_query_that_a_passage_may_answer_either_way_is_no_null_query(reference: MakeReference) -> None:
    assert is_null(reference("q", "Insufficient information.", "unknown"))
    assert not is_null(reference("q", "Insufficient information.", "Google"))
    assert not is_null(reference("q"))


def test_the_explanation_says_what_was_compared_and_stays_short(score: Scored) -> None:
    accuracy = score(("The Google",), "Answer: APPLE")["accuracy"]
    assert accuracy.explanation == "'apple' against 'google'"
    many = score(tuple(f"{'x' * 500} {n}" for n in range(50)), "y\n" * 5000)["accuracy"]
    assert len(many.explanation) < 400
    assert many.explanation.endswith("or 46 more")


def test_the_explanation_shows_the_no_that_was_read_out_of_a_sentence(score: Scored) -> None:
    assert score(("no",), "No, it fell.")["accuracy"].explanation == "'no' against 'no'"
    assert score(("Google",), "No, it fell.")["accuracy"].explanation == "'no it fell' against 'google'"
