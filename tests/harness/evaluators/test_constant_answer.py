"""The best answer that never looks at the question."""

from harness.core.records import Reference
from harness.evaluators.answer import ACCURACY, EM, TOKEN_F1
from harness.protocols import ConstantAnswer, Measure


def best(measure: Measure, answers: list[str], weights: list[float] | None = None) -> ConstantAnswer | None:
    references = [
        Reference(query_id=f"q{number}", query_type="any", answers=(answer,) if answer else ())
        for number, answer in enumerate(answers)
    ]
    assert measure.constant is not None
    return measure.constant(references, weights or [1.0] * len(answers))


def test_the_most_frequent_reference_answer_is_right_as_often_as_it_is_given() -> None:
    found = best(ACCURACY, ["No", "Yes", "no.", "Sam", "NO"])
    assert found == ConstantAnswer("No", (1.0, 0.0, 1.0, 0.0, 1.0))


def test_what_a_query_weighs_decides_which_is_best() -> None:
    found = best(ACCURACY, ["No", "No", "Yes"], [1.0, 1.0, 5.0])
    assert found is not None
    assert found.answer == "Yes"


def test_a_refusal_is_an_answer_like_any_other() -> None:
    found = best(ACCURACY, ["Insufficient information.", "I don't know.", "Yes"])
    assert found is not None
    assert found.values == (1.0, 1.0, 0.0)


def test_part_of_an_answer_counts_where_the_measure_counts_parts() -> None:
    found = best(TOKEN_F1, ["red house", "red house", "red barn"])
    assert found == ConstantAnswer("red house", (1.0, 1.0, 0.5))
    assert best(EM, ["red house", "red house", "red barn"]) == ConstantAnswer("red house", (1.0, 1.0, 0.0))


def test_without_reference_answers_there_is_none() -> None:
    assert best(ACCURACY, ["", ""]) is None
