"""Adapts a server with another protocol: OpenAI's protocol for the transport above, the server's own below."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx2


class ServerRefused(Exception):
    """The server answered with an error. `status` as in HTTP: temporary errors (429, 5xx) are retried as soon as
    `headers` allow it (retry-after).
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})


class Translation(httpx2.AsyncBaseTransport):
    """Override the methods for the roles of the provider. The translation is below the journal: its results are
    journaled and counted, and its exceptions (`ServerRefused`, `httpx2.TransportError`) are retried and recorded
    as for any other server.
    """

    async def chat(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The reply, made by `chat_reply`, to a request with `model`, `messages` (each with `role` and `content`),
        `max_tokens`, optionally `temperature` and `seed`, the config's `extra`, and `response_format` if a JSON
        schema is used.
        """
        raise ServerRefused(404, f"this provider does not generate as {request.get('model')}")

    async def embeddings(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The reply, made by `embeddings_reply`, to a request with `model` and `input`, a list of texts."""
        raise ServerRefused(404, f"this provider does not embed as {request.get('model')}")

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request in OpenAI's protocol; the config's `timeout_s` applies."""
        asked = json.loads(await request.aread())
        answer = self.embeddings if request.url.path.endswith("/embeddings") else self.chat
        headers: dict[str, str] = {}
        limit_s = request.extensions.get("timeout", {}).get("read")
        try:
            async with asyncio.timeout(limit_s) as limit:
                status, reply = 200, await answer(asked)
        except ServerRefused as refused:
            status, reply, headers = refused.status, {"error": {"message": refused.message}}, refused.headers
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise httpx2.ReadTimeout(f"no reply within {limit_s:g} s", request=request) from error
        return httpx2.Response(status, json=reply, headers=headers, request=request)


def chat_reply(
    text: str,
    *,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    cached_tokens: int = 0,
    finish_reason: str = "stop",
) -> dict[str, Any]:
    """A chat completion; without token counts it counts as unmetered, never as 0.

    `cached_tokens`: those of `input_tokens` from a prompt cache. `finish_reason`: `length` if max_tokens ended it.
    """
    reply: dict[str, Any] = {
        "id": "translated",
        "object": "chat.completion",
        "created": 0,
        "model": "translated",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
        ],
    }
    return reply | _usage(input_tokens, output_tokens, cached_tokens)


def embeddings_reply(vectors: Sequence[Sequence[float]], *, input_tokens: int | None = None) -> dict[str, Any]:
    """Vectors in the order of the texts; token counts as in `chat_reply`."""
    # Those of an array are numbers that JSON does not know.
    rows = [[float(value) for value in row] for row in vectors]
    data = [{"object": "embedding", "index": n, "embedding": row} for n, row in enumerate(rows)]
    return {"object": "list", "model": "translated", "data": data, **_usage(input_tokens, 0)}


def _usage(input_tokens: int | None, output_tokens: int | None, cached_tokens: int = 0) -> dict[str, Any]:
    if input_tokens is None or output_tokens is None:
        return {}
    total = input_tokens + output_tokens
    counted = {"prompt_tokens": input_tokens, "completion_tokens": output_tokens, "total_tokens": total}
    return {"usage": {**counted, "prompt_tokens_details": {"cached_tokens": cached_tokens}}}
