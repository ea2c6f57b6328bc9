import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from runtimes import Asked, Chat

from harness.llm_utils.concurrency import Once, map_bounded
from harness.llm_utils.query_classifier import (
    known_type,
    type_by_model,
    type_by_rules,
    type_question,
)
from harness.llm_utils.structured_output import Question, Unreadable, ask_json, parse_object
from harness.protocols import Message

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
MESSAGES = [Message("system", "You count."), Message("user", "How many?")]


def read(reply: Mapping[str, Any]) -> int:
    if not isinstance(reply.get("n"), int):
        raise ValueError("no number")
    return int(reply["n"])


def question() -> Question[int]:
    return Question(MESSAGES, SCHEMA, read, max_tokens=30)


def replies(*texts: str) -> Chat:
    waiting = iter(texts)
    return Chat(lambda _: next(waiting))


async def test_a_reply_that_can_be_read_is_one_call_with_the_schema() -> None:
    chat = replies('{"n": 3}')
    answered = await ask_json(chat, question())
    assert (answered.value, answered.asked_again) == (3, False)
    assert chat.calls == [Asked(MESSAGES, 30, SCHEMA)]


@pytest.mark.parametrize("first", ["I think three.", '{"n": "three"}'])
async def test_a_reply_that_cannot_be_read_is_asked_for_once_more_with_another_request(first: str) -> None:
    chat = replies(first, '{"n": 3}')
    answered = await ask_json(chat, question())
    assert (answered.value, answered.asked_again) == (3, True)
    again = chat.calls[1].messages
    assert again[0] == MESSAGES[0]
    assert again[1].content.startswith("How many?\n\n")
    assert again[1].content != MESSAGES[1].content


async def test_two_such_replies_are_unreadable_and_there_is_no_third_call() -> None:
    chat = replies("three", "still three", '{"n": 3}')
    with pytest.raises(Unreadable, match="no JSON object in 'still three'"):
        await ask_json(chat, question())
    assert len(chat.calls) == 2


async def test_a_question_may_have_a_parser_of_its_own() -> None:
    answered = await ask_json(replies("three", "3"), replace(question(), parse=lambda reply: {"n": int(reply)}))
    assert (answered.value, answered.asked_again) == (3, True)


@pytest.mark.parametrize(
    "reply", ['{"a": [1]}', '```json\n{"a": [1]}\n```', 'Here it is: {"a": [1]}. Done.', '\n{"a":[1]}\x00']
)
def test_json_is_found_between_other_text(reply: str) -> None:
    assert parse_object(reply) == {"a": [1]}


@pytest.mark.parametrize("reply", ["", "none", '{"a": ', "}{", '{"a": 1} or {"a": 2}', "{" * 100_000])
def test_anything_else_is_a_value_error(reply: str) -> None:
    with pytest.raises(ValueError, match="JSON"):
        parse_object(reply)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Which company is accused by two papers of hiding its losses?", "inference"),
        ("Who, according to the Courier and the Post, bought the mill?", "inference"),
        ("Considering what the Courier and the Post report, which town lost its bridge?", "inference"),
        ("Do the Courier and the Post name the same price for the mill?", "comparison"),
        ("Is the budget that the Post reports higher than that of the Courier?", "comparison"),
        ("Between the Post's report in May and the Courier's in June, did the date change?", "temporal"),
        ("Has the mayor's view of the bridge changed since the Post's interview?", "temporal"),
        ("Did the Post report on the flood before the Courier mentioned the dam?", "temporal"),
        ("", "comparison"),
        ("?" * 10_000, "comparison"),
    ],
)
def test_rules_classify_a_question_by_its_words(question: str, kind: str) -> None:
    assert type_by_rules(question) == kind


def test_a_data_sets_name_for_a_type_is_known_with_and_without_its_ending() -> None:
    assert (known_type("temporal_query"), known_type("temporal"), known_type("null_query")) == (
        "temporal",
        "temporal",
        None,
    )


async def test_a_model_is_asked_once_for_one_of_the_three_types() -> None:
    model = replies('{"type": "temporal"}')
    assert await type_by_model(model, "What came first?") == "temporal"
    (asked,) = model.calls
    question = type_question("What came first?")
    assert (asked.messages, asked.max_tokens) == (question.messages, question.max_tokens)
    assert asked.json_schema is not None
    assert asked.json_schema["properties"]["type"]["enum"] == ["inference", "comparison", "temporal"]


async def test_a_reply_that_names_no_type_is_asked_for_once_more_and_never_guessed() -> None:
    with pytest.raises(Unreadable, match="none of the types"):
        await type_by_model(replies("comparison, I think", '{"type": "opinion"}'), "Which is best?")


# Work side by side within bounds, and each piece of it once.


async def test_results_come_in_the_order_of_the_items_and_the_limit_holds() -> None:
    under_way, most = 0, 0

    async def work(item: int) -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001 * (5 - item % 5))
        under_way -= 1
        return item * item

    assert await map_bounded(work, range(20), 3) == [n * n for n in range(20)]
    assert most == 3


async def test_the_first_exception_is_raised_and_ends_the_others() -> None:
    finished = []

    async def work(item: int) -> None:
        if item == 1:
            raise KeyError(item)
        await asyncio.sleep(0.05)
        finished.append(item)

    with pytest.raises(KeyError):
        await map_bounded(work, range(4), 2)
    await asyncio.sleep(0.1)
    assert finished == []


async def test_a_result_or_failure_is_made_once_however_many_ask_for_it() -> None:
    once: Once[str, int] = Once()
    made: list[str] = []

    async def make(key: str) -> int:
        made.append(key)
        await asyncio.sleep(0)
        if key == "bad":
            raise ValueError("no triplets in this reply")
        return 7

    assert await asyncio.gather(*[once.of("good", partial(make, "good")) for _ in range(5)]) == [7] * 5
    for _ in range(2):
        with pytest.raises(ValueError, match="no triplets in this reply"):
            await once.of("bad", partial(make, "bad"))
    assert made == ["good", "bad"]
