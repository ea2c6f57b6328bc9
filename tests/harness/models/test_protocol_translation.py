"""A provider whose server speaks another protocol: its translation, below the journal."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from harness.config import GeneratorConfig
from harness.core.records import Usage
from harness.models.metering import Meter, metered
from harness.models.model_endpoint import Endpoint
from harness.models.model_proxy_server import ServerRefused, Translation, chat_reply, embeddings_reply
from harness.models.rate_limits import AdaptiveLimiter
from harness.models.reply_parsing import read_error, read_usage
from harness.models.transport import CallContext, MeteredTransport

UNMETERED = Usage(calls=1, unmetered_calls=1)


class Echo(Translation):
    """Repeats the request, or does what the name of the model says."""

    async def chat(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if request["model"] == "full":
            raise ServerRefused(429, "come back later", {"retry-after": "0"})
        if request["model"] == "slow":
            await asyncio.sleep(3600)
        if request["model"] == "late":
            raise TimeoutError("its own")
        return chat_reply(request["said"])


async def posted(transport: httpx2.AsyncBaseTransport, path: str, request: Mapping[str, Any]) -> httpx2.Response:
    async with httpx2.AsyncClient(transport=transport, timeout=0.2) as client:
        return await client.post(f"http://nowhere.invalid/v1/{path}", json=request)


async def test_a_request_that_cannot_be_translated_fails_alone(call_context: CallContext) -> None:
    over = MeteredTransport(call_context, Endpoint(GeneratorConfig(max_retries=0), "", AdaptiveLimiter(1)), Echo())
    with metered(Meter("answer/q/0/1")), pytest.raises(KeyError, match="said"):
        await posted(over, "chat/completions", {"model": "m"})
    assert call_context.fatal is None


async def test_one_request_takes_no_longer_than_the_client_allows() -> None:
    with pytest.raises(httpx2.ReadTimeout, match=r"no reply within 0\.2 s"):
        await posted(Echo(), "chat/completions", {"model": "slow"})
    with pytest.raises(TimeoutError, match="its own"):
        await posted(Echo(), "chat/completions", {"model": "late"})


@pytest.mark.parametrize(
    ("translation", "path", "model", "status", "words"),
    [
        (Echo(), "chat/completions", "full", 429, "come back later"),
        (Translation(), "chat/completions", "m", 404, "this provider does not generate as m"),
        (Translation(), "embeddings", "m", 404, "this provider does not embed as m"),
    ],
)
async def test_refusals_keep_their_status(
    translation: Translation, path: str, model: str, status: int, words: str
) -> None:
    response = await posted(translation, path, {"model": model})
    assert (response.status_code, read_error(response.content).message) == (status, words)
    assert response.headers.get("retry-after") == ("0" if status == 429 else None)


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
