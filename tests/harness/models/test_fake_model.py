"""The scripted model: a fixed function of the prompt, over HTTP or in this process."""

import json
import urllib.request
from contextlib import closing
from typing import Any

import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.config import GeneratorConfig
from harness.models.clients import OpenAIChat, open_client
from harness.models.fake_model import EMBEDDING_DIM, FakeModel, FakeScript, bag_of_words, example_of
from harness.models.metering import Meter, metered
from harness.models.transport import CallContext
from harness.protocols import Message
from harness.store import Journal

from .conftest import Lab, Serve

pytestmark = pytest.mark.usefixtures("no_tls")
QUESTIONS = [f"Did Ada meet Charles {n} times, or was it Mary?" for n in range(6)]
SCRIPTS = [
    FakeScript(),
    FakeScript(reply="always this"),
    FakeScript(replies={"Charles 3": "three", "Charles": "some"}),
    FakeScript(fault="http_400", fault_rate=0.5, seed=1),
    FakeScript(fault="http_500", fault_match="Charles [369]", fault_times=1),
    FakeScript(fault="malformed", fault_match="Charles 5"),
    FakeScript(fault="no_usage"),
]


def chat_request(text: str) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()


def answer(model: FakeModel, text: str) -> str:
    reply = model.respond("/v1/chat/completions", chat_request(text))
    return str(json.loads(reply.body)["choices"][0]["message"]["content"])


async def outcomes(chat: OpenAIChat, meter: Meter) -> list[Any]:
    """What became of every question, and what was counted."""
    found: list[Any] = []
    with metered(meter):
        for question in QUESTIONS:
            try:
                found.append(await chat.complete([Message("user", question)]))
            except (openai.OpenAIError, ValueError) as error:
                found.append(f"{type(error).__name__}: {error}")
    return [*found, meter.usage]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: str(script.model_dump(exclude_defaults=True)))
async def test_a_script_gives_the_same_records_over_http_and_in_this_process(lab: Lab, script: FakeScript) -> None:
    server = lab.serve(script)
    fields: dict[str, Any] = {"model": "fake", "max_retries": 0}
    over_http = GeneratorConfig(provider="openai-compatible", base_url=server.base_url, **fields)
    in_process = GeneratorConfig(provider="fake", options=script.model_dump(exclude_defaults=True), **fields)
    found = []
    with closing(Journal(lab.tmp_path / "other.sqlite")) as journal:
        other = CallContext(journal, backoff=lab.call_context.backoff)
        for config, kept in ((over_http, lab.call_context), (in_process, other)):
            async with open_client(config, kept) as client:
                found.append(await outcomes(OpenAIChat(config, client), Meter("index")))
    assert found[0] == found[1]


def test_the_first_reply_whose_pattern_is_found_wins_over_the_reply_to_everything() -> None:
    model = FakeModel(FakeScript(reply="else", replies={"Ada": "1", "A": "2"}))
    assert [answer(model, text) for text in ("Ada", "All", "none")] == ["1", "2", "else"]


def test_the_server_tells_what_it_served(serve: Serve) -> None:
    server = serve()
    root = server.base_url.removesuffix("/v1")
    request = urllib.request.Request(f"{server.base_url}/chat/completions", chat_request("one two three"))
    with urllib.request.urlopen(request) as reply:
        assert reply.status == 200
    with urllib.request.urlopen(f"{root}/stats") as reply:
        assert json.loads(reply.read()) == {"calls": 1, "input_tokens": 3, "output_tokens": 1, "faults": 0}
    with urllib.request.urlopen(f"{root}/health") as reply:
        assert reply.status == 200


@settings(deadline=None)
@given(st.text())
def test_every_embedding_is_a_unit_vector(text: str) -> None:
    vector = bag_of_words(text)
    assert len(vector) == EMBEDDING_DIM
    assert sum(value * value for value in vector) == pytest.approx(1.0)


PROMPT = "Ingrid Solvane runs Tidewright Power near Gull Sound."
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "names": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 6}},
        "many": {"type": "array", "minItems": 5, "items": {"$ref": "#/$defs/Point"}},
        "score": {"type": "integer", "minimum": 7, "maximum": 9},
        "share": {"type": "number", "minimum": 1, "maximum": 2},
        "kind": {"enum": ["person", "place"]},
        "fixed": {"const": 4},
        "maybe": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
    },
    "$defs": {"Point": {"type": "object", "properties": {"name": {"type": "string"}}}},
}


def test_every_value_is_one_that_the_schema_admits() -> None:
    value = example_of(SCHEMA, PROMPT)
    assert value.keys() == SCHEMA["properties"].keys()
    assert len(value["names"]) == 2
    assert all(len(name) <= 6 and name in PROMPT for name in value["names"])
    assert len(value["many"]) == 5
    assert all(point["name"] in PROMPT for point in value["many"])
    assert value["score"] in {7, 8, 9}
    assert 1 <= value["share"] <= 2
    assert value["kind"] in {"person", "place"}
    assert value["fixed"] == 4
    assert value["maybe"] in {True, False}
