"""Reads untrusted replies of servers: bodies within bounds and without keys, usage, limits, waiting times."""

import json
import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import httpx2

from harness.core.records import Usage
from harness.core.sanitize import cleaned, reply_without_keys
from harness.models.rate_limits import Allowances
from harness.models.vectors import rows_of

MAX_BODY_BYTES = 64 << 20
"""For one uncompressed reply: 32 embeddings of 4,096 numbers are 3 MB."""
MAX_TOKENS = 10**9
"""For one call; a larger count is treated as not counted."""
ACCEPTED_CODINGS = "gzip, deflate"
_UNPACKED_BY = {"gzip": 31, "x-gzip": 31, "deflate": 47}
"""Window bits of zlib; 47 detects the header."""
_LONGEST_ERROR = 2000
_WORDS = re.compile(r"\w+")
_TELLING_WORDS = 200
_ENDINGS = {
    "cut": "length max_tokens model_length",
    "filtered": "content_filter content_filtered safety sensitive recitation prohibited_content blocklist spii "
    "refusal guardrail_intervened",
    "tool": "tool_calls tool_call function_call tool_use",
    "fault": "error abort network_error insufficient_system_resource model_error malformed_function_call",
}
"""What the values of finish_reason mean, of OpenAI, Azure, Gemini, Anthropic, Bedrock, Mistral, DeepSeek, Zhipu,
vLLM and OpenRouter. Any other is the end of an answer.
"""
_ENDING_OF = {reason: ending for ending, reasons in _ENDINGS.items() for reason in reasons.split()}
_GONE_WITH_THE_WIRE = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class UnreadableReply(ValueError):
    """A body that is too large or invalid; the message is one line."""


async def received(response: httpx2.Response, request: httpx2.Request) -> httpx2.Response:
    """The same response with its whole body, uncompressed.

    Raises UnreadableReply beyond `MAX_BODY_BYTES`, compressed or not, and httpx2.TransportError from the stream.
    """
    content = await whole_body(response)
    headers = [(name, value) for name, value in response.headers.items() if name not in _GONE_WITH_THE_WIRE]
    return httpx2.Response(response.status_code, headers=headers, content=content, request=request)


async def whole_body(response: httpx2.Response) -> bytes:
    """The uncompressed body of a response, which is then closed; raises as `received` does."""
    packed = bytearray()
    try:
        if response.is_stream_consumed:
            # From a translation in this process.
            return response.content
        async for chunk in response.aiter_raw():
            packed += chunk
            if len(packed) > MAX_BODY_BYTES:
                raise _too_large("")
        return bytes(_unpacked(packed, response.headers.get("content-encoding", "")))
    finally:
        await response.aclose()


def _unpacked(packed: bytearray, coding: str) -> bytearray:
    coding = coding.strip().lower()
    if coding in {"", "identity"}:
        return packed
    if coding not in _UNPACKED_BY:
        raise UnreadableReply(f"a reply has a content encoding that was not requested ({coding[:40]!r})")
    unpacker = zlib.decompressobj(_UNPACKED_BY[coding])
    try:
        body = unpacker.decompress(packed, MAX_BODY_BYTES)
    except zlib.error as error:
        raise UnreadableReply(f"a compressed reply is damaged ({error})") from error
    if unpacker.unconsumed_tail:
        raise _too_large(" when uncompressed")
    if not unpacker.eof:
        raise UnreadableReply("a compressed reply is damaged (it ends too soon)")
    return bytearray(body)


def _too_large(when: str) -> UnreadableReply:
    return UnreadableReply(f"a reply is larger than {MAX_BODY_BYTES >> 20} MiB{when}")


def damage_of(reply: Any, path: str, content: bytes = b"") -> str:
    """The fault of the parsed body of a reply to a request for `path`; empty if it is valid."""
    if reply is _NO_JSON:
        return _kind_of(content)
    if said := _error_in(reply):
        return f"an error with status 200 ({said})"
    if path.endswith("/chat/completions"):
        first = _first_choice(reply)
        # Gemini leaves the message out if it was filtered.
        is_choice = isinstance(first.get("message"), dict) or ending_of(first) == "filtered"
        return "" if is_choice else f"a body without a choice{_said_in(reply)}"
    if path.endswith("/embeddings"):
        return f"a body without embeddings{_said_in(reply)}" if rows_of(reply) is None else ""
    return ""


