"""Accuracy, hallucination, false abstention and overlap, and to which queries each applies."""

from collections.abc import Callable

import pytest
from scoring import build_scorer, score_all

from harness.core.records import Score
from harness.evaluators.answer import SPEC
from harness.evaluators.score_preconditions import is_null
from harness.evaluators.scores import LONGEST_EXPLANATION

from .conftest import MakeRecord, MakeReference

Scored = Callable[..., dict[str, Score]]


@pytest.fixture
def score(reference: MakeReference, record: MakeRecord) -> Scored:
    """score(("Yes",), "yes") -> measure -> Score."""

    def scores(answers: tuple[str, ...], answer: str | None, error: str = "") -> dict[str, Score]:
        records = {("q", 0): record("q", answer, error=error)}
        found = score_all(build_scorer(SPEC), [reference("q", *answers)], records)
        return {one.measure: one for one in found}

    return scores


VERDICTS = ("accuracy", "hallucination_rate", "false_abstention_rate")
OVERLAP = ("em", "token_f1", "contains", "accuracy_multihop_compat")
NULL = ("Insufficient information.",)


def values(scores: dict[str, Score], measures: tuple[str, ...] = VERDICTS) -> tuple[float | None, ...]:
    return tuple(scores[name].value for name in measures)


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


@pytest.mark.parametrize(
    ("references", "answer", "expected"),
    [
        (("Google",), "google", (1.0, 1.0, 1.0, 1.0)),
        (("Google",), "It was Google", (0.0, 0.5, 1.0, 1.0)),
        (("Yes",), "True", (0.0, 0.0, 1.0, 0.0)),
        (("The Fed",), "the one", (0.0, 0.0, 0.0, 1.0)),
        (("Apple", "Google Search"), "Google", (0.0, 2 / 3, 0.0, 1.0)),
        (NULL, "insufficient information", (1.0, 1.0, 1.0, 1.0)),
        (NULL, "I don't know", (0.0, 0.0, 1.0, 0.0)),
        (NULL, "Google", (0.0, 0.0, 0.0, 0.0)),
        (("Google",), "", (0.0, 0.0, 0.0, 0.0)),
        (("A",), "", (0.0, 0.0, 0.0, 0.0)),
        (("Zürich",), "ZÜRICH.", (1.0, 1.0, 1.0, 0.0)),
        (("東京",), "東京です。", (0.0, 2 / 3, 1.0, 0.0)),
        ((), "Google", (None, None, None, None)),
    ],
)
def test_the_overlap_of_one_answer_of_an_answerable_or_a_null_query(
    score: Scored, references: tuple[str, ...], answer: str, expected: tuple[float | None, ...]
) -> None:
    assert values(score(references, answer), OVERLAP) == pytest.approx(expected)


def test_a_failed_query_gets_the_worst_value_of_every_measure_but_is_no_abstention(score: Scored) -> None:
    assert values(score(("Google",), None, "boom")) == (0.0, None, None)
    assert values(score(NULL, None, "boom")) == (0.0, 1.0, None)
    assert values(score(NULL, None, "boom"), OVERLAP) == (0.0, 0.0, 0.0, 0.0)


def test_without_an_answer_to_look_at_nothing_applies(score: Scored) -> None:
    assert {one.status for one in score(("Google",), None).values()} == {"not_applicable"}


def test_ten_thousand_characters_are_scored_like_a_short_answer(score: Scored) -> None:
    answer = "Both articles are about search. " * 320 + "It was Google."
    scores = score(("Google",), answer)
    # 5 tokens 320 times and 3 more, one of which is the reference's only one.
    assert values(scores, OVERLAP) == pytest.approx((0.0, 2 / (1603 + 1), 1.0, 0.0))
    assert max(len(one.explanation) for one in scores.values()) <= LONGEST_EXPLANATION


def test_a_query_that_a_passage_may_answer_either_way_is_no_null_query(reference: MakeReference) -> None:
    assert is_null(reference("q", "Insufficient information.", "unknown"))
    assert not is_null(reference("q", "Insufficient information.", "Google"))
    assert not is_null(reference("q"))


@pytest.mark.slow
def test_the_explanation_says_what_was_compared_and_stays_short(score: Scored) -> None:
    accuracy = score(("The Google",), "Answer: APPLE")["accuracy"]
    assert accuracy.explanation == "'apple' against 'google'"
    many = score(tuple(f"{'x' * 500} {n}" for n in range(50)), "y\n" * 5000)["accuracy"]
    assert len(many.explanation) <= LONGEST_EXPLANATION
    assert many.explanation.endswith("or 47 more")


def test_the_explanation_shows_the_no_that_was_read_out_of_a_sentence(score: Scored) -> None:
    assert score(("no",), "No, it fell.")["accuracy"].explanation == "'no' against 'no'"
    assert score(("Google",), "No, it fell.")["accuracy"].explanation == "'no it fell' against 'google'"


def test_the_explanation_of_an_overlap_shows_the_form_that_its_source_compares(score: Scored) -> None:
    scores = score(("The C.E.O.",), "a CEO of the firm")
    assert scores["em"].explanation == scores["token_f1"].explanation == "'ceo of firm' against 'ceo'"
    assert scores["accuracy_multihop_compat"].explanation == "shared: 'the'"
    assert score(("x",), "y")["accuracy_multihop_compat"].explanation == "shared: no word"
