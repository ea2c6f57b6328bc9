"""The first call of a model, before anything is paid: refusals become one line, and required changes are
learnt.
"""

import asyncio
import json
import random
import re
from contextlib import suppress
from typing import Any

import httpx2

from harness.config import EmbedderConfig, GeneratorConfig, ModelConfig
from harness.core.errors import BudgetExhausted, ModelUnavailable
from harness.models.clients import CutOff, chat_request, embedding_request, open_transport, text_of
from harness.models.metering import Meter, metered
from harness.models.providers import api_key, provider_of
from harness.models.reply_parsing import UnreadableReply, counted_tokens, read_error
from harness.models.transport import CallContext
from harness.protocols import Message

_PROMPT = (Message("user", "Reply with the word yes."),)
_N_WORDS = 2400
_WORDS = ("river", "stone", "apple", "garden", "paper", "window", "silver", "bridge", "coffee", "letter", "forest")
_LONGEST_S = 60.0
_LONG_PROMPT_S = 40.0
_TOO_LONG = frozenset({400, 413, 422})
_MAY_PASS = frozenset({408, 409, 429})


def is_asked(config: ModelConfig) -> bool:
    """Whether there is a server that could refuse; a model of this process accepts everything."""
    return config.base_url is not None


async def ask_once(config: ModelConfig, call_context: CallContext, scope: str) -> str:
    """Call the model of a resolved config once, counted and journaled under `scope`. Returns a warning about a
    context that is too small, or nothing.

    Raises ModelUnavailable if every call would fail: the key, the model or a parameter is refused, every try gave
    a body that is no reply, or all of max_tokens is used before the first word. A slow or faltering server, and a
    budget that is too small, are left to the next call.
    """
    warning = ""
    with suppress(TimeoutError, httpx2.TransportError, BudgetExhausted), metered(Meter(scope)):
        async with (
            asyncio.timeout(_LONGEST_S),
            httpx2.AsyncClient(transport=open_transport(config, call_context), timeout=config.timeout_s) as client,
        ):
            # Not under a budget, which may be smaller than a long prompt.
            is_long = provider_of(config).may_cut_prompts and not call_context.budget.limits_calls
            if isinstance(config, GeneratorConfig) and is_long:
                # Words in random order, so that each is at least one token, and not the same every day, so that a
                # server has none of it in its cache.
                words = f"Ignore these words: {random_words(_N_WORDS, scope)}\n\n{_PROMPT[0].content}"
                body = chat_request(config, [Message("user", words)])
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LONG_PROMPT_S):
                        response = await _post(client, config, body)
                        warning = _about_context(config, response)
                        if not 400 <= response.status_code < 500:
                            with suppress(ModelUnavailable):
                                _check(config, response, body)
                                return warning
            if isinstance(config, EmbedderConfig):
                body = embedding_request(config, ["yes"])
            else:
                assert isinstance(config, GeneratorConfig)  # noqa: S101 - a model of either kind
                body = chat_request(config, _PROMPT)
            response = await _post(client, config, body)
            _check(config, response, body)
    return warning


def random_words(n: int, seed: str | None = None) -> str:
    return " ".join(random.Random(seed).choices(_WORDS, k=n))  # noqa: S311 - no secret


def _about_context(config: GeneratorConfig, response: httpx2.Response) -> str:
    where = f"the {config.described}"
    fix = "raise its context (OLLAMA_CONTEXT_LENGTH of Ollama, -c of llama.cpp), or send less (docs/models.md)"
    if response.status_code in _TOO_LONG:
        message = read_error(response.content).brief
        is_about_length = re.search(r"context|token|length|too (?:long|large)", message, re.IGNORECASE)
        return f"{where} refuses a prompt of {_N_WORDS:,} words ({message}): {fix}" if is_about_length else ""
    counted = counted_tokens(response.content) if response.status_code == 200 else None
    if counted is None or counted >= _N_WORDS:
        return ""
    return f"{where} counts {counted:,} tokens of a prompt of {_N_WORDS:,} words, so it cuts long prompts: {fix}"


async def _post(client: httpx2.AsyncClient, config: ModelConfig, body: dict[str, Any]) -> httpx2.Response:
    path = "/chat/completions" if isinstance(config, GeneratorConfig) else "/embeddings"
    headers = {"Authorization": f"Bearer {api_key(config)}"}
    try:
        return await client.post(f"{config.base_url}{path}", json=body, headers=headers)
    except UnreadableReply as error:
        where = f"the {config.described}"
        raise ModelUnavailable(f"{where}: {error}", f"check models.{config.role}.base_url") from error


def _check(config: ModelConfig, response: httpx2.Response, body: dict[str, Any]) -> None:
    status, role = response.status_code, config.role
    if 300 <= status < 400 or status == 511:
        raise ModelUnavailable(
            f"the {config.described} redirects or wants a login (HTTP {status})",
            f"set models.{role}.base_url to the URL that answers itself: https instead of http, no login page",
        )
    if 400 <= status < 500 and status not in _MAY_PASS:
        message = read_error(response.content).brief
        raise ModelUnavailable(
            f"the {config.described} refuses what it is asked (HTTP {status}: {message})",
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
    ours = [name for name in (*config.extra, "temperature", "seed", "max_tokens") if name in body]
    change = f"change models.{config.role}" + (f" (it is sent {', '.join(ours)})" if ours else "")
    names = [name for name in ours if name != "max_tokens" and name not in config.extra]
    omit = ",".join([name for name in names if name in message] or names)
    return f"{change}, or omit a parameter: --set models.{config.role}.omit=[{omit}]" if names else change