def ending_of(choice: Any) -> str:
    """How a choice ended: `cut` by max_tokens, `filtered`, with a call of a `tool`, or by a `fault` of the server;
    empty if it is complete.
    """
    reason = choice.get("finish_reason") if isinstance(choice, dict) else None
    return _ENDING_OF.get(re.split(r"\W", reason.lower())[0], "") if isinstance(reason, str) else ""


def _first_choice(reply: Any) -> dict[str, Any]:
    choices = reply.get("choices") if isinstance(reply, dict) else None
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


class ServerError(NamedTuple):
    """An error body of any shape."""

    message: str
    param: str = ""
    """The refused parameter, if the server names it."""
    code: str = ""

    @property
    def brief(self) -> str:
        """The message on one line of at most 200 characters."""
        return " ".join(self.message.split())[:200]


def read_error(content: bytes) -> ServerError:
    """What a server says in a reply with another status than 200."""
    error = parsed(content)
    if error is _NO_JSON:
        return ServerError(content.decode(errors="replace")[:_LONGEST_ERROR])
    error = error[0] if isinstance(error, list) and error else error
    error = error.get("error", error) if isinstance(error, dict) else error
    if not isinstance(error, dict):
        return ServerError(str(error)[:_LONGEST_ERROR])
    texts = [error.get(key) for key in ("message", "detail")]
    message = " ".join(text if isinstance(text, str) else json.dumps(text) for text in texts if text)
    whole = message or json.dumps(error)
    return ServerError(whole[:_LONGEST_ERROR], str(error.get("param") or ""), str(error.get("code") or ""))


def _said_in(reply: Any) -> str:
    """The words, in brackets, of an error that has none of OpenAI's fields."""
    fields = reply if isinstance(reply, dict) else {}
    listed = fields.get("errors")
    inner = listed[0] if isinstance(listed, list) and listed else fields.get("base_resp")
    places = (fields, inner if isinstance(inner, dict) else {"message": inner})
    said = (place.get(name) for place in places for name in ("message", "detail", "msg", "status_msg"))
    words = next((one for one in said if isinstance(one, str) and one.strip()), "")
    return f" ({' '.join(words.split())[:200]})" if words else ""


def _kind_of(content: bytes) -> str:
    start = content.lstrip()[:20].lower()
    if start.startswith((b"data:", b"event:", b": ")):
        return "a stream of events, although none was requested"
    return "a web page instead of JSON" if start.startswith(b"<") else "a body that is not JSON"


def _error_in(reply: Any) -> str:
    """The server's words, if a reply or its choice is an error; empty if it is none."""
    first = _first_choice(reply)
    is_fault = ending_of(first) == "fault"
    if first and not is_fault:
        return ""
    error = first.get("error") or (reply.get("error") if isinstance(reply, dict) else None)
    if not error and not is_fault:
        return ""
    message = error.get("message") if isinstance(error, dict) else error
    return " ".join(str(message or f"finish_reason {first.get('finish_reason')}").split())[:200]


def read_usage(content: bytes) -> Usage:
    """The usage block of an OpenAI-compatible answer; if it is missing or impossible, a call with unknown tokens.
    A reply that max_tokens ended (`finish_reason` length) counts as cut off.
    """
    return usage_of(parsed(content))


def usage_of(reply: Any) -> Usage:
    """The same for a `parsed` body."""
    cut = int(_is_cut(reply))
    try:
        usage = reply["usage"]
        details = usage.get("prompt_tokens_details") or {}
        # No request is without tokens: a server that reports 0 did not count them.
        taken, given = _tokens(usage["prompt_tokens"], least=1), _tokens(usage.get("completion_tokens"))
        cached = _tokens(details.get("cached_tokens"), most=taken)
        given, reasoned = _with_reasoning(usage, taken, given)
        message = _first_choice(reply).get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if not given and isinstance(content, str) and content.strip():
            raise ValueError("not a count of the reply")
    except (ValueError, TypeError, KeyError, AttributeError):
        return Usage(calls=1, unmetered_calls=1, cut_calls=cut)
    return Usage(
        calls=1,
        input_tokens=taken,
        output_tokens=given,
        cached_tokens=cached,
        reasoning_tokens=reasoned,
        cut_calls=cut,
    )


