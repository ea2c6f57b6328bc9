"""agentic over three short articles, with a model that plays a script."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from asking import asked, indexed
from kg_corpus import CORPUS
from runtimes import BareRuntime, Chat, Embedder

from harness.core.records import Prediction
from harness.protocols import Message, Tool, ToolCall
from systems.agentic.system import SPEC

QUESTION = "Who runs the builder of the turbines in Gull Sound?"
FIRST, SECOND = "turbines for Gull Sound", "Norrand Rail runs the Coastal Line"


def search(query: str) -> str:
    return json.dumps({"action": "search", "query": query})


ENOUGH = '{"action": "answer", "query": ""}'


def playing(*replies: str) -> Chat:
    script = iter(replies)
    return Chat(lambda asked: next(script) if asked.json_schema else "Ingrid Solvane")


async def ask(folder: Path, chat: Chat | None, **answer: Any) -> tuple[Prediction, list[str]]:
    """Its prediction, and the queries that were searched."""
    runtime = BareRuntime(folder, chat, embedder := Embedder())
    await indexed(SPEC, runtime, CORPUS)
    return await asked(SPEC, runtime, QUESTION, **{"k_per_round": 1, **answer}), embedder.queries


def stop(prediction: Prediction) -> str:
    return prediction.trace[-1].content


async def test_the_model_searches_until_it_has_enough_and_sees_what_it_found(tmp_path: Path) -> None:
    chat = playing(search(FIRST), search(SECOND), ENOUGH)
    prediction, searched = await ask(tmp_path, chat)
    assert searched == [FIRST, SECOND]
    assert [context.doc_ids for context in prediction.contexts] == [("d0",), ("d1",)]
    assert prediction.answer == "Ingrid Solvane"
    assert "Norrand Rail runs the Coastal Line." in chat.calls[2].text
    assert "Norrand Rail runs the Coastal Line." not in chat.calls[1].text
    assert [step.name for step in prediction.trace] == ["search", "search", "stop"]
    assert stop(prediction) == "the model has enough"
    # Before the first search it must search.
    offered = [call.json_schema["properties"]["action"]["enum"] for call in chat.calls if call.json_schema]
    assert offered[:2] == [["search"], ["search", "answer"]]


async def test_at_the_bound_it_answers_and_says_so(tmp_path: Path) -> None:
    chat = playing(search(FIRST), search(SECOND), search("something else"))
    prediction, searched = await ask(tmp_path, chat, max_steps=2)
    assert (len(searched), len(chat.calls)) == (2, 3)
    assert prediction.answer == "Ingrid Solvane"
    assert "bound of 2 steps" in stop(prediction)


async def test_a_loop_that_repeats_itself_ends(tmp_path: Path) -> None:
    chat = playing(search(FIRST), search("Gull Sound: for TURBINES"), search(FIRST), search(FIRST))
    prediction, searched = await ask(tmp_path, chat, max_steps=10)
    assert searched == [FIRST]
    assert (len(chat.calls), prediction.answer) == (4, "Ingrid Solvane")
    assert [step.name for step in prediction.trace] == ["search", "repeated", "repeated", "stop"]


@pytest.mark.parametrize("reply", ["no JSON", ENOUGH, '{"action": "search", "query": " "}', '{"action": 3}', "[]"])
async def test_without_a_query_the_question_itself_is_searched(tmp_path: Path, reply: str) -> None:
    prediction, searched = await ask(tmp_path, playing(reply, reply))
    assert searched == [QUESTION]
    assert prediction.contexts
    assert prediction.answer == "Ingrid Solvane"


class Calling(Chat):
    """A model of a provider that calls tools."""

    calls_tools = True

    def __init__(self, *script: ToolCall) -> None:
        super().__init__(lambda _: "Ingrid Solvane")
        self.script, self.offered = iter(script), list[list[str]]()

    async def call(
        self, messages: Sequence[Message], tools: Sequence[Tool], *, max_tokens: int | None = None
    ) -> ToolCall:
        self.offered.append([tool.name for tool in tools])
        return next(self.script)


async def test_where_the_provider_calls_tools_search_is_one(tmp_path: Path) -> None:
    chat = Calling(ToolCall("search", {"query": FIRST}), ToolCall("answer", {}))
    prediction, searched = await ask(tmp_path, chat)
    assert (searched, chat.offered) == ([FIRST], [["search"], ["search", "answer"]])
    assert (prediction.answer, stop(prediction)) == ("Ingrid Solvane", "the model has enough")
