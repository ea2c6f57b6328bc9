"""Accuracy, hallucination, false abstention and overlap, and to which queries each applies."""

import pytest
from records import FAILED
from scoring import reference, score_one

from harness.core.records import Prediction, Reference, Score
from harness.evaluators.answer import ACCURACY, EM, SPEC, TOKEN_F1
from harness.evaluators.score_preconditions import is_null
from harness.protocols import ConstantAnswer, Measure


def score(answers: tuple[str, ...], answer: str | None) -> dict[str, Score]:
    """By measure; an answer of None: the query failed."""
    return score_one(SPEC, FAILED if answer is None else Prediction(answer=answer), answers=answers)


VERDICTS = ("accuracy", "hallucination_rate", "false_abstention_rate")
OVERLAP = ("em", "token_f1", "contains", "accuracy_multihop_compat")
NULL = ("Insufficient information.",)


def values(scores: dict[str, Score], measures: tuple[str, ...] = VERDICTS) -> tuple[float | None, ...]:
    return tuple(scores[name].value for name in measures)


@pytest.mark.parametrize(
    ("references", "answer", "expected"),
    [
        (("Google",), "Apple", (0.0, None, 0.0)),
        (("Google",), "I don't know", (0.0, None, 1.0)),
        (("Apple", "Google"), "google", (1.0, None, 0.0)),
        (NULL, "insufficient information", (1.0, 0.0, None)),
        (NULL, "Google", (0.0, 1.0, None)),
        (NULL, "", (0.0, 1.0, None)),
        (("Google",), "", (0.0, None, 0.0)),
        (("No Answer Present.",), "Unknown", (1.0, 0.0, None)),
        (("", " "), "", (None, None, None)),
    ],
)
def test_each_measure_of_one_answer(
    references: tuple[str, ...], answer: str, expected: tuple[float | None, ...]
) -> None:
    assert values(score(references, answer)) == expected


@pytest.mark.parametrize(
    ("references", "answer", "expected"),
    [
        (("Google",), "It was Google", (0.0, 0.5, 1.0, 1.0)),
        (("Yes",), "True", (0.0, 0.0, 1.0, 0.0)),
        (("The Fed",), "the one", (0.0, 0.0, 0.0, 1.0)),
        (("Apple", "Google Search"), "Google", (0.0, 2 / 3, 0.0, 1.0)),
        (NULL, "insufficient information", (1.0, 1.0, 1.0, 1.0)),
        (NULL, "I don't know", (0.0, 0.0, 1.0, 0.0)),
        (("A",), "", (0.0, 0.0, 0.0, 0.0)),
        (("Zürich",), "ZÜRICH.", (1.0, 1.0, 1.0, 0.0)),
        ((), "Google", (None, None, None, None)),
    ],
)
def test_the_overlap_of_one_answer_of_an_answerable_or_a_null_query(
    references: tuple[str, ...], answer: str, expected: tuple[float | None, ...]
) -> None:
    assert values(score(references, answer), OVERLAP) == pytest.approx(expected)


def test_a_failed_query_gets_the_worst_value_of_every_measure_but_is_no_abstention() -> None:
    assert values(score(("Google",), None)) == (0.0, None, None)
    assert values(score(NULL, None)) == (0.0, 1.0, None)
    assert values(score(NULL, None), OVERLAP) == (0.0, 0.0, 0.0, 0.0)


def test_a_query_that_a_passage_may_answer_either_way_is_no_null_query() -> None:
    assert is_null(reference("q", "Insufficient information.", "unknown"))
    assert not is_null(reference("q", "Insufficient information.", "Google"))
    assert not is_null(reference("q"))


def test_the_explanation_shows_the_forms_that_were_compared() -> None:
    assert score(("no",), "No, it fell.")["accuracy"].explanation == "'no' against 'no'"
    assert score(("Google",), "No, it fell.")["accuracy"].explanation == "'no it fell' against 'google'"
    scores = score(("The C.E.O.",), "a CEO of the firm")
    assert scores["em"].explanation == scores["token_f1"].explanation == "'ceo of firm' against 'ceo'"
    assert scores["accuracy_multihop_compat"].explanation == "shared: 'the'"
    assert score(("x",), "y")["accuracy_multihop_compat"].explanation == "shared: no word"


def best(measure: Measure, answers: list[str], weights: list[float] | None = None) -> ConstantAnswer | None:
    references = [
        Reference(query_id=f"q{number}", query_type="any", answers=(answer,) if answer else ())
        for number, answer in enumerate(answers)
    ]
    assert measure.constant is not None
    return measure.constant(references, weights or [1.0] * len(answers))


def test_the_best_constant_answer_is_the_reference_answer_with_the_highest_weighted_mean() -> None:
    assert best(ACCURACY, ["No", "Yes", "no.", "Sam", "NO"]) == ConstantAnswer("No", (1.0, 0.0, 1.0, 0.0, 1.0))
    assert best(ACCURACY, ["No", "No", "Yes"], [1.0, 1.0, 5.0]) == ConstantAnswer("Yes", (0.0, 0.0, 1.0))
    houses = ["red house", "red house", "red barn"]
    assert best(TOKEN_F1, houses) == ConstantAnswer("red house", (1.0, 1.0, 0.5))
    assert best(EM, houses) == ConstantAnswer("red house", (1.0, 1.0, 0.0))
    assert best(ACCURACY, ["", ""]) is None
