"""Anthropic's models through their own protocol, the Messages API."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx2

from harness.config import GeneratorConfig, ModelConfig
from harness.core.errors import ConfigError
from harness.models.connection_pool import ConnectionPool
from harness.models.model_proxy_server import ServerRefused, Translation, chat_reply
from harness.models.providers import api_key
from harness.models.providers.http import HttpDefaults, http_provider
from harness.models.reply_parsing import ACCEPTED_CODINGS, read_error, received

_VERSION = "2023-06-01"
_TOOL = "reply"
_TRANSLATED = frozenset({"model", "messages", "max_tokens", "response_format"})
_ENDED_BY = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "content_filter"}
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""Fields of a usage block that other protocols count as one."""


class Anthropic(Translation):
    """A JSON schema is sent as the input of a tool that must be used: every model supports that."""

    def __init__(self, config: ModelConfig) -> None:
        self._url, self._http = f"{config.base_url}/v1/messages", ConnectionPool()
        self._headers = {
            "x-api-key": api_key(config),
            "anthropic-version": _VERSION,
            "accept-encoding": ACCEPTED_CODINGS,
        }

    async def chat(self, request: Mapping[str, Any]) -> dict[str, Any]:
        asked = httpx2.Request("POST", self._url, headers=self._headers, json=_translated(request))
        response = await received(await self._http.handle_async_request(asked), asked)
        if response.status_code != 200:
            raise _refusal(response, asked)
        said = json.loads(response.content)
        used = said.get("usage") or {}
        counted = "input_tokens" in used and "output_tokens" in used
        return chat_reply(
            _text(said.get("content") or []),
            input_tokens=sum(used.get(name) or 0 for name in _INPUT) if counted else None,
            output_tokens=used["output_tokens"] if counted else None,
            cached_tokens=used.get("cache_read_input_tokens") or 0,
            finish_reason=_ENDED_BY.get(str(said.get("stop_reason")), "stop"),
        )

    async def aclose(self) -> None:
        await self._http.aclose()


def _translated(request: Mapping[str, Any]) -> dict[str, Any]:
    """System messages are separate; unknown parameters are passed on."""
    turns = request["messages"]
    system = "\n\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    body = {
        "model": request["model"],
        "max_tokens": request["max_tokens"],
        "messages": [dict(turn) for turn in turns if turn["role"] != "system"],
        **({"system": system} if system else {}),
        **{name: value for name, value in request.items() if name not in _TRANSLATED},
    }
    thinks = (request.get("thinking") or {}).get("type", "disabled") != "disabled"
    if "response_format" in request and not thinks:
        # With reasoning, a tool cannot be required, so the prompt asks for JSON as well.
        schema = request["response_format"]["json_schema"]["schema"]
        body["tools"] = [{"name": _TOOL, "description": "Gives the reply.", "input_schema": schema}]
        body["tool_choice"] = {"type": "tool", "name": _TOOL}
    return body


def _text(blocks: list[Mapping[str, Any]]) -> str:
    """The text, or the input of the tool, without reasoning."""
    given = [block.get("input") for block in blocks if block.get("type") == "tool_use"]
    if given:
        return json.dumps(given[0], ensure_ascii=False) if given[0] else ""
    return "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")


def _refusal(response: httpx2.Response, asked: httpx2.Request) -> ServerRefused:
    status, message = response.status_code, read_error(response.content).message
    if status == 400 and "credit balance" in message:
        status = 402
    if status == 400 and "tool_choice" in message and b'"tool_choice"' in asked.content:
        message = f"response_format is not supported by this model: {message}"
    waits = response.headers.get("retry-after")
    return ServerRefused(status, message, headers={"retry-after": waits} if waits else {})


def _resolve(config: GeneratorConfig) -> GeneratorConfig:
    resolved: GeneratorConfig = _SPEC.resolve(config)
    if config.seed:
        raise ConfigError(
            f"provider 'anthropic' has no seed, and models.{config.role}.seed is {config.seed}",
            f"set models.{config.role}.seed to null",
        )
    # What is never sent is not part of the model's identity.
    return resolved.model_copy(update={"seed": None})


_SPEC = http_provider(
    "anthropic",
    "Anthropic's own models; costs money, needs ANTHROPIC_API_KEY",
    HttpDefaults("https://api.anthropic.com", "ANTHROPIC_API_KEY", without=("/v1/messages", "/v1")),
    roles=frozenset({"generator"}),
    transport=Anthropic,
    fix="check the network and the model's name",
)
ANTHROPIC = replace(_SPEC, resolve=_resolve)
