"""The first call of a model, before anything is paid: refusals become one line, and required changes are
learnt.
"""

import asyncio
import json
from contextlib import suppress
from typing import Any

import httpx2

from harness.config import EmbedderConfig, GeneratorConfig, ModelConfig
from harness.core.errors import BudgetExhausted, ModelUnavailable
from harness.models.clients import CutOff, chat_request, embedding_request, open_transport, text_of
from harness.models.metering import Meter, metered
from harness.models.model_endpoint import read_error
from harness.models.providers import api_key
from harness.models.reply_parsing import UnreadableReply
from harness.models.transport import CallContext
from harness.protocols import Message

_PROMPT = (Message("user", "Reply with the word yes."),)
_LONGEST_S = 60.0
_MAY_PASS = frozenset({408, 409, 429})


def is_asked(config: ModelConfig) -> bool:
    """Whether there is a server that could refuse; a model of this process accepts everything."""
    return config.base_url is not None


async def ask_once(config: ModelConfig, call_context: CallContext, scope: str) -> None:
    """Call the model of a resolved config once, counted and journaled under `scope`.

    Raises ModelUnavailable if every call would fail: the key, the model or a parameter is refused, every try gave
    a body that is no reply, or all of max_tokens is used before the first word. A slow or faltering server, and a
    budget that is too small, are left to the next call.
    """
    path, body = _request(config)
    url = str(config.base_url)
    headers = {"Authorization": f"Bearer {api_key(config)}"}
    with suppress(TimeoutError, httpx2.TransportError, BudgetExhausted), metered(Meter(scope)):
        async with (
            asyncio.timeout(_LONGEST_S),
            httpx2.AsyncClient(transport=open_transport(config, call_context), timeout=config.timeout_s) as client,
        ):
            try:
                response = await client.post(f"{url}{path}", json=body, headers=headers)
            except UnreadableReply as error:
                where = f"the {config.role} {config.model} at {config.base_url}"
                raise ModelUnavailable(f"{where}: {error}", f"check models.{config.role}.base_url") from error
            _check(config, response, body)


def _request(config: ModelConfig) -> tuple[str, dict[str, Any]]:
    if isinstance(config, GeneratorConfig):
        return "/chat/completions", chat_request(config, _PROMPT)
    assert isinstance(config, EmbedderConfig)  # noqa: S101 - a model of either kind
    return "/embeddings", embedding_request(config, ["yes"])


def _check(config: ModelConfig, response: httpx2.Response, body: dict[str, Any]) -> None:
    status, role = response.status_code, config.role
    if 400 <= status < 500 and status not in _MAY_PASS:
        message, _ = read_error(response.content)
        raise ModelUnavailable(
            f"the {role} {config.model} at {config.base_url} refuses what it is asked (HTTP {status}: {message})",
            _fix(config, body, message),
        )
    if status == 200 and isinstance(config, GeneratorConfig):
        try:
            text_of(json.loads(response.content), config, body["max_tokens"])
        except CutOff as cut:
            raise ModelUnavailable(f"{role} {config.model}: {cut}") from cut
        except (ValueError, RecursionError):
            # No text, or damaged: other replies may be fine.
            return


def _fix(config: ModelConfig, body: dict[str, Any], message: str) -> str:
    """What to change after a refusal of `body`."""
    ours = [name for name in (*config.extra, "temperature", "seed", "max_tokens") if name in body]
    change = f"change models.{config.role}" + (f" (it is sent {', '.join(ours)})" if ours else "")
    names = [name for name in ours if name != "max_tokens" and name not in config.extra]
    omit = ",".join([name for name in names if name in message] or names)
    return f"{change}, or omit a parameter: --set models.{config.role}.omit=[{omit}]" if names else change
