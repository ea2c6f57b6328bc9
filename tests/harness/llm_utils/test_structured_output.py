from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from runtimes import Asked, Chat

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


@pytest.mark.parametrize("first", ["I think three.", '{"n": "three"}', '{"n": 3', "[3]", ""])
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


async def test_a_question_may_read_replies_that_are_no_json() -> None:
    def parse(reply: str) -> dict[str, Any]:
        return {"n": int(reply)}

    chat = replies("three", "3")
    answered = await ask_json(chat, replace(question(), parse=parse))
    assert (answered.value, answered.asked_again) == (3, True)
    assert chat.calls[0] == Asked(MESSAGES, 30, SCHEMA)


@pytest.mark.parametrize(
    "reply", ['{"a": [1]}', '```json\n{"a": [1]}\n```', 'Here it is: {"a": [1]}. Done.', '\n{"a":[1]}\x00']
)
def test_json_is_found_in_what_stands_around_it(reply: str) -> None:
    assert parse_object(reply) == {"a": [1]}


@pytest.mark.parametrize("reply", ["", "none", '{"a": ', "}{", '{"a": 1} or {"a": 2}', "{" * 100_000])
def test_anything_else_is_a_value_error(reply: str) -> None:
    with pytest.raises(ValueError, match="JSON"):
        parse_object(reply)
