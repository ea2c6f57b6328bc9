"""The metered clients a system gets: a chat model and an embedder."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import httpx2

from harness.config import EmbedderConfig, GeneratorConfig, ModelConfig
from harness.core.errors import NoLogprobs
from harness.core.records import Usage
from harness.llm_utils.reasoning import Separated, separate_reasoning
from harness.llm_utils.structured_output import parse_object
from harness.models.metering import current_meter
from harness.models.model_endpoint import Endpoint
from harness.models.parameter_adapter import REFUSING, AdaptingTransport, ModelDialect, refused_parameter
from harness.models.providers import api_key, need_client, provider_of
from harness.models.remote_calls import RemoteCallContext, RemoteTransport
from harness.models.reply_parsing import ending_of, usage_of
from harness.models.transport import CallContext, MeteredTransport
from harness.models.vectors import BatchTooLarge, is_about_a_batch, vectors_of
from harness.protocols import Message, Tool, ToolCall, Vectors
from harness.store import Dialect, Dialects

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from harness.models.llama_server import ServerAccess

_TOOL_CALL = re.compile(
    r"\s*(?:<tool_call>|<function=|\[TOOL_CALLS\]|<\|(?:python_tag|tool_calls_section_begin|tool_call_start)\|>"
    r"|<\uff5ctool\u2581calls\u2581begin\uff5c>)"
)
"""A call of a tool as text, of a server that does not parse it: Qwen, Llama, Mistral, Kimi, Liquid, DeepSeek."""
_MOST_LOGPROBS = 20
"""Maximum in OpenAI's protocol."""
_LOWEST_MASS = 0.5
"""Probability that the letters of a choice must have together; below it the reply probably begins with something
else.
"""
NO_URL = "http://fake.invalid/v1"
"""For a provider without a server; its transport ignores it."""


AnyCallContext = CallContext | RemoteCallContext


def build_chat(
    config: GeneratorConfig, call_context: AnyCallContext, server: "ServerAccess | None" = None
) -> "OpenAIChat | None":
    """The generator or judge of a resolved config; None if there is none. `server`: one that was started
    for it.
    """
    if config.is_none:
        return None
    return OpenAIChat(config, open_client(config, call_context, server))


def open_client(
    config: ModelConfig, call_context: AnyCallContext, server: "ServerAccess | None" = None
) -> "AsyncOpenAI":
    """An openai client whose requests all go through our transport; its own retries are off."""
    need_client()
    from openai import AsyncOpenAI

    transport: httpx2.AsyncBaseTransport
    if isinstance(call_context, RemoteCallContext):
        # The process that makes the calls has the key and the address of the server.
        url, key = NO_URL, "relayed"
        transport = RemoteTransport(call_context, config.role, httpx2.URL(NO_URL).path)
    else:
        url, key = access_of(config, server)
        transport = open_transport(config, call_context, server)
    return AsyncOpenAI(
        api_key=key,
        base_url=url,
        max_retries=0,
        timeout=config.timeout_s,
        http_client=httpx2.AsyncClient(transport=transport, timeout=config.timeout_s),
    )


def access_of(config: ModelConfig, server: "ServerAccess | None" = None) -> tuple[str, str]:
    """(URL, key) of a role's server. Raises as `api_key` does."""
    return _url(config, server), server.api_key if server else api_key(config)


def open_transport(
    config: ModelConfig, call_context: CallContext, server: "ServerAccess | None" = None
) -> MeteredTransport:
    """The metered transport of a role, above one that adapts requests to the server."""
    url = _url(config, server)
    endpoint = Endpoint(config, url, call_context.limiters.of(config, url))
    inner = provider_of(config).transport(config)
    # Local models accept all parameters.
    if isinstance(config, GeneratorConfig) and (config.base_url or config.sent_as or config.reasoning_tokens):
        inner = AdaptingTransport(inner, _spoken(config, call_context, url))
    return MeteredTransport(call_context, endpoint, inner)


def _spoken(config: GeneratorConfig, call_context: CallContext, url: str) -> ModelDialect:
    # A parameter may be accepted only with others, such as a temperature with a certain reasoning effort.
    role, beside = config.role, f" with {json.dumps(config.extra, sort_keys=True)}" if config.extra else ""
    return ModelDialect(
        config,
        server=f"{config.model} at {url}{beside}",
        dialects=call_context.dialects if config.base_url else Dialects(),
        of_run=call_context.begun_in.get(role, Dialect()),
        say=call_context.say,
        noted=lambda dialect: call_context.noted(role, dialect),
    )


def _url(config: ModelConfig, server: "ServerAccess | None") -> str:
    return (server.base_url if server else config.base_url) or NO_URL


def chat_request(
    config: GeneratorConfig, messages: Sequence[Message], max_tokens: int | None = None
) -> dict[str, Any]:
    """The request to a generator or judge, without a schema, as configured; the server may refuse parts of it."""
    decoding = {"temperature": config.temperature, "seed": config.seed}
    return {
        "model": config.model,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "max_tokens": max_tokens or config.max_tokens,
        **{name: value for name, value in decoding.items() if value is not None},
        **config.extra,
    }


