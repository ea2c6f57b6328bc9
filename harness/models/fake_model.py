"""A scripted model for tests and demonstrations: answers, latency and faults on demand, and real usage counts.

It fakes a server, not a result: its answers are a fixed function of the prompt, and quality metrics of a run with
it are meaningless.
"""

import asyncio
import hashlib
import json
import math
import random
import re
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import nullcontext
from typing import Any

import httpx2
from pydantic import Field, field_validator

from harness.models.fake_faults import (
    FAULTS,
    FakeLimits,
    RateLimit,
    Reply,
    changed,
    draw_fault,
    faulty_reply,
    is_answered,
    refusal_of,
)
from harness.models.openai_replies import chat_reply, embeddings_reply
from harness.protocols import Params

_NAME = re.compile(r"[A-Z]\w+(?: [A-Z]\w+)?")
_ITEMS = 3
"""Items of a list, if the schema allows as many."""


def example_of(schema: Mapping[str, Any], prompt: str) -> Any:
    """A value that matches `schema`: names from the prompt for strings, numbers within their bounds.

    Supports the features that requests here use: objects, arrays, strings, numbers, booleans, enum, const, anyOf,
    $ref.
    """
    words = _NAME.findall(prompt) or ["Yes"]
    draw = random.Random(hashlib.sha256(prompt.encode(errors="surrogatepass")).hexdigest())  # noqa: S311 - a script

    def of(part: Mapping[str, Any]) -> Any:
        while "anyOf" in part or "$ref" in part:
            part = part["anyOf"][0] if "anyOf" in part else schema["$defs"][part["$ref"].rsplit("/", 1)[-1]]
        kind, value = part.get("type", "string"), part.get("const")
        if "const" in part:
            return value
        if "enum" in part:
            value = draw.choice(part["enum"])
        elif kind == "object":
            value = {key: of(inner) for key, inner in part.get("properties", {}).items()}
        elif kind == "array":
            wanted = max(part.get("minItems", 0), min(part.get("maxItems", _ITEMS), _ITEMS))
            value = [of(part.get("items", {})) for _ in range(wanted)]
        elif kind in {"integer", "number"}:
            low = int(part.get("minimum", 0))
            drawn = draw.randint(low, int(part.get("maximum", low + 10)))
            value = drawn if kind == "integer" else float(drawn)
        elif kind == "boolean":
            value = draw.random() < 0.5
        else:
            value = draw.choice(words)[: part.get("maxLength", 100)]
        return value

    return of(schema)


EMBEDDING_DIM = 64
_WORD = re.compile(r"\w+|[^\w\s]")


class FakeScript(Params):
    """The behaviour of the fake: `models.generator.options`."""

    reply: str | None = None
    """The answer to every request; None: a word of the prompt, chosen by its hash, or JSON if a schema is
    given."""
    replies: dict[str, str] = Field({})
    """Regular expression -> reply; the first one that matches the prompt is used."""
    latency_s: float = Field(0.0, ge=0)
    slots: int | None = Field(None, ge=1)
    """Requests answered at once; others wait for their turn. None: any number."""
    fault: str | None = Field(None, pattern=rf"^({FAULTS})$")
    """In the status: http_429, http_500, ..., retry_after_huge (a 429 that asks for 30 years). In the body:
    malformed (no JSON), gzip_bomb, no_usage, usage_negative, usage_huge, usage_float, usage_text, length (cut
    off by max_tokens), list_content. On the wire: truncated, reset, endless, bad_header. In time: slow, hang."""
    fault_rate: float = Field(1.0, ge=0, le=1)
    """The share of requests with the fault: a fixed function of the request and `seed`."""
    fault_match: str = ""
    """Only prompts that match this regular expression."""
    fault_times: int | None = None
    """Each faulty request fails this many times, then succeeds; None: always."""
    faults: dict[str, float] = Field({})
    """Several faults with their probabilities, drawn for each request: a fixed function of the request, the number
    of its earlier occurrences, and `seed`. Replaces `fault`."""
    retry_after_s: float | None = None
    slow_s: float = Field(1.0, ge=0)
    refuses: tuple[str, ...] = ()
    """Parameters refused with a 400 as by OpenAI; for `max_tokens`, max_completion_tokens is accepted."""
    reasoning_tokens: int = Field(0, ge=0)
    """Hidden tokens at the start of each reply; if max_tokens is not enough for them, there is no text."""
    limits: FakeLimits | None = None
    seed: int = 0

    @field_validator("faults")
    @classmethod
    def _shares(cls, faults: dict[str, float]) -> dict[str, float]:
        unknown = [name for name in faults if not re.fullmatch(FAULTS, name)]
        if unknown or min(faults.values(), default=0.0) < 0 or sum(faults.values()) > 1.0 + 1e-9:
            raise ValueError("must be kinds of faults, with shares that add up to 1 at most")
        return faults


