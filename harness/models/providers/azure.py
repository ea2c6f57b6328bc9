"""OpenAI's models on Azure: the same protocol, with the deployment in the path and the key in another header."""

import json
from typing import Any
from urllib.parse import quote

import httpx2
from pydantic import Field

from harness.config import ModelConfig
from harness.models.connection_pool import ConnectionPool
from harness.models.providers import api_key
from harness.models.providers.http import HttpDefaults, http_provider
from harness.protocols import Params


class AzureOptions(Params):
    """`models.generator.options` of Azure."""

    api_version: str = Field("2024-10-21", pattern=r"^(v1|\d{4}-\d{2}-\d{2}(-preview)?)$")
    """A date, or `v1`: the interface of that name, whose path has no deployment."""


class Azure(httpx2.AsyncBaseTransport):
    """Sends requests for OpenAI's paths to the paths of the resource."""

    def __init__(self, config: ModelConfig) -> None:
        self._root, self._key, self._http = str(config.base_url), api_key(config), ConnectionPool()
        self._version = AzureOptions.model_validate(config.options).api_version

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body: dict[str, Any] = json.loads(await request.aread())
        what = "embeddings" if request.url.path.endswith("/embeddings") else "chat/completions"
        if self._version == "v1":
            url = f"{self._root}/openai/v1/{what}"
        else:
            deployment = quote(str(body.pop("model")), safe="")
            url = f"{self._root}/openai/deployments/{deployment}/{what}?api-version={self._version}"
        sent = httpx2.Request(
            "POST",
            url,
            headers={"api-key": self._key, "accept-encoding": request.headers.get("accept-encoding", "identity")},
            json=body,
            extensions=request.extensions,
        )
        return await self._http.handle_async_request(sent)

    async def aclose(self) -> None:
        await self._http.aclose()


AZURE = http_provider(
    "azure",
    "OpenAI's models on Azure; costs money, needs AZURE_OPENAI_API_KEY, base_url and as model the deployment",
    HttpDefaults(api_key_env="AZURE_OPENAI_API_KEY", options=AzureOptions, without=("/openai/v1", "/openai")),
    transport=Azure,
    fix="correct base_url (https://NAME.openai.azure.com), model (the deployment's name) or options.api_version",
    bounds_strings=False,
    calls_tools=True,
)
