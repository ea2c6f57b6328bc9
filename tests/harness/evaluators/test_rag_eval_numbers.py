"""RAG-Eval: the grade that a reply states, and the confidence that follows from five grades."""

import itertools
import json
from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tables import rows_of

from harness.config.load import explain
from harness.core.errors import ConfigError
from harness.evaluators.rag_eval import RagEvalParams
from harness.evaluators.rag_eval.evaluator import band_of, confidence_of
from harness.evaluators.rag_eval.grades import grade_in, part_of
from harness.evaluators.rag_eval.prompts import METRICS, grades_in

TEXTS = st.text(alphabet=st.sampled_from('0123456789./,-+%()*_{}[]":# \n') | st.sampled_from("scoregradeutf–٤²∞"))  # noqa: RUF001


def test_a_grade_is_read_however_it_is_written_and_none_is_guessed() -> None:
    table = rows_of(__file__, "replies_with_and_without_grades.csv")
    rows = [(row["reply"], row["grade"]) for row in table]
    assert len(rows) > 70
    for reply, grade in [*rows, ("[4" * 200 + "{", ""), ("4" + " " * 5_000, "")]:
        if grade:
            assert grade_in(reply, "coverage") == int(grade), reply
        else:
            with pytest.raises(ValueError, match=r"no grade from 1 to 5 in|JSON"):
                grade_in(reply, "coverage")


@given(TEXTS | st.text() | st.from_regex(r"(score|grade)?:? ?-?[0-9]{1,2}(\.[0-9])?( ?(/|out of) ?[0-9]+)?"))
def test_whatever_a_reply_is_it_gives_a_grade_or_a_value_error(reply: str) -> None:
    with suppress(ValueError):
        assert grade_in(reply) in {1, 2, 3, 4, 5}
    assert set(grades_in(reply, METRICS).values()) <= {1, 2, 3, 4, 5}


@given(st.recursive(st.integers() | st.floats() | st.booleans() | st.none() | st.text(), st.lists, max_leaves=5))
def test_of_json_values_only_whole_numbers_and_texts_that_state_one_are_grades(value: object) -> None:
    reply = json.dumps({"score": value})
    try:
        found = grade_in(reply)
    except ValueError:
        assert not (type(value) in {int, float} and value in {1, 2, 3, 4, 5})
    else:
        assert isinstance(value, str | list) or (value == found and not isinstance(value, bool))


LINES = "1. Query relevance: 4/5\n**Factual accuracy** - 3\ncoverage 2\nCoherence: 5\nFluency: 1"
GRADES = {"query_relevance": 4, "factual_accuracy": 3, "coverage": 2, "coherence": 5, "fluency": 1}


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps(GRADES),
        f"```json\n{json.dumps(GRADES, indent=2)}\n```",
        '{"Query Relevance": "4", "factual-accuracy": "3/5", '
        '"coverage": {"grade": 2}, "COHERENCE": 5.0, "fluency": 1}',
        LINES,
    ],
)
def test_five_grades_are_read_from_one_reply(reply: str) -> None:
    assert grades_in(reply, METRICS) == GRADES


def test_a_part_of_a_reply_ends_where_the_next_name_or_line_begins() -> None:
    assert part_of("coverage: 2, coherence: 5\nor 3", "coverage", METRICS) == ": 2, "
    assert part_of("coverage: 2, coherence: 5\nor 3", "coherence", METRICS) == ": 5"
    assert part_of("discoverage: 2", "coverage", METRICS) == ""


DEFAULT = RagEvalParams().weights
EVERY_FIVE = list(itertools.product(range(1, 6), repeat=5))
WEIGHTS = [DEFAULT, (0.1, 0.2, 0.3, 0.3, 0.1), (0.35, 0.15, 0.15, 0.15, 0.2)]


def confidence(*grades: int, weights: tuple[float, ...] = DEFAULT) -> float:
    return confidence_of(dict(zip(METRICS, grades, strict=True)), weights)


def test_the_confidence_by_hand() -> None:
    assert confidence(5, 5, 5, 5, 5) == 1.0
    assert confidence(1, 1, 1, 1, 1) == 0.2
    # .25 * (4 + 3 + 2) / 5 + .125 * (5 + 1) / 5
    assert confidence(4, 3, 2, 5, 1) == 0.6
    assert confidence(5, 1, 1, 1, 1, weights=(1.0, 0.0, 0.0, 0.0, 0.0)) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("weights", WEIGHTS)
def test_every_confidence_is_the_nearest_to_the_exact_one_and_its_band_that_of_the_exact_one(
    weights: tuple[float, ...],
) -> None:
    exact_weights = [Fraction(str(weight)) for weight in weights]
    for grades in EVERY_FIVE:
        exact = sum(weight * grade for weight, grade in zip(exact_weights, grades, strict=True)) / 5
        found = confidence(*grades, weights=weights)
        assert found == float(exact)
        band = "trustworthy" if exact >= Fraction(3, 4) else "grounded but partial"
        assert band_of(found) == ("misaligned" if exact < Fraction(1, 2) else band)


def test_the_lower_edge_of_a_band_belongs_to_it_and_thirds_reach_it() -> None:
    assert [band_of(value) for value in (0.499999999, 0.749999999)] == ["misaligned", "grounded but partial"]
    assert [band_of(value) for value in (0.5, 0.75)] == ["grounded but partial", "trustworthy"]
    thirds = RagEvalParams(weights=(1 / 3, 1 / 3, 1 / 3, 0.0, 0.0)).weights
    sixths = RagEvalParams(weights=(1 / 6, 1 / 6, 1 / 6, 1 / 4, 1 / 4)).weights
    assert band_of(confidence(5, 5, 5, 1, 1, weights=thirds)) == "trustworthy"
    assert confidence(5, 5, 5, 5, 5, weights=thirds) == 1.0
    # (5 + 2 + 2) / 6 + (4 + 5) / 4 = 3.75
    assert band_of(confidence(5, 2, 2, 4, 5, weights=sixths)) == "trustworthy"


def test_weights_may_miss_one_by_a_billionth() -> None:
    assert RagEvalParams(weights=(0.25, 0.25, 0.25, 0.125, 0.125 + 9e-10))
    with pytest.raises(ValidationError):
        RagEvalParams(weights=(0.25, 0.25, 0.25, 0.125, 0.125 + 2e-9))


@pytest.mark.parametrize(
    ("weights", "line"),
    [
        ([0.25, 0.25, 0.25, 0.25, 0.25], "must be five numbers that sum to 1 (the sum is 1.25), not"),
        ([0.5, 0.5, 0.5, -0.5, 0], "greater than or equal to 0"),
        ([0.5, 0.5], "must be five numbers that sum to 1 (2 given), not"),
        ([float("nan"), 0.25, 0.25, 0.125, 0.125], "finite number"),
        ("all", "weights"),
    ],
)
def test_weights_that_cannot_be_are_refused_in_one_line(weights: object, line: str) -> None:
    with pytest.raises(ValidationError) as caught:
        RagEvalParams.model_validate({"weights": weights})
    told = str(ConfigError(*explain(caught.value, RagEvalParams, prefix="per_evaluator.rag_eval")))
    assert told.startswith("per_evaluator.rag_eval.weights")
    assert line in told
    assert "\n" not in told
