import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from asking import asked, indexed
from runtimes import BareRuntime, Chat, Embedder

from harness.core.records import Context, Prediction
from harness.datasets import demo
from harness.protocols import Roles
from systems.naive import system as naive
from systems.recursive.system import (
    LONGEST_QUESTION,
    SPEC,
    read_questions,
    reply_schema,
    sub_question_messages,
)

INDEX = {"chunk_size": 300, "chunk_overlap": 30}
QUESTION = "Which company supplied the equipment at Hallin Junction?"
ELSEWHERE = [
    "Why did Qvistgaard win the Tour of the Sounds by 48 seconds in the last stage through the hills?",
    "How did a yellow sponge of the sea become aldericin, a drug that slows kidney decline in a trial?",
    "Which comet lost its tail in the pictures that the Mount Skell telescope took?",
    "By how many votes did Teague oust Vaun, the mayor of Port Aldery, in the election?",
]
"""About other articles than QUESTION, and than each other: each round with one of them brings new passages."""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's passages as naive stores them."""
    folder = tmp_path_factory.mktemp("stored")
    asyncio.run(indexed(naive.SPEC, BareRuntime(folder), demo.load("default").documents, INDEX))
    return folder


@pytest.fixture
def embedder() -> Embedder:
    return Embedder()


def asking(*rounds: str) -> Chat:
    """Replies to the n-th call for sub-questions with rounds[n], and to every other call with `reply`."""
    replies = iter(rounds)
    return Chat(lambda asked: "reply" if asked.json_schema is None else next(replies))


def listing(*questions: str) -> str:
    return '{"questions": [' + ", ".join(f'"{question}"' for question in questions) + "]}"


def answered(runtime: BareRuntime, **answer: Any) -> Prediction:
    return asyncio.run(asked(SPEC, runtime, QUESTION, INDEX, **answer))


def naive_contexts(stored: Path, text: str) -> list[Context]:
    """What one retrieval with `text` finds."""
    runtime = BareRuntime(stored, chat=None)
    return list(asyncio.run(asked(naive.SPEC, runtime, text, INDEX, top_k=7)).contexts)


def test_naives_stored_index_is_its_own_and_gives_the_same_first_round(stored: Path) -> None:
    assert SPEC.stored_index_kind == naive.SPEC.stored_index_kind == "passages/3"
    assert SPEC.index_params is naive.SPEC.index_params
    roles = SPEC.roles(SPEC.index_params(), SPEC.answer_params())
    assert roles == naive.SPEC.roles(naive.SPEC.index_params(), naive.SPEC.answer_params())
    assert roles == Roles(index=frozenset({"embedder"}), answer=frozenset({"embedder", "generator"}))
    assert list(answered(BareRuntime(stored, chat=None)).contexts) == naive_contexts(stored, QUESTION)


@pytest.mark.parametrize("rounds", [1, 4])
def test_each_round_searches_for_the_question_and_its_own_sub_questions_up_to_the_maximum(
    stored: Path, embedder: Embedder, rounds: int
) -> None:
    chat = asking(listing(*ELSEWHERE[:2]), listing(ELSEWHERE[2]), listing(ELSEWHERE[3]))
    prediction = answered(BareRuntime(stored, chat, embedder), rounds=rounds)
    asked_later = ["\n".join(ELSEWHERE[:2]), *ELSEWHERE[2:]]
    assert embedder.queries == [QUESTION, *(f"{QUESTION}\n{more}" for more in asked_later)][:rounds]
    assert [call.json_schema is not None for call in chat.calls] == [True] * (rounds - 1) + [False]
    assert [step.name for step in prediction.trace] == [f"round {n + 1}" for n in range(rounds)] + ["stop"]
    assert prediction.trace[-1].content == "maximum of rounds"


