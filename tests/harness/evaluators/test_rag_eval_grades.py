"""A grade is a whole number from 1 to 5 that a reply states beyond doubt, or there is none."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.evaluators.rag_eval.criteria import METRICS
from harness.evaluators.rag_eval.grades import grade_in, part_of
from harness.evaluators.rag_eval.grading import grades_in

FOURS = [
    "4",
    " 4\n",
    "4.",
    "4.0",
    "**4**",
    "_4_",
    "4/5",
    "4 / 5.",
    "**4**/5",
    "4 out of 5",
    "4 (out of 5)",
    "4 stars",
    "Score: 4.",
    "Grade: **4**",
    "Score - 4",
    "Grade: 4 - good",
    "a rating of 4",
    "I would give this a 4",
    "On a scale of 1 to 5, I give it a 4.",
    "On a 1-5 scale: 4",
    "a 4 on a 5-point scale",
    "Score (1–5): 4",  # noqa: RUF001
    "Rating (out of 5): 4",
    "2 out of 3 statements hold, so 4/5",
    "It names 10 of the 12 firms. Score: 4",
    "Coverage: 4",
    '{"score": 4}',
    '{"Grade": "4/5"}',
    '{"rating": 4.0, "max": 10}',
    '{"coverage": 4, "reason": "1 fact of 2"}',
    '{"coverage": {"score": 4}}',
    'Sure: ```json\n{"coverage": 4}\n```',
]
NONE = [
    "",
    "good",
    "four",
    "four out of 5",
    "0",
    "6",
    "10",
    "04",
    "-3",
    "Score: -3",
    "4.5",
    "4,5",
    "4.5/5",
    "-4/5",
    "80%",
    "7/10",
    "Score: 4/10",
    "4/50",
    "4/5/2024",
    "1 to 5",
    "on a scale of 5",
    "between 3 and 4",
    "3-4",
    "Score: 3–4",  # noqa: RUF001
    "3 or 4/5",
    "4 3",
    "Score: 3. Supported: 4/5",
    "4, since the report of 2019 says so",
    "Q4",
    "1e0",
    "²",
    "true",
    '{"score": true}',
    '{"score": NaN}',
    '{"score": null}',
    '{"score": 6}',
    '{"score": [3, 4]}',
    '{"score": 3, "grade": 4}',
    '{"a": 4, "b": 4}',
    '{"score": 4',
    "[4" * 200 + "{",
    "4" + " " * 5_000,
]
TEXTS = st.text(alphabet=st.sampled_from('0123456789./,-+%()*_{}[]":# \n') | st.sampled_from("scoregradeutf–٤²∞"))  # noqa: RUF001


@pytest.mark.parametrize("reply", FOURS)
def test_one_grade_is_read_however_it_is_written(reply: str) -> None:
    assert grade_in(reply, "coverage") == 4


@pytest.mark.parametrize("reply", NONE)
def test_no_grade_is_guessed(reply: str) -> None:
    with pytest.raises(ValueError, match=r"no grade from 1 to 5 in|JSON"):
        grade_in(reply, "coverage")


def test_the_reason_quotes_a_long_reply_in_part() -> None:
    with pytest.raises(ValueError, match="the answer the answer") as caught:
        grade_in("the answer " * 50)
    assert len(str(caught.value)) < 100


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


def test_a_grade_that_is_none_leaves_the_others() -> None:
    assert grades_in(json.dumps(GRADES | {"coverage": 6, "fluency": None}), METRICS) == {
        "query_relevance": 4,
        "factual_accuracy": 3,
        "coherence": 5,
    }
    assert "coverage" not in grades_in(LINES + "\ncoverage again: 3", METRICS)
    assert grades_in('{"query_relevance": 4', METRICS) == {}


def test_a_part_of_a_reply_ends_where_the_next_name_or_line_begins() -> None:
    assert part_of("coverage: 2, coherence: 5\nor 3", "coverage", METRICS) == ": 2, "
    assert part_of("coverage: 2, coherence: 5\nor 3", "coherence", METRICS) == ": 5"
    assert part_of("discoverage: 2", "coverage", METRICS) == ""
