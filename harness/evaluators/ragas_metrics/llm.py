"""The judge with the interface of ragas.

Imports ragas, which takes seconds. Its telemetry is off only if RAGAS_DO_NOT_TRACK is set before.
"""

import asyncio
import json
import os
from collections.abc import Mapping
from typing import Any

from langchain_core.outputs import Generation, LLMResult
from langchain_core.prompt_values import PromptValue
from ragas import _analytics
from ragas.llms.base import BaseRagasLLM
from ragas.run_config import RunConfig

from harness.protocols import ChatModel, Message

# Even with telemetry off, every event would read or write an id in the user's home.
_analytics.user_data_dir = lambda **_: os.devnull

_SCHEMA_FOLLOWS = "specified in JSON Schema:\n"


class UnusableReply(ValueError):
    """The judge replied, but the reply cannot be scored."""


# The type checker does not follow ragas, so the base is Any.
class JudgeLLM(BaseRagasLLM):  # type: ignore[misc]
    """The judge during one judgement: one call at a time, each choice in a separate call, no retries.

    Our client handles retries and limits. The temperature is the judge's; a value from ragas is ignored.
    """

    def __init__(self, judge: ChatModel, *, constrained: bool) -> None:
        super().__init__(run_config=RunConfig(max_retries=1))
        self._judge = judge
        self._constrained = constrained
        self._turn = asyncio.Lock()
        self._over = False
        self.last_reply = ""

    async def ask(self, prompt: str, schema: Mapping[str, Any]) -> str:
        """The judge's reply, constrained to `schema` if replies are constrained."""
        async with self._turn:
            if self._over:
                raise RuntimeError("the judgement is over")
            self.last_reply = await self._judge.complete(
                [Message("user", prompt)], json_schema=schema if self._constrained else None
            )
            return self.last_reply

    async def end(self) -> None:
        """Wait for the current call and allow no other, so that a failed judgement pays for nothing more."""
        async with self._turn:
            self._over = True

    async def agenerate_text(self, prompt: PromptValue, n: int = 1, *_: Any, **__: Any) -> LLMResult:
        text = prompt.to_string()
        replies = [await self.ask(text, binary_schema(_schema_in(text))) for _ in range(n)]
        if any(map(is_cut_off, replies)):
            raise UnusableReply("the JSON in the judge's reply is truncated, perhaps by max_tokens")
        return LLMResult(generations=[[Generation(text=reply) for reply in replies]])

    def generate_text(self, *_: Any, **__: Any) -> LLMResult:
        raise NotImplementedError("the judge is called asynchronously")

    def is_finished(self, response: LLMResult) -> bool:  # noqa: ARG002 - ragas names it
        """Always true: a truncated reply has raised."""
        return True


def is_cut_off(reply: str) -> bool:
    """Whether the first JSON value in the reply is truncated."""
    starts = [at for at in (reply.find("{"), reply.find("[")) if at >= 0]
    if not starts:
        return False
    value = reply[min(starts) :].rstrip()
    try:
        json.JSONDecoder(strict=False).raw_decode(value)
    except json.JSONDecodeError as error:
        return error.pos >= len(value) or error.msg.startswith("Unterminated string")
    return False


def binary_schema(schema: Any) -> Any:
    """The schema as servers enforce it: no additional keys, and every integer (all are verdicts) is 0 or 1."""
    if isinstance(schema, list):
        return [binary_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: binary_schema(value) for key, value in schema.items()}
    if schema.get("type") == "object":
        strict["additionalProperties"] = False
    if schema.get("type") == "integer":
        strict["enum"] = [0, 1]
    return strict


def _schema_in(prompt: str) -> Any:
    """The schema that ragas writes into each of its prompts, before any untrusted text."""
    _, _, behind = prompt.partition(_SCHEMA_FOLLOWS)
    schema, _ = json.JSONDecoder().raw_decode(behind)
    return schema
