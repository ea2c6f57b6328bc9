"""A provider whose server speaks another protocol: over the call context it is like any other."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from plugins import PlugIn
from teller_server import CLIENT, TellerServer

from harness.config import GeneratorConfig
from harness.core.errors import ModelUnavailable
from harness.core.records import Usage
from harness.models.clients import build_chat
from harness.models.metering import Meter, metered
from harness.models.model_endpoint import read_error
from harness.models.model_proxy_server import ServerRefused, Translation, chat_reply, embeddings_reply
from harness.models.providers import resolve_generator
from harness.models.reply_parsing import read_usage
from harness.models.transport import CallContext
from harness.protocols import ChatModel, Message

from .conftest import OpenSeam

pytestmark = pytest.mark.usefixtures("no_tls", "teller")

PROMPT = [Message("system", "You tell."), Message("user", "Is it so?")]


@pytest.fixture
def teller(plug_in: PlugIn) -> None:
    """The provider, installed."""
    plug_in("rag_harness.providers", "teller", CLIENT)


def generator(server: TellerServer, **more: Any) -> GeneratorConfig:
    return resolve_generator(GeneratorConfig(provider="teller", base_url=server.url, **more))


def connect(server: TellerServer, call_context: CallContext, **more: Any) -> ChatModel:
    chat = build_chat(generator(server, **more), call_context)
    assert chat is not None
    return chat


async def test_a_call_is_counted_as_its_server_counts_and_replayed_in_the_next_process(
    teller_server: TellerServer, open_seam: OpenSeam
) -> None:
    meters = []
    for _ in range(2):
        with metered(Meter("answer/q/0/1")) as meter:
            assert await connect(teller_server, open_seam()).complete(PROMPT) == "so it is"
        meters.append(meter)
    assert teller_server.answered == ["tell"]
    used = Usage(calls=1, input_tokens=teller_server.heard, output_tokens=2)
    assert [meter.usage for meter in meters] == [{"generator": used}] * 2
    assert [meter.replayed_calls for meter in meters] == [0, 1]


@pytest.mark.parametrize("faults", [[429], [500], [503, 429]])
async def test_what_may_pass_is_tried_again_and_counted_once(
    teller_server: TellerServer, call_context: CallContext, faults: list[int]
) -> None:
    teller_server.faults = list(faults)
    with metered(Meter("answer/q/0/1")) as meter:
        assert await connect(teller_server, call_context).complete(PROMPT) == "so it is"
    assert (teller_server.answered, teller_server.faults) == (["tell"], [])
    assert meter.usage["generator"].calls == 1
    assert (meter.throttled_s > 0) == (429 in faults)


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_refusal_stops_the_run_in_the_servers_own_words(
    teller_server: TellerServer, call_context: CallContext, status: int
) -> None:
    teller_server.refuses = status
    with metered(Meter("answer/q/0/1")), pytest.raises(ModelUnavailable, match=f"the script asked for {status}"):
        await connect(teller_server, call_context).complete(PROMPT)
    assert call_context.fatal is not None


async def test_a_reply_that_cannot_be_translated_is_an_error_of_that_call_alone(
    teller_server: TellerServer, call_context: CallContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = connect(teller_server, call_context)
    monkeypatch.setattr(teller_server, "reply", lambda what, body: (200, {"other": "words"}))
    with metered(Meter("answer/q/0/1")) as meter, pytest.raises(KeyError, match="said"):
        await chat.complete(PROMPT)
    assert call_context.fatal is None
    monkeypatch.undo()
    with metered(meter):
        assert await chat.complete(PROMPT) == "so it is"


async def test_a_server_that_hangs_is_tried_again_when_the_time_of_a_request_is_over(
    teller_server: TellerServer, call_context: CallContext
) -> None:
    teller_server.hangs = 1
    with metered(Meter("answer/q/0/1")) as meter:
        chat = connect(teller_server, call_context, timeout_s=0.3)
        assert await chat.complete(PROMPT) == "so it is"
    assert meter.throttled_s == 0.0
    assert meter.usage["generator"].calls == 1


class Echo(Translation):
    """Says what it was asked, or refuses, or takes its time."""

    async def chat(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if request["model"] == "full":
            raise ServerRefused(429, "come back later")
        if request["model"] == "slow":
            await asyncio.sleep(3600)
        if request["model"] == "late":
            raise TimeoutError("its own")
        return chat_reply(json.dumps(request))


# A translation by itself


async def posted(translation: Translation, path: str, request: Mapping[str, Any]) -> httpx2.Response:
    async with httpx2.AsyncClient(transport=translation, timeout=0.2) as client:
        return await client.post(f"http://nowhere.invalid/v1/{path}", json=request)


async def test_one_request_takes_no_longer_than_the_client_allows() -> None:
    with pytest.raises(httpx2.ReadTimeout, match=r"no reply within 0\.2 s"):
        await posted(Echo(), "chat/completions", {"model": "slow"})
    with pytest.raises(TimeoutError, match="its own"):
        await posted(Echo(), "chat/completions", {"model": "late"})


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("chat/completions", "this provider does not generate as m"),
        ("embeddings", "this provider does not embed as m"),
    ],
)
async def test_what_it_does_not_play_it_refuses_for_good(path: str, words: str) -> None:
    response = await posted(Translation(), path, {"model": "m"})
    assert (response.status_code, read_error(response.content)[0]) == (404, words)


UNMETERED = Usage(calls=1, unmetered_calls=1)


@pytest.mark.parametrize(
    ("reply", "usage"),
    [
        (chat_reply("yes"), UNMETERED),
        (chat_reply("yes", input_tokens=3), UNMETERED),
        (chat_reply("yes", output_tokens=3), UNMETERED),
        (embeddings_reply([[1.0]]), UNMETERED),
        (chat_reply("", input_tokens=3, output_tokens=0), Usage(calls=1, input_tokens=3)),
        (chat_reply("yes", input_tokens=3, output_tokens=1), Usage(calls=1, input_tokens=3, output_tokens=1)),
        (embeddings_reply([[1.0]], input_tokens=4), Usage(calls=1, input_tokens=4)),
    ],
)
def test_a_reply_is_counted_with_its_tokens_or_unmetered(reply: Mapping[str, Any], usage: Usage) -> None:
    assert read_usage(json.dumps(reply).encode()) == usage