def embedding_request(config: EmbedderConfig, texts: Sequence[str]) -> dict[str, Any]:
    # No encoding_format: numbers are the default, and some servers refuse the parameter.
    return {"input": list(texts), "model": str(config.model), **config.extra}


class CutOff(ValueError):
    """`max_tokens` ended a reply before its first word, so it is neither an answer nor an abstention."""


def text_of(reply: Any, config: GeneratorConfig, max_tokens: int) -> Separated:
    """The text of a chat completion, its reasoning apart. Raises ValueError, with the server's own words, if there
    is no answer: it was filtered or refused, or a tool was called; `CutOff` if max_tokens ended it first.
    """
    choice = _part(reply, "choices", 0)
    message, ending = _part(choice, "message"), ending_of(choice)
    content = _part(message, "content")
    found = separate_reasoning(_text(content) or "", is_cut=ending == "cut")
    fields = [_text(_part(message, name)) or "" for name in ("reasoning_content", "reasoning")]
    fields += _reasoning_parts(content)
    if not any(fields) and isinstance(details := _part(message, "reasoning_details"), list):
        fields += [_text(_part(part, "text")) or _text(_part(part, "summary")) or "" for part in details]
    reasoning = "\n".join(part for part in dict.fromkeys((*fields, found.reasoning)) if part.strip())
    if ending == "filtered":
        reason = _brief(str(_part(choice, "finish_reason")))
        raise ValueError(f"the provider's content filter stopped the reply (finish_reason {reason})")
    calls = _part(message, "tool_calls") or _part(message, "function_call")
    if (calls and ending == "tool") or _TOOL_CALL.match(found.answer):
        raise ValueError("the model called a tool instead of answering")
    if found.answer.strip():
        return Separated(reasoning, found.answer)
    if ending == "cut" or not found.is_complete:
        hidden = _part(reply, "usage", "completion_tokens_details", "reasoning_tokens")
        spent = f", {hidden:,} of them on reasoning" if isinstance(hidden, int) and hidden else ""
        raise CutOff(
            f"the model spent all of max_tokens ({max_tokens + config.reasoning_tokens:,}{spent}) before the "
            f"first word of its reply: raise models.{config.role}.max_tokens, or reasoning_tokens, which every "
            "call gets more"
        )
    if refusal := _text(_part(message, "refusal")):
        raise ValueError(f"the model refused: {_brief(refusal)}")
    if calls:
        raise ValueError("the model called a tool instead of answering")
    if reasoning:
        raise ValueError("the reply has reasoning and no answer: configure the server's reasoning parser")
    if _part(message, "content") is None:
        raise ValueError("the model's reply holds no text")
    return found


def _brief(text: str) -> str:
    return " ".join(text.split())[:200]


