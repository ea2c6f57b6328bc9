"""A scripted model for tests and demonstrations: answers, latency and faults on demand, and real usage counts.

It fakes a server, not a result: its answers are a fixed function of the prompt, and no measure of quality of a
run with it means anything.
"""

import asyncio
import hashlib
import json
import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
from pydantic import BaseModel, ConfigDict, Field

from harness.models.fake_json import example_of

EMBEDDING_DIM = 64
_WORD = re.compile(r"\w+|[^\w\s]")


class FakeScript(BaseModel):
    """What the fake does: `models.generator.options`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reply: str | None = None
    """The answer to everything; None: a word of the prompt, chosen by its hash, or JSON where a schema asks."""
    replies: dict[str, str] = {}
    """Regular expression -> reply; the first that is found in the prompt wins."""
    latency_s: float = Field(0.0, ge=0)
    fault: str | None = Field(None, pattern=r"^(http_[45]\d\d|malformed|no_usage|hang)$")
    """http_429, http_500, http_401, http_404, http_400, malformed (a body that is no JSON), no_usage, or hang."""
    fault_rate: float = Field(1.0, ge=0, le=1)
    """The share of requests with the fault: a fixed function of the request and `seed`."""
    fault_match: str = ""
    """Only prompts in which this regular expression is found."""
    fault_times: int | None = None
    """Each faulty request fails this many times, then succeeds; None: always."""
    retry_after_s: float | None = None
    seed: int = 0


@dataclass(frozen=True)
class Reply:
    """An HTTP answer."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


class FakeModel:
    """Speaks /chat/completions and /embeddings; counts what it served. Safe to call from several threads."""

    def __init__(self, script: FakeScript, sleep: Callable[[float], None] = time.sleep) -> None:
        self.script = script
        self._sleep = sleep
        self._lock = threading.Lock()
        self._faults: dict[str, int] = {}
        self.served = {"calls": 0, "input_tokens": 0, "output_tokens": 0, "faults": 0}
        """What the server counted: only answered calls have tokens."""

    def respond(self, path: str, body: bytes) -> Reply:
        """The answer to one POST."""
        request = json.loads(body)
        text = prompt_text(request)
        if self.script.latency_s:
            self._sleep(self.script.latency_s)
        if (fault := self._fault(text, body)) is not None:
            return fault
        payload = self._embeddings(request) if path.endswith("/embeddings") else self._chat(request, text)
        usage = payload["usage"]
        with self._lock:
            self.served["calls"] += 1
            self.served["input_tokens"] += usage["prompt_tokens"]
            self.served["output_tokens"] += usage.get("completion_tokens", 0)
        if self.script.fault == "no_usage":
            del payload["usage"]
        return Reply(200, json.dumps(payload).encode())

    def _chat(self, request: Mapping[str, Any], text: str) -> dict[str, Any]:
        answer = self._answer(text, request)
        prompt_tokens, completion_tokens = len(_WORD.findall(text)), len(_WORD.findall(answer))
        message = {"role": "assistant", "content": answer}
        return {
            "id": f"fake-{_number(text) % 10**8}",
            "object": "chat.completion",
            "created": 0,
            "model": request.get("model", "fake"),
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": completion_tokens,
                "total_tokens": prompt_tokens + completion_tokens,
            },
        }

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
        data = [
            {"object": "embedding", "index": i, "embedding": bag_of_words(text)} for i, text in enumerate(texts)
        ]
        return {
            "object": "list",
            "model": request.get("model", "fake"),
            "data": data,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }

    def _fault(self, text: str, body: bytes) -> Reply | None:
        script = self.script
        if script.fault in {None, "no_usage"} or not re.search(script.fault_match, text):
            return None
        draw = random.Random(f"{script.seed}{_number(text)}").random()  # noqa: S311 - a script, no secret
        if draw >= script.fault_rate or not self._still_faulty(body):
            return None
        with self._lock:
            self.served["faults"] += 1
        return self._faulty_reply(str(script.fault))

    def _still_faulty(self, body: bytes) -> bool:
        if self.script.fault_times is None:
            return True
        with self._lock:
            key = hashlib.sha256(body).hexdigest()
            self._faults[key] = self._faults.get(key, 0) + 1
            return self._faults[key] <= self.script.fault_times

    def _faulty_reply(self, fault: str) -> Reply:
        if fault == "hang":
            self._sleep(3600)
        if fault == "malformed":
            return Reply(200, b'{"choices": [{"mess')
        status = int(fault.removeprefix("http_")) if fault.startswith("http_") else 500
        headers = {} if self.script.retry_after_s is None else {"retry-after": str(self.script.retry_after_s)}
        error = {"message": f"the script asked for {fault}", "type": "fake", "code": fault}
        return Reply(status, json.dumps({"error": error}).encode(), headers)


class FakeTransport(httpx2.AsyncBaseTransport):
    """The fake without a server: the same answers in this process."""

    def __init__(self, script: FakeScript) -> None:
        self._latency_s = script.latency_s
        self._hangs = script.fault == "hang"
        self._model = FakeModel(script.model_copy(update={"latency_s": 0.0}), sleep=lambda _: None)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer without blocking the event loop."""
        await asyncio.sleep(self._latency_s)
        faults = self._model.served["faults"]
        reply = self._model.respond(request.url.path, await request.aread())
        if self._hangs and self._model.served["faults"] > faults:
            await asyncio.sleep(3600)
        return httpx2.Response(reply.status, headers=reply.headers, content=reply.body, request=request)


def prompt_text(request: Mapping[str, Any]) -> str:
    """All the text of a request, joined."""
    if "messages" in request:
        return "\n".join(str(message.get("content", "")) for message in request["messages"])
    inputs = request.get("input", "")
    return inputs if isinstance(inputs, str) else "\n".join(map(str, inputs))


def bag_of_words(text: str) -> list[float]:
    """A hashed bag of words as a unit vector of 64 floats: texts that share words are near."""
    vector = [0.0] * EMBEDDING_DIM
    for word in _WORD.findall(text.lower()):
        vector[_number(word) % EMBEDDING_DIM] += 1.0
    norm = sum(value * value for value in vector) ** 0.5
    return [value / norm for value in vector] if norm else [1.0] + [0.0] * (EMBEDDING_DIM - 1)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