def counted_tokens(content: bytes) -> int | None:
    """The prompt tokens that a server reports, with those that it counts apart as cached; None if unknown."""
    try:
        usage = parsed(content)["usage"]
        details = usage.get("prompt_tokens_details") or {}
        cached = [value for name, value in (*usage.items(), *details.items()) if "cache" in name]
        return _tokens(usage["prompt_tokens"], least=1) + sum(value for value in cached if type(value) is int)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def is_cut_prompt(request: Mapping[str, Any], usage: Usage, content: bytes) -> bool:
    """Whether the server counted less than half of the words sent: it cut the prompt, or does not count cached
    tokens.
    """
    if usage.unmetered_calls:
        return False
    messages = request.get("messages")
    texts = [one.get("content") for one in messages] if isinstance(messages, list) else request.get("input")
    texts = [texts] if isinstance(texts, str) else texts if isinstance(texts, list) else []
    # Its words, none of which is less than a token; few in languages without spaces.
    least = sum(len(_WORDS.findall(text)) for text in texts if isinstance(text, str))
    if least < _TELLING_WORDS or usage.input_tokens >= least / 2:
        return False
    counted = counted_tokens(content)
    return counted is not None and counted < least / 2


def _with_reasoning(usage: Any, taken: int, given: int) -> tuple[int, int]:
    """(output tokens, those of them that were hidden reasoning). Some servers omit the latter in completion_tokens
    and count them only in total_tokens.
    """
    total = usage.get("total_tokens")
    if type(total) is int and taken + given < total <= MAX_TOKENS:
        given = total - taken
    hidden = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens")
    return given, min(hidden, given) if type(hidden) is int and hidden > 0 else 0


def _tokens(value: object, most: int = MAX_TOKENS, least: int = 0) -> int:
    """The count; None is 0."""
    if value is None:
        value = 0
    if type(value) is not int or not least <= value <= most:
        raise ValueError("not a token count")
    return value


def _is_cut(reply: Any) -> bool:
    choices = reply.get("choices") if isinstance(reply, dict) else None
    return isinstance(choices, list) and any(
        # Requests for log probabilities ask for one token only.
        ending_of(choice) == "cut" and not choice.get("logprobs")
        for choice in choices
    )


_NO_JSON = object()


def parsed(content: bytes) -> Any:
    """A body as JSON; if it is none, only `damage_of` and `usage_of` accept the result."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return _NO_JSON


def allowances(headers: Mapping[str, str]) -> Allowances:
    """Requests and tokens in x-ratelimit-limit-* and -remaining-*, if both are numbers."""
    found = {}
    for kind in ("requests", "tokens"):
        try:
            limit, left = (float(headers[f"x-ratelimit-{what}-{kind}"]) for what in ("limit", "remaining"))
        except (KeyError, ValueError):
            continue
        if 0 < limit < math.inf and 0 <= left < math.inf:
            found[kind] = (limit, left)
    return found


_READ = ("x-ratelimit-", "retry-after")
"""Prefixes of headers that are read as a number or a date; they are not stored."""


@dataclass(frozen=True)
class SanitizedReply:
    """A whole reply, parsed once."""

    status: int
    headers: Mapping[str, str]
    """Headers about rate limits and retries."""
    content: bytes
    path: str
    """Path of the request."""

    @cached_property
    def _parsed(self) -> Any:
        return parsed(self.content)

    @cached_property
    def damage(self) -> str:
        """The fault of a reply with status 200; empty if it is valid. A reply without text is valid."""
        return damage_of(self._parsed, self.path, self.content)

    @cached_property
    def usage(self) -> Usage:
        return usage_of(self._parsed)


async def sanitize_reply(response: httpx2.Response, path: str) -> SanitizedReply:
    """The whole response to a request for `path`; raises as `whole_body` does."""
    content = reply_without_keys(await whole_body(response))
    headers = {name: value for name, value in response.headers.items() if name.startswith(_READ)}
    return SanitizedReply(response.status_code, headers, content, path)


def without_key(error: Exception) -> Exception:
    """The same error without any key. It has no cause, since that quotes the bytes sent or received."""
    error.args = (cleaned(str(error)),)
    error.__cause__ = error.__context__ = None
    return error
