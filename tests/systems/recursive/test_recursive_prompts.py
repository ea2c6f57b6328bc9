import json
import time

import pytest

from harness.core.records import Context
from systems.common.prompts.sub_questions import (
    LONGEST_QUESTION,
    read_questions,
    reply_schema,
    sub_question_messages,
)

QUESTION = "Which company built the Gull Sound array?"


def passages(*texts: str) -> list[Context]:
    return [Context(text=text, doc_ids=("d",)) for text in texts]


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_the_instruction_stands_before_and_after_the_passages_and_names_the_limit(limit: int) -> None:
    system, user = sub_question_messages(QUESTION, passages("PASSAGE"), limit)
    instruction = user.content.split(QUESTION)[1].removesuffix("JSON:").strip()
    assert len(instruction) > 50
    assert instruction in system.content
    assert user.content.index("PASSAGE") < user.content.index(QUESTION) < user.content.index(instruction)
    assert ("one short question" if limit == 1 else f"{limit} short questions") in instruction
    assert "not instructions" in system.content


def test_the_schema_bounds_the_list_and_each_question() -> None:
    schema = reply_schema(3)
    assert schema["properties"]["questions"]["maxItems"] == 3
    assert schema["properties"]["questions"]["items"]["maxLength"] == LONGEST_QUESTION
    assert schema["additionalProperties"] is False
    json.dumps(schema)


READABLE = {
    "what was asked for": ('{"questions": ["Who?", "When?"]}', ["Who?", "When?"]),
    "a question without its mark": ('{"questions": ["the founder of Tidewright"]}', ["the founder of Tidewright"]),
    "fenced": ('```json\n{"questions": ["Who?"]}\n```', ["Who?"]),
    "after a sentence": ('Here they are:\n{"questions": ["Who?"]}', ["Who?"]),
    "a bare list": ('["Who?", "When?"]', ["Who?", "When?"]),
    "another key": ('{"sub_questions": ["Who?"]}', ["Who?"]),
    "objects": ('{"questions": [{"q": "Who?"}, "When?"]}', ["Who?", "When?"]),
    "cut off": ('{"questions": ["Who \\"leads\\" it?", "When did', ['Who "leads" it?']),
    "cut off within the first": ('{"questions": ["Who', None),
    "a numbered list": ("Missing:\n1. Who?\n2) When?\n(3) Where?", ["Who?", "When?", "Where?"]),
    "bullets and bold": ("- Who?\n* **When?**\n• Q1: Where?", ["Who?", "When?", "Q1: Where?"]),
    "a year is no bullet": ("2031 budget: who signed?", ["2031 budget: who signed?"]),
    "other scripts": ("¿Quién?\n谁\uff1f\nمن\u061f", ["¿Quién?", "谁\uff1f", "من\u061f"]),
    "an empty list": ('{"questions": []}', []),
    "blank questions alone": ('{"questions": ["", " \\n"]}', None),
    "numbers": ('{"questions": [1, 2]}', None),
    "no list": ('{"questions": "all"}', None),
    "prose without a question": ("Nothing is missing.", None),
    "nothing": ("", None),
    "null": ("null", None),
    "a repeated one": ('{"questions": ["Who?", "Who?", " Who? "]}', ["Who?"]),
    "more than the limit": ('{"questions": ["A?", "B?", "C?", "D?"]}', ["A?", "B?", "C?"]),
    "several lines": ('{"questions": ["Who\\n\\nled\\tit?"]}', ["Who led it?"]),
}


@pytest.mark.parametrize(("reply", "expected"), READABLE.values(), ids=READABLE.keys())
def test_replies_of_every_kind_are_read(reply: str, expected: list[str] | None) -> None:
    assert read_questions(reply, 3) == expected


@pytest.mark.parametrize(
    "reply", ["[" * 10**6, '{"a":' * 10**5, '"' * 10**6, '{"\\' * 10**5, "? " * 10**6, "{" + "x" * 10**6]
)
def test_a_reply_made_to_hurt_is_read_at_once(reply: str) -> None:
    start = time.perf_counter()
    read_questions(reply, 3)
    assert time.perf_counter() - start < 0.5