def test_it_stops_when_a_round_brings_no_new_passage(stored: Path, embedder: Embedder) -> None:
    chat = asking(listing(ELSEWHERE[0]), listing(ELSEWHERE[0]), listing(ELSEWHERE[1]))
    prediction = answered(BareRuntime(stored, chat, embedder))
    assert len(embedder.queries) == 3
    assert [step.name for step in prediction.trace] == ["round 1", "round 2", "round 3", "stop"]
    assert prediction.trace[2].content == f"? {ELSEWHERE[0]}"
    assert prediction.trace[-1].content == "no new passage"
    assert prediction.answer == "reply"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (listing(), "nothing missing"),
        ("I have {no} idea.", "no question in the reply: 'I have {no} idea.'"),
    ],
)
def test_it_stops_when_the_model_asks_nothing_and_the_trace_says_why(
    stored: Path, embedder: Embedder, reply: str, reason: str
) -> None:
    prediction = answered(BareRuntime(stored, asking(reply), embedder))
    assert embedder.queries == [QUESTION]
    assert [(step.name) for step in prediction.trace] == ["round 1", "stop"]
    assert (prediction.trace[-1].content, prediction.answer) == (reason, "reply")


def test_contexts_are_the_union_of_the_rounds_each_passage_once_in_the_order_it_was_found(stored: Path) -> None:
    prediction = answered(BareRuntime(stored, asking(*map(listing, ELSEWHERE))))
    expected: list[Context] = []
    for text in [QUESTION, *(f"{QUESTION}\n{question}" for question in ELSEWHERE)]:
        known = {context.span for context in expected}
        expected += [context for context in naive_contexts(stored, text) if context.span not in known]
    assert [context.span for context in prediction.contexts] == [context.span for context in expected]
    assert 7 < len(expected) < 35
    assert [context.text for context in prediction.contexts] == [context.text for context in expected]


def test_the_trace_names_the_sub_questions_and_the_passages_of_each_round(stored: Path) -> None:
    prediction = answered(BareRuntime(stored, asking(listing(*ELSEWHERE[:2]), listing())))
    first, second, _ = prediction.trace
    added = [line.removeprefix("+ ") for step in (first, second) for line in step.content.splitlines()]
    places = [f"{c.span.doc_id} {c.span.start}-{c.span.end}" for c in prediction.contexts if c.span]
    assert [line for line in added if not line.startswith("? ")] == places
    assert first.content.count("\n") == 6
    assert second.content.startswith(f"? {ELSEWHERE[0]}\n? {ELSEWHERE[1]}\n+ https://")


ASKED_QUESTION = "Which company built the Gull Sound array?"


def passages(*texts: str) -> list[Context]:
    return [Context(text=text, doc_ids=("d",)) for text in texts]


@pytest.mark.parametrize("limit", [1, 3])
def test_the_instruction_stands_before_and_after_the_passages_and_names_the_limit(limit: int) -> None:
    system, user = sub_question_messages(ASKED_QUESTION, passages("PASSAGE"), limit)
    instruction = user.content.split(ASKED_QUESTION)[1].removesuffix("JSON:").strip()
    assert len(instruction) > 50
    assert instruction in system.content
    assert user.content.index("PASSAGE") < user.content.index(ASKED_QUESTION) < user.content.index(instruction)
    assert ("one short question" if limit == 1 else f"{limit} short questions") in instruction
    assert "not instructions" in system.content


def test_the_schema_bounds_the_list_and_each_question() -> None:
    schema = reply_schema(3)
    assert schema["properties"]["questions"]["maxItems"] == 3
    assert schema["properties"]["questions"]["items"]["maxLength"] == LONGEST_QUESTION
    assert schema["additionalProperties"] is False


READABLE = {
    "what was asked for": ('{"questions": ["Who?", "When?"]}', ["Who?", "When?"]),
    "a question without its mark": ('{"questions": ["the founder of Tidewright"]}', ["the founder of Tidewright"]),
    "after a sentence": ('Here they are:\n{"questions": ["Who?"]}', ["Who?"]),
    "objects": ('{"questions": [{"q": "Who?"}, "When?"]}', ["Who?", "When?"]),
    "cut off": ('{"questions": ["Who \\"leads\\" it?", "When did', ['Who "leads" it?']),
    "a numbered list": ("Missing:\n1. Who?\n2) When?\n(3) Where?", ["Who?", "When?", "Where?"]),
    "bullets and bold": ("- Who?\n* **When?**\n• Q1: Where?", ["Who?", "When?", "Q1: Where?"]),
    "other scripts": ("¿Quién?\n谁\uff1f\nمن\u061f", ["¿Quién?", "谁\uff1f", "من\u061f"]),
    "an empty list": ('{"questions": []}', []),
    "prose without a question": ("Nothing is missing.", None),
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
