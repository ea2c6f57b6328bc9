"""An external provider: a client of the server in `teller_server`, with its own protocol."""

import json
from collections.abc import Mapping
from typing import Any

import httpx2

from harness.config import ModelConfig
from harness.models.model_proxy_server import ServerRefused, Translation, chat_reply, embeddings_reply
from harness.models.providers.http import HttpDefaults, http_provider


class Teller(Translation):
    """Generates texts and embeds them."""

    def __init__(self, config: ModelConfig) -> None:
        self._url = config.base_url
        self._http = httpx2.AsyncHTTPTransport()

    async def chat(self, request: Mapping[str, Any]) -> dict[str, Any]:
        text = "\n".join(message["content"] for message in request["messages"])
        told = await self._ask("tell", {"text": text, "most": request["max_tokens"]})
        return chat_reply(told["said"], input_tokens=told["heard"], output_tokens=told["spoke"])

    async def embeddings(self, request: Mapping[str, Any]) -> dict[str, Any]:
        told = await self._ask("place", {"texts": request["input"]})
        return embeddings_reply(told["places"], input_tokens=told["heard"])

    async def _ask(self, what: str, body: Mapping[str, Any]) -> dict[str, Any]:
        request = httpx2.Request("POST", f"{self._url}/{what}", json=body)
        response = await self._http.handle_async_request(request)
        reply: dict[str, Any] = json.loads(await response.aread())
        if response.status_code != 200:
            raise ServerRefused(response.status_code, reply["why"])
        return reply

    async def aclose(self) -> None:
        await self._http.aclose()


SPEC = http_provider(
    "teller", "a server that tells", HttpDefaults(model="teller-1", embedding_model="teller-e"), transport=Teller
)
