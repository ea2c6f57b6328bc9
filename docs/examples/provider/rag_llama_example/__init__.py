"""llama.cpp's server, asked by its own endpoint /completion instead of OpenAI's protocol."""

import json
from collections.abc import Mapping
from typing import Any

import httpx2

from harness.config import ModelConfig
from harness.models.model_proxy_server import ServerRefused, Translation, chat_reply
from harness.models.providers import api_key
from harness.models.providers.http import HttpDefaults, http_provider


class Completion(Translation):
    """It lies below the call context, which journals, counts, limits and retries: here only the protocol
    changes.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._url, self._http = config.base_url, httpx2.AsyncHTTPTransport()
        self._headers = {"Authorization": f"Bearer {api_key(config)}"}

    async def chat(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Turns become a prompt by the template in the model's file, then that prompt is continued."""
        templated = await self._post("apply-template", {"messages": request["messages"]})
        body = {
            "prompt": templated["prompt"],
            "n_predict": request["max_tokens"],
            "temperature": request.get("temperature"),
            "seed": request.get("seed"),
            "json_schema": ((request.get("response_format") or {}).get("json_schema") or {}).get("schema"),
        }
        said = await self._post("completion", {key: value for key, value in body.items() if value is not None})
        return chat_reply(
            said["content"], input_tokens=said["tokens_evaluated"], output_tokens=said["tokens_predicted"]
        )

    async def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The server's reply; what it refuses is raised with its status, by which the call context knows
        what may pass.
        """
        asked = httpx2.Request("POST", f"{self._url}/{path}", headers=self._headers, json=body)
        response = await self._http.handle_async_request(asked)
        reply: dict[str, Any] = json.loads(await response.aread())
        if response.status_code != 200:
            raise ServerRefused(response.status_code, str(reply.get("error", reply)))
        return reply

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()


SPEC = http_provider(
    "llama-completion",
    "llama.cpp's server by its own /completion",
    HttpDefaults("http://127.0.0.1:8080", model="llama"),
    roles=frozenset({"generator"}),
    transport=Completion,
    fix="start it (llama-server -m MODEL.gguf), or correct base_url",
)
