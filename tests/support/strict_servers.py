"""Servers with Azure's and Anthropic's protocols that reject unknown requests, to test providers."""

import re
from collections.abc import Iterator
from typing import Any

from serving import Asked, json_reply

from harness.models.fake_faults import Reply

KEY = "key-of-the-strict-servers-0123456789"

AZURE_KNOWS = {
    "messages", "temperature", "max_tokens", "max_completion_tokens", "seed", "response_format", "top_p",
    "reasoning_effort",
}  # fmt: skip


def azure(asked: Asked) -> Reply:
    """A resource with the deployments `my-gpt` and `my-vectors`, under 2024-10-21 and v1."""
    found = re.fullmatch(r"/openai/deployments/([^/]+)/(chat/completions|embeddings)", asked.path)
    name, what = (found[1], found[2]) if found else (asked.body.get("model"), asked.path.partition("/v1/")[2])
    known = AZURE_KNOWS | (set() if found else {"model"})
    if asked.headers.get("api-key") != KEY or "authorization" in asked.headers:
        why = "Access denied due to invalid subscription key or wrong API endpoint."
        return _azure(401, why, "401")
    is_there = asked.query == {"api-version": ["2024-10-21"]} if found else asked.path.startswith("/openai/v1/")
    if not is_there:
        return _azure(404, "Resource not found", "404")
    if name not in {"my-gpt", "my-vectors"}:
        return _azure(404, "The API deployment for this resource does not exist.", "DeploymentNotFound")
    if what == "embeddings":
        rows = [{"index": n, "embedding": [1.0, 0.0]} for n, _ in enumerate(asked.body["input"])]
        return json_reply({"data": rows, "usage": {"prompt_tokens": 2, "total_tokens": 2}})
    if unknown := sorted(set(asked.body) - known):
        return _azure(400, f"Unrecognized request argument supplied: {unknown[0]}", None)
    usage = {
        "prompt_tokens": 30, "completion_tokens": 9, "total_tokens": 39,
        "prompt_tokens_details": {"cached_tokens": 10}, "completion_tokens_details": {"reasoning_tokens": 7},
    }  # fmt: skip
    message = {"role": "assistant", "content": "so it is"}
    return json_reply({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})


def _azure(status: int, message: str, code: str | None) -> Reply:
    return json_reply({"error": {"message": message, "type": None, "param": None, "code": code}}, status)


ANTHROPIC_KNOWS = {
    "model", "messages", "max_tokens", "system", "temperature", "top_p", "top_k", "tools", "tool_choice",
    "thinking", "stop_sequences", "metadata", "service_tier",
}  # fmt: skip


def anthropic(asked: Asked) -> Reply:
    """The Messages API with one model and a cached prompt."""
    found = next(filter(None, _wrongs(asked)), None)
    return found or json_reply(_message(asked.body))


def _wrongs(asked: Asked) -> Iterator[Reply | None]:
    headers, body, bad = asked.headers, asked.body, "invalid_request_error"
    unknown = sorted(set(body) - ANTHROPIC_KNOWS)
    turns = [
        turn for turn in body.get("messages", []) if set(turn) != {"role", "content"} or turn["role"] == "system"
    ]
    bounded = type(body.get("max_tokens")) is int
    is_free = "tool_choice" not in body and body.get("temperature", 1) == 1
    only_1 = "`temperature` may only be set to 1 when thinking is enabled."
    yield None if asked.path == "/v1/messages" else refused(404, "not_found_error", "Not Found")
    is_known = headers.get("x-api-key") == KEY and "authorization" not in headers
    yield None if is_known else refused(401, "authentication_error", "invalid x-api-key")
    is_dated = headers.get("anthropic-version") == "2023-06-01"
    yield None if is_dated else refused(400, bad, "anthropic-version: header is required")
    yield refused(400, bad, f"{unknown[0]}: Extra inputs are not permitted") if unknown else None
    yield None if body["model"] == "claude-x" else refused(404, "not_found_error", f"model: {body['model']}")
    yield None if bounded else refused(400, bad, "max_tokens: Field required")
    yield refused(400, bad, 'messages: Unexpected role "system".') if turns else None
    yield None if is_free or "thinking" not in body else refused(400, bad, only_1)


def _message(body: dict[str, Any]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": "so it "}, {"type": "text", "text": "is"}]
    ended = "end_turn"
    if "tool_choice" in body:
        (tool,) = body["tools"]
        given = dict.fromkeys(tool["input_schema"]["properties"], "ünd so")
        content, ended = [{"type": "tool_use", "id": "t", "name": tool["name"], "input": given}], "tool_use"
    if "thinking" in body:
        content = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, *content]
    if body["max_tokens"] < 3:
        content, ended = [], "max_tokens"
    usage = {
        "input_tokens": 5, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 4,
    }  # fmt: skip
    return {
        "id": "m", "type": "message", "role": "assistant", "model": body["model"], "content": content,
        "stop_reason": ended, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def refused(status: int, kind: str, message: str, **headers: str) -> Reply:
    """An error of Anthropic's API."""
    return json_reply({"type": "error", "error": {"type": kind, "message": message}}, status, **headers)
