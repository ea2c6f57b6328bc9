import inspect
import json
import socket
from collections.abc import Mapping
from typing import Any

import pytest
from runtimes import Asked, Chat

from harness.core.errors import HarnessError, MissingDependency, ModelUnavailable
from harness.core.records import Document, Span, Triplet
from harness.extraction.types import EVERYTHING, Focus, FoundEntity, TextGraph
from systems.common import extraction
from systems.common.chunking import Chunk
from systems.common.extraction import check_langchain

TEXT = "Tim Cook runs {Apple}."
GRAPH = json.dumps(
    {
        "nodes": [{"id": "Tim Cook", "type": "Person"}, {"id": "Apple", "type": "company"}],
        "relationships": [
            {
                "source_node_id": "Tim Cook",
                "source_node_type": "Person",
                "target_node_id": "Apple",
                "target_node_type": "Company",
                "type": "works for",
            }
        ],
    }
)
READ = TextGraph(
    entities=(FoundEntity("Tim Cook", "Person"), FoundEntity("Apple", "Company")),
    triplets=(Triplet("Tim Cook", "WORKS_FOR", "Apple"),),
)


def chunk(text: str = TEXT, title: str = "News") -> Chunk:
    document = Document(doc_id="d", text=text, title=title)
    return Chunk("000000-00000", text, Span(doc_id="d", start=0, end=len(text)), document)


async def extract_all(chat: Chat, *chunks: Chunk, focus: Focus = EVERYTHING) -> list[TextGraph]:
    return await extraction.extract("langchain", chunks, chat, lambda *_: None, focus)


async def extract(*replies: str) -> tuple[TextGraph, Chat]:
    """What one chunk gives if the model answers these, in turn."""
    left = iter(replies)
    chat = Chat(lambda _: next(left))
    return (await extract_all(chat, chunk()))[0], chat


@pytest.mark.slow
async def test_a_focus_keeps_the_kinds_and_relations_it_names_and_reads_dates() -> None:
    edge = {"source_node_id": "Tim Cook", "source_node_type": "Person", "target_node_id": "Apple"}
    edge = {**edge, "target_node_type": "Company", "type": "WORKS_FOR"}
    dated = {**edge, "properties": [{"key": "date", "value": "2011"}]}
    reply = json.dumps({"nodes": [], "relationships": [dated, {**edge, "type": "LIKES", "properties": []}]})
    chat = Chat(lambda _: reply)
    focus = Focus(("Person", "Company"), ("WORKS_FOR",), dates=True)
    (found,) = await extract_all(chat, chunk(), focus=focus)
    assert found.triplets == (Triplet("Tim Cook", "WORKS_FOR", "Apple"),)
    assert found.dates == ((found.triplets[0], "2011"),)
    assert "WORKS_FOR" in json.dumps(chat.calls[0].json_schema)


async def test_the_model_sees_the_passage_under_its_heading_and_is_held_to_a_strict_schema() -> None:
    _, chat = await extract(GRAPH)
    asked = chat.calls[0]

    assert [message.role for message in asked.messages] == ["system", "user"]
    assert asked.messages[-1].content.endswith(f"News\n{TEXT}")
    assert asked.max_tokens == 1500
    assert asked.json_schema is not None
    assert_strict(asked.json_schema)
    assert "$ref" not in json.dumps(asked.json_schema)


def assert_strict(schema: Mapping[str, Any]) -> None:
    """As OpenAI wants it: every object closed, every key of it required."""
    if schema.get("type") == "object":
        assert schema["additionalProperties"] is False
        assert sorted(schema["required"]) == sorted(schema["properties"])
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    for each in [*inner, schema["items"]] if "items" in schema else inner:
        assert_strict(each)


async def test_prose_is_asked_for_once_more_in_other_words() -> None:
    graph, chat = await extract("Tim Cook is the head of Apple.", GRAPH)
    first, second = chat.calls

    assert graph == TextGraph(READ.entities, READ.triplets, asked_again=True)
    assert first.messages != second.messages
    assert '{"nodes": [{"id": "..."' in second.text
    assert TEXT in second.text


async def test_prose_twice_is_a_failure_that_shows_it() -> None:
    graph, chat = await extract("Tim Cook", "is the head of Apple")

    assert (graph.entities, graph.triplets) == ((), ())
    assert "no graph" in graph.failure
    assert "is the head of Apple" in graph.failure
    assert graph.asked_again
    assert len(chat.calls) == 2


@pytest.mark.parametrize("nothing", [[], None])
async def test_a_passage_without_entities_is_an_empty_graph_and_no_failure(nothing: list[str] | None) -> None:
    graph, chat = await extract(json.dumps({"nodes": nothing, "relationships": nothing}))

    assert graph == TextGraph()
    assert len(chat.calls) == 1


async def test_ends_that_are_no_nodes_are_entities_and_a_missing_type_is_no_kind() -> None:
    reply = json.loads(GRAPH) | {"nodes": [{"id": "Apple", "type": ""}]}
    graph, _ = await extract(json.dumps(reply))

    assert set(graph.entities) == {
        FoundEntity("Apple"),
        FoundEntity("Tim Cook", "Person"),
        FoundEntity("Apple", "Company"),
    }


async def test_a_call_that_raises_is_that_chunks_failure_alone_and_not_repeated() -> None:
    def reply(asked: Asked) -> str:
        if "poison" in asked.text:
            raise ConnectionError("the server\nhung up")
        return GRAPH

    chat = Chat(reply)
    graphs = await extract_all(chat, chunk(), chunk("poison"), chunk())

    assert graphs == [READ, TextGraph(failure="ConnectionError: the server hung up"), READ]
    assert len(chat.calls) == 3


async def test_what_the_user_must_fix_ends_the_extraction() -> None:
    def reply(asked: Asked) -> str:
        raise ModelUnavailable("the key was refused")

    with pytest.raises(HarnessError, match="the key was refused"):
        await extract_all(Chat(reply), chunk(), chunk())


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every address that something connects to meanwhile; each is refused."""
    met: list[Any] = []

    def refuse(self: socket.socket, address: Any) -> None:
        met.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    return met


async def test_nothing_is_sent_anywhere_though_the_environment_asks_for_tracing(
    connections: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from langchain_core.tracers.langchain import LangChainTracer
    from langsmith import utils

    for name, value in {"TRACING": "true", "API_KEY": "key", "ENDPOINT": "http://127.0.0.1:9"}.items():
        monkeypatch.setenv(f"LANGSMITH_{name}", value)
    # The function remembers what it read of the environment before.
    monkeypatch.setattr(utils, "get_env_var", inspect.unwrap(utils.get_env_var))
    traced: list[str] = []
    monkeypatch.setattr(LangChainTracer, "__init__", lambda *_, **__: traced.append("a tracer"))

    graph, _ = await extract(GRAPH)

    assert graph == READ
    assert traced == []
    assert connections == []


def test_without_the_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.core.errors.find_spec", lambda name: None)

    with pytest.raises(MissingDependency, match=r"rag-bench-harness\[extractor-langchain\]"):
        check_langchain()


def test_the_metered_model_has_no_synchronous_way_around_the_meter() -> None:
    from systems.common.langchain_extraction import MeteredChatModel

    chat = Chat()
    with pytest.raises(NotImplementedError, match="asynchronously"):
        MeteredChatModel(chat=chat, max_tokens=10).invoke("hello")
    assert chat.calls == []