class FakeModel:
    """Serves /chat/completions and /embeddings and counts requests. Thread-safe."""

    def __init__(self, script: FakeScript, sleep: Callable[[float], None] = time.sleep) -> None:
        self.script = script
        self._sleep = sleep
        self._slots = threading.Semaphore(script.slots) if script.slots else nullcontext()
        self._lock = threading.Lock()
        self._faults: Counter[str] = Counter()
        self._asked: Counter[str] = Counter()
        self.limit = RateLimit(script.limits) if script.limits else None
        self.served = {"calls": 0, "input_tokens": 0, "output_tokens": 0, "faults": 0}
        """Counts of the server: only answered calls have tokens."""

    def respond(self, path: str, body: bytes) -> Reply:
        request = json.loads(body)
        text = prompt_text(request)
        if self.script.latency_s:
            with self._slots:
                self._sleep(self.script.latency_s)
        if refused := next((name for name in self.script.refuses if name in request), None):
            self._count(faults=1)
            return refusal_of(refused)
        payload = self._embeddings(request) if path.endswith("/embeddings") else self._chat(request, text)
        usage, headers = payload["usage"], dict[str, str]()
        if self.limit:
            passes, headers = self.limit.admit(int(usage["total_tokens"]))
            if not passes:
                return Reply(429, b'{"error": {"message": "rate limit reached"}}', headers)
        fault = self._fault(text, body)
        if not is_answered(fault):
            self._count(faults=1)
            if fault == "hang":
                self._sleep(3600)
            return faulty_reply(str(fault), self.script.retry_after_s, json.dumps(payload).encode())
        if fault == "slow":
            self._sleep(self.script.slow_s)
        output_tokens = usage["completion_tokens"]
        self._count(calls=1, input_tokens=usage["prompt_tokens"], output_tokens=output_tokens)
        return Reply(200, json.dumps(changed(fault, payload)).encode(), headers)

    def _chat(self, request: Mapping[str, Any], text: str) -> dict[str, Any]:
        answer, ended = self._answer(text, request), "stop"
        most = int(request.get("max_completion_tokens") or request.get("max_tokens") or 1e9)
        hidden = min(self.script.reasoning_tokens, most)
        if hidden == most:
            answer, ended = "", "length"
        read, written = (len(_WORD.findall(part)) for part in (text, answer))
        reply = chat_reply(answer, input_tokens=read, output_tokens=written + hidden, finish_reason=ended)
        reply["choices"][0] |= _logprobs(request, text)
        if hidden:
            reply["usage"]["completion_tokens_details"] = {"reasoning_tokens": hidden}
        return reply

    def _answer(self, text: str, request: Mapping[str, Any]) -> str:
        for pattern, reply in self.script.replies.items():
            if re.search(pattern, text):
                return reply
        if self.script.reply is not None:
            return self.script.reply
        if schema := ((request.get("response_format") or {}).get("json_schema") or {}).get("schema"):
            return json.dumps(example_of(schema, text))
        words: list[str] = re.findall(r"[A-Z][a-z]+", text) or ["Yes"]
        return words[_number(text) % len(words)]

    def _embeddings(self, request: Mapping[str, Any]) -> dict[str, Any]:
        inputs = request["input"]
        texts = [inputs] if isinstance(inputs, str) else list(inputs)
        tokens = sum(len(_WORD.findall(text)) for text in texts)
        return embeddings_reply(list(map(bag_of_words, texts)), input_tokens=tokens)

    def _fault(self, text: str, body: bytes) -> str | None:
        script, key = self.script, hashlib.sha256(body).hexdigest()
        if not re.search(script.fault_match, text):
            return None
        if script.faults:
            with self._lock:
                self._asked[key] += 1
                return draw_fault(script.faults, f"{script.seed}/{key}/{self._asked[key]}")
        shares = {script.fault: script.fault_rate} if script.fault else {}
        if draw_fault(shares, f"{script.seed}{_number(text)}") is None:
            return None
        if script.fault_times is not None:
            with self._lock:
                self._faults[key] += 1
                return script.fault if self._faults[key] <= script.fault_times else None
        return script.fault

    def _count(self, **more: int) -> None:
        with self._lock:
            for name, count in more.items():
                self.served[name] += count