class OpenAIChat:
    """A `ChatModel` over any OpenAI-compatible server."""

    def __init__(self, config: GeneratorConfig, client: "AsyncOpenAI") -> None:
        self._config, self._client = config, client
        self.named = config.label
        """`provider/model`."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        json_schema: Mapping[str, Any] | None = None,
    ) -> str:
        """See `harness.protocols.ChatModel`. Raises ValueError if the reply has no text."""
        request = chat_request(self._config, messages, max_tokens)
        if json_schema is not None:
            bounded = provider_of(self._config).bounds_strings
            wanted = dict(json_schema) if bounded else _without_lengths(json_schema)
            schema = {"name": "reply", "schema": wanted, "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        reply = await self._reply(request)
        found = text_of(reply, self._config, request["max_tokens"])
        if found.reasoning:
            current_meter().reasoning.append(_well_formed(found.reasoning))
        return _well_formed(found.answer)

    async def choose(self, messages: Sequence[Message], letters: Sequence[str]) -> dict[str, float]:
        from openai import APIStatusError

        asked = {"logprobs": True, "top_logprobs": _MOST_LOGPROBS}
        request = {**chat_request(self._config, messages), "max_tokens": 1, **asked}
        try:
            reply = await self._reply(request)
        except APIStatusError as error:
            if error.status_code in REFUSING and refused_parameter(error.response.content, asked):
                raise self._no_logprobs(refused=True) from error
            raise
        try:
            likely = reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
            told = [(each["token"].strip(), min(float(each["logprob"]), 0.0)) for each in likely]
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise self._no_logprobs() from error
        weights = {letter: sum(math.exp(log) for token, log in told if token == letter) for letter in letters}
        total = sum(weights.values())
        if not _LOWEST_MASS <= total < math.inf:
            raise ValueError(f"none of {', '.join(letters)} is a likely reply: together they have {total:.2g}")
        return {letter: weight / total for letter, weight in weights.items()}

    def _no_logprobs(self, *, refused: bool = False) -> NoLogprobs:
        return NoLogprobs(
            f"the {self._config.role} '{self._config.model}' gives no log probabilities",
            "choose a server that does (llama.cpp, vLLM, OpenAI), or a method that needs none",
            refused=refused,
        )

    @property
    def calls_tools(self) -> bool:
        return provider_of(self._config).calls_tools

    async def call(
        self, messages: Sequence[Message], tools: Sequence[Tool], *, max_tokens: int | None = None
    ) -> ToolCall:
        request = chat_request(self._config, messages, max_tokens)
        request["tools"] = [{"type": "function", "function": tool._asdict()} for tool in tools]
        request["tool_choice"] = "required"
        reply = await self._reply(request)
        function = _part(reply, "choices", 0, "message", "tool_calls", 0, "function")
        name, names = _part(function, "name"), [tool.name for tool in tools]
        if name not in names:
            raise ValueError(f"the reply calls none of the tools {', '.join(names)}")
        return ToolCall(name, parse_object(str(_part(function, "arguments"))))

    async def forward(self, request: Mapping[str, Any]) -> Any:
        """The server's whole reply, as JSON, to a request from outside. The configured model answers, whichever
        model the request names, with configured values for missing parameters.
        """
        most = {} if "max_completion_tokens" in request else {"max_tokens": self._config.max_tokens}
        seed = {} if self._config.seed is None else {"seed": self._config.seed}
        defaults = {"temperature": self._config.temperature, **most, **seed}
        given = {key: value for key, value in request.items() if value is not None and key != "stream_options"}
        return await self._reply({**defaults, **given, "model": self._config.model})

    async def _reply(self, request: Mapping[str, Any]) -> Any:
        return await _post(self._client, "/chat/completions", request)

    async def close(self) -> None:
        await self._client.close()


class OpenAIEmbedding:
    """Embeds by any OpenAI-compatible /embeddings; rows are normalised to unit length."""

    def __init__(self, config: EmbedderConfig, client: "AsyncOpenAI") -> None:
        self.role = config.role
        self._config = config
        self._client = client

        self.named = config.described
        """`embedder MODEL at URL`."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), d), float32, unit rows."""
        return (await self.embed_counted(texts))[0]

    async def embed_counted(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        """The same, with the usage of the call. Raises `BatchTooLarge` if the server accepts fewer texts."""
        from openai import APIStatusError

        try:
            reply = await _post(self._client, "/embeddings", embedding_request(self._config, texts))
        except APIStatusError as error:
            if len(texts) > 1 and is_about_a_batch(error.status_code, str(error)):
                raise BatchTooLarge(str(error)) from error
            raise
        return vectors_of(reply, len(texts)), usage_of(reply)

    async def close(self) -> None:
        await self._client.close()


def _without_lengths(schema: Any) -> Any:
    """The schema without length limits on strings, which OpenAI's strict mode does not support."""
    if isinstance(schema, Mapping):
        return {
            key: _without_lengths(value) for key, value in schema.items() if key not in {"minLength", "maxLength"}
        }
    return [_without_lengths(item) for item in schema] if isinstance(schema, list) else schema


def _text(content: Any) -> str | None:
    """The text of a message, or of its parts if the server sends a list of them."""
    if not isinstance(content, list):
        return None if content is None else str(content)
    texts = [part if isinstance(part, str) else _part(part, "text") for part in content if not _is_reasoning(part)]
    found = [text for text in texts if isinstance(text, str)]
    return "".join(found) if found else None


def _reasoning_parts(content: Any) -> list[str]:
    parts = [part for part in content if _is_reasoning(part)] if isinstance(content, list) else []
    return [_text(_part(part, "thinking")) or _text(_part(part, "text")) or "" for part in parts]


def _is_reasoning(part: Any) -> bool:
    return _part(part, "type") in ("thinking", "reasoning")


def _well_formed(text: str) -> str:
    """The text with U+FFFD for half a surrogate pair (an emoji cut by max_tokens), which no file can store."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _part(value: Any, *path: str | int) -> Any:
    """The part of a reply at these keys and places; None if it is not there."""
    for key in path:
        if isinstance(value, dict):
            value = value.get(key)
        else:
            value = value[key] if isinstance(value, list) and isinstance(key, int) and key < len(value) else None
    return value


async def _post(client: "AsyncOpenAI", path: str, body: Mapping[str, Any]) -> Any:
    """The JSON of a reply. The client's own classes are not used: they are a thousand modules, which took every
    process most of a second to load. Errors of our transport are raised as they are, not as APIConnectionError.
    """
    from openai import APIConnectionError

    try:
        # Never an administrator's key, which the client would take from the environment.
        return await client.post(path, body=body, cast_to=object, options={"security": {"bearer_auth": True}})
    except APIConnectionError as error:
        if error.__cause__ is None or isinstance(error.__cause__, httpx2.TransportError):
            raise
        raise error.__cause__ from None
