"""What a pipeline says is kept, or told by the field that is wrong."""

from typing import Any

import pytest

from harness.core.records import Context, Usage
from systems.pipelines.replies import PipelineReply, WrongShape, read_reply


def test_contexts_are_texts_or_objects_in_rank_order() -> None:
    reply = read_reply({"answer": "x", "contexts": ["a", {"text": "b", "doc_id": 7, "score": 1}, {"text": "c"}]})
    assert reply.contexts == (
        Context(text="a", doc_ids=()),
        Context(text="b", doc_ids=("7",), score=1.0),
        Context(text="c", doc_ids=()),
    )


def test_usage_goes_by_our_names_or_by_those_of_openai() -> None:
    ours = {"calls": 2, "input_tokens": 30, "output_tokens": 4}
    theirs = {"model_calls": 2, "prompt_tokens": 30.0, "completion_tokens": 4}
    said = [read_reply({"answer": "x", "usage": usage}).usage for usage in (ours, theirs)]
    assert said == [Usage(calls=2, input_tokens=30, output_tokens=4)] * 2


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (42, "the reply must be a text or an object with 'answer', not a number"),
        (b"bytes", "not a bytes"),
        (None, "not null"),
        ({}, "the reply has no 'answer'; it has: nothing"),
        ({"anser": "x"}, "it has: anser"),
        ({"answer": float("nan")}, "'answer' must be a text or null, not a number"),
        ({"answer": "x" * 5_000_000}, "'answer' has 5,000,000 characters; at most 100,000 are kept"),
        ({"answer": "x", "contexts": "a text"}, "'contexts' must be a list, not a text"),
        ({"answer": "x", "contexts": {"a": 1}}, "'contexts' must be a list, not an object"),
        ({"answer": "x", "contexts": [3]}, "'contexts.0' must be a text or an object with 'text', not a number"),
        ({"answer": "x", "contexts": ["a", {"text": 5}]}, "'contexts.1.text' must be a text, not a number"),
        ({"answer": "x", "contexts": [{"text": "a", "doc_id": {}}]}, "'contexts.0.doc_id' must be a text"),
        ({"answer": "x", "contexts": [{"text": "a", "score": float("nan")}]}, "'contexts.0.score' is nan"),
        ({"answer": "x", "contexts": ["a"] * 10_001}, "'contexts' has 10,001 entries"),
        ({"answer": "x", "usage": 5}, "'usage' must be an object, not a number"),
        ({"answer": "x", "usage": {"input_tokens": -3}}, "'usage.input_tokens' must be a count, not -3"),
        ({"answer": "x", "usage": {"calls": True}}, "'usage.calls' must be a count"),
        ({"answer": "x", "usage": {"cached_tokens": 5}}, "'usage.cached_tokens' is more than"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_field(said: Any, line: str) -> None:
    with pytest.raises(WrongShape) as told:
        read_reply(said)
    assert line in str(told.value)
    assert len(str(told.value)) < 200


def test_a_text_alone_is_an_answer_of_which_nothing_else_is_known() -> None:
    assert read_reply(" Paris\n") == PipelineReply(answer="Paris", has_contexts=False)