class FakeTransport(httpx2.AsyncBaseTransport):
    """The fake without a server: the same replies in this process."""

    def __init__(self, script: FakeScript) -> None:
        self._latency_s = script.latency_s
        self._slots = asyncio.Semaphore(script.slots) if script.slots else nullcontext()
        self._sleeps: list[float] = []
        self._model = FakeModel(script.model_copy(update={"latency_s": 0.0}), sleep=self._sleeps.append)

    @property
    def limit(self) -> RateLimit | None:
        return self._model.limit

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        async with self._slots:
            await asyncio.sleep(self._latency_s)
        reply = self._model.respond(request.url.path, await request.aread())
        sleeps, self._sleeps[:] = sum(self._sleeps), []
        await asyncio.sleep(sleeps)
        if reply.wire == "bad_header":
            raise httpx2.RemoteProtocolError("illegal header line", request=request)
        return httpx2.Response(reply.status, headers=reply.headers, stream=_Sent(reply), request=request)


class _Sent(httpx2.AsyncByteStream):
    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    async def __aiter__(self) -> AsyncIterator[bytes]:
        reply = self._reply
        if not reply.wire:
            yield reply.body
            return
        yield reply.body[: len(reply.body) // 2]
        while reply.wire == "endless":
            yield b" " * 65_536
        raise httpx2.ReadError(f"the script asked for {reply.wire}")


def _logprobs(request: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Log probabilities of A, B and C, if asked for: a fixed function of the prompt."""
    if not request.get("logprobs"):
        return {}
    weights = [1 + _number(f"{letter}{text}") % 97 for letter in "ABC"]
    likely = [
        {"token": letter, "logprob": math.log(weight / sum(weights))}
        for letter, weight in zip("ABC", weights, strict=True)
    ]
    return {"logprobs": {"content": [{**likely[0], "top_logprobs": likely}]}}


def prompt_text(request: Mapping[str, Any]) -> str:
    if "messages" in request:
        return "\n".join(str(message.get("content", "")) for message in request["messages"])
    inputs = request.get("input", "")
    return inputs if isinstance(inputs, str) else "\n".join(map(str, inputs))


def bag_of_words(text: str) -> list[float]:
    """A hashed bag of words as a unit vector of 64 floats: texts with common words are similar."""
    vector = [0.0] * EMBEDDING_DIM
    for word in _WORD.findall(text.lower()):
        vector[_number(word) % EMBEDDING_DIM] += 1.0
    norm = sum(value * value for value in vector) ** 0.5
    return [value / norm for value in vector] if norm else [1.0] + [0.0] * (EMBEDDING_DIM - 1)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
