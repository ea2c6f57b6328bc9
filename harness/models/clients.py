"""The metered clients a system gets: a chat model and an embedder."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import httpx2
import numpy as np

from harness.config import EmbedderConfig, GeneratorConfig, ModelConfig
from harness.errors import ModelUnavailable
from harness.models.endpoint import Endpoint
from harness.models.limiter import AdaptiveLimiter
from harness.models.providers import api_key, need_client, provider_of
from harness.models.transport import MeteredTransport, Seam
from harness.models.vectors import unit_rows
from harness.protocols import Message

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from harness.models.local_server import ServerAccess
    from harness.protocols import Vectors

_MOST_LOGPROBS = 20
"""The most that OpenAI's protocol allows to ask for."""
NO_URL = "http://fake.invalid/v1"
"""Of a provider without a server: its transport never looks at it."""


def build_chat(config: GeneratorConfig, seam: Seam, server: "ServerAccess | None" = None) -> "OpenAIChat | None":
    """The generator or judge of a resolved config; None where there is none. `server`: one that was started for
    it.
    """
    if config.is_none:
        return None
    return OpenAIChat(config, open_client(config, seam, server))


def open_client(config: ModelConfig, seam: Seam, server: "ServerAccess | None" = None) -> "AsyncOpenAI":
    """An openai client whose every request passes the seam; its own retries are off."""
    need_client()
    from openai import AsyncOpenAI

    url, provider = (server.base_url if server else config.base_url) or NO_URL, provider_of(config)
    endpoint = Endpoint(
        role=config.role,
        base_url=url,
        max_retries=config.max_retries,
        limiter=AdaptiveLimiter(config.max_concurrency, config.requests_per_minute, config.tokens_per_minute),
        fix=provider.fix,
        max_retry_after_s=config.max_retry_after_s,
        max_throttled_s=config.max_throttled_s,
    )
    transport = MeteredTransport(seam, endpoint, provider.transport(config))
    return AsyncOpenAI(
        api_key=server.api_key if server else api_key(config),
        base_url=url,
        max_retries=0,
        timeout=config.timeout_s,
        http_client=httpx2.AsyncClient(transport=transport, timeout=config.timeout_s),
    )


class OpenAIChat:
    """A `ChatModel` over any OpenAI-compatible server."""

    def __init__(self, config: GeneratorConfig, client: "AsyncOpenAI") -> None:
        self._config = config
        self._client = client

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        json_schema: Mapping[str, Any] | None = None,
    ) -> str:
        """See `harness.protocols.ChatModel`. Raises ValueError where the reply has no text."""
        request = self._request(messages, max_tokens or self._config.max_tokens)
        if json_schema is not None:
            bounded = provider_of(self._config).bounds_strings
            wanted = dict(json_schema) if bounded else _without_lengths(json_schema)
            schema = {"name": "reply", "schema": wanted, "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        text = _text(_part(_part(await self._choice(request), "message"), "content"))
        if text is None:
            raise ValueError("the model's reply holds no text")
        return _well_formed(text)

    async def choose(self, messages: Sequence[Message], letters: Sequence[str]) -> dict[str, float]:
        """See `harness.protocols.LetterModel`."""
        request = {**self._request(messages, 1), "logprobs": True, "top_logprobs": _MOST_LOGPROBS}
        said = _part(_part(await self._choice(request), "logprobs"), "content")
        likely = _part(_part(said, 0), "top_logprobs")
        if not isinstance(likely, list):
            raise ModelUnavailable(
                f"the {self._config.role} '{self._config.model}' gives no log probabilities",
                "choose a server that does (llama.cpp, vLLM, OpenAI), or a way that needs none",
            )
        return _shares(likely, letters)

    def _request(self, messages: Sequence[Message], max_tokens: int) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._config.model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "temperature": self._config.temperature,
            "max_tokens": max_tokens,
        }
        if self._config.seed is not None:
            request["seed"] = self._config.seed
        return request

    async def _choice(self, request: Mapping[str, Any]) -> Any:
        return _part(_part(await _post(self._client, "/chat/completions", request), "choices"), 0)

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()


class OpenAIEmbedding:
    """Embeds by any OpenAI-compatible /embeddings; rows are normalised to unit length."""

    def __init__(self, config: EmbedderConfig, client: "AsyncOpenAI") -> None:
        self._config = config
        self._client = client

    async def embed(self, texts: Sequence[str]) -> "Vectors":
        """Shape (len(texts), d), float32, unit rows."""
        # Some servers do not know base64.
        request = {"input": list(texts), "model": str(self._config.model), "encoding_format": "float"}
        reply = await _post(self._client, "/embeddings", request)
        data = _part(reply, "data")
        rows = sorted(data if isinstance(data, list) else [], key=lambda row: _part(row, "index") or 0)
        if len(rows) != len(texts):
            raise ValueError(f"{len(texts)} texts were sent and {len(rows)} embeddings came back")
        return unit_rows(np.asarray([_part(row, "embedding") for row in rows], dtype=np.float32))

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()


def _shares(likely: Sequence[Any], letters: Sequence[str]) -> dict[str, float]:
    """Of each letter, from (token, log probability) of the likely first tokens; ValueError where there is none."""
    weights = dict.fromkeys(letters, 0.0)
    for each in likely:
        token, logprob = _part(each, "token"), _part(each, "logprob")
        if isinstance(token, str) and token.strip() in weights and isinstance(logprob, float | int):
            weights[token.strip()] += math.exp(min(float(logprob), 0.0))
    total = sum(weights.values())
    if not 0 < total < math.inf:
        raise ValueError(f"none of {', '.join(letters)} is among the model's likely replies")
    return {letter: weight / total for letter, weight in weights.items()}


def _without_lengths(schema: Any) -> Any:
    """The schema without bounds on strings, which are not among the keywords that OpenAI's strict mode knows."""
    if isinstance(schema, Mapping):
        return {
            key: _without_lengths(value) for key, value in schema.items() if key not in {"minLength", "maxLength"}
        }
    return [_without_lengths(item) for item in schema] if isinstance(schema, list) else schema


def _text(content: Any) -> str | None:
    """Of a message: its text, or that of its parts where a server sends a list of them."""
    if not isinstance(content, list):
        return None if content is None else str(content)
    texts = [part if isinstance(part, str) else _part(part, "text") for part in content]
    found = [text for text in texts if isinstance(text, str)]
    return "".join(found) if found else None


def _well_formed(text: str) -> str:
    """The text with U+FFFD for half a surrogate pair (an emoji cut by max_tokens), which no file could hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _part(value: Any, key: str | int) -> Any:
    """That part of a JSON value; None where it has none."""
    if isinstance(value, dict):
        return value.get(key)
    return value[key] if isinstance(value, list) and isinstance(key, int) and key < len(value) else None


async def _post(client: "AsyncOpenAI", path: str, body: Mapping[str, Any]) -> Any:
    """The JSON of a reply, read as it is: the client's own classes for it are a thousand modules, and loading them
    took every process most of a second. What the seam raised comes out as itself, not as APIConnectionError.
    """
    from openai import APIConnectionError

    try:
        # Never the key of an administrator, which the client would take from the environment.
        return await client.post(path, body=body, cast_to=object, options={"security": {"bearer_auth": True}})
    except APIConnectionError as error:
        if error.__cause__ is None or isinstance(error.__cause__, httpx2.TransportError):
            raise
        raise error.__cause__ from None
