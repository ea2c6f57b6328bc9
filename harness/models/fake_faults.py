"""Faults that model servers were observed to have (in the status, the body, on the wire), and rate limits."""

import json
import random
import threading
import time
import zlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NamedTuple, get_args

from pydantic import Field

from harness.protocols import Params

_MINUTE_S = 60.0


class FakeLimits(Params):
    """The fake's limits per minute, and its headers about them."""

    requests: int | None = Field(None, ge=1)
    tokens: int | None = Field(None, ge=1)
    """Tokens of prompts and replies, as counted in `usage`."""
    kind: Literal["sliding", "bucket"] = "sliding"
    """`sliding`: the limit holds for any minute; `bucket`: the whole limit at once, then refilled evenly."""
    says_retry_after: bool = True
    says_headers: bool = True
    """Sends x-ratelimit-limit-*, -remaining-* and -reset-* like OpenAI's servers."""


class Arrival(NamedTuple):
    at_s: float
    tokens: int
    was_let_through: bool


@dataclass
class _Allowance:
    limit: int
    is_sliding: bool
    level: float = 0.0
    """For a bucket: the part in use at `level_at`."""
    level_at: float = 0.0

    def __post_init__(self) -> None:
        self.taken: deque[tuple[float, int]] = deque()

    def used(self, now: float) -> float:
        if self.is_sliding:
            while self.taken and self.taken[0][0] <= now - _MINUTE_S:
                self.taken.popleft()
            return sum(amount for _, amount in self.taken)
        self.level = max(0.0, self.level - (now - self.level_at) * self.limit / _MINUTE_S)
        self.level_at = now
        return self.level

    def wait_s(self, amount: int, now: float) -> float:
        excess = self.used(now) + amount - self.limit
        if excess <= 0:
            return 0.0
        if not self.is_sliding:
            return excess * _MINUTE_S / self.limit
        for at, earlier in self.taken:
            excess -= earlier
            if excess <= 0:
                return at + _MINUTE_S - now
        return _MINUTE_S

    def take(self, amount: int, now: float) -> None:
        self.taken.append((now, amount))
        self.level += amount


class RateLimit:
    """Enforces the limits. Safe to call from several threads."""

    def __init__(self, limits: FakeLimits) -> None:
        self.limits = limits
        self._lock = threading.Lock()
        given = {"requests": limits.requests, "tokens": limits.tokens}
        self._kinds = {
            name: _Allowance(limit, limits.kind == "sliding") for name, limit in given.items() if limit is not None
        }
        self.seen: list[Arrival] = []
        """Every request, in order, by time.monotonic."""

    def admit(self, tokens: int) -> tuple[bool, dict[str, str]]:
        """Whether a request with so many tokens is allowed, and the headers of its reply."""
        with self._lock:
            now, amounts = time.monotonic(), {"requests": 1, "tokens": tokens}
            wait_s = max((kind.wait_s(amounts[name], now) for name, kind in self._kinds.items()), default=0.0)
            if passes := wait_s == 0:
                for name, kind in self._kinds.items():
                    kind.take(amounts[name], now)
            self.seen.append(Arrival(now, tokens, passes))
            headers = self._headers(now) if self.limits.says_headers else {}
            if not passes and self.limits.says_retry_after:
                headers["retry-after"] = f"{wait_s:.3f}"
            return passes, headers

    def _headers(self, now: float) -> dict[str, str]:
        found = {}
        for name, kind in self._kinds.items():
            used = kind.used(now)
            found[f"x-ratelimit-limit-{name}"] = str(kind.limit)
            found[f"x-ratelimit-remaining-{name}"] = str(max(0, int(kind.limit - used)))
            found[f"x-ratelimit-reset-{name}"] = f"{used / kind.limit * _MINUTE_S:.3f}s"
        return found


Wire = Literal["", "truncated", "reset", "endless", "bad_header"]
"""How the transmission of a reply fails: it ends before its length, the connection is reset halfway, the body
never ends, a header is invalid."""

_ABSURD: dict[str, dict[str, Any]] = {
    "usage_negative": {"prompt_tokens": -100_000, "completion_tokens": -3},
    "usage_huge": {"prompt_tokens": 10**30, "completion_tokens": 1},
    "usage_float": {"prompt_tokens": 1e30, "completion_tokens": 0.5},
    "usage_text": {"prompt_tokens": "7", "completion_tokens": True},
}
_BOMB_MIB = 96

_CHANGED = ("no_usage", "length", "list_content", *_ABSURD)
"""Faults in replies that are still sent and counted, in another form."""
_BROKEN = ("malformed", "gzip_bomb", "hang", "slow", "retry_after_huge", *filter(None, get_args(Wire)))
FAULTS = rf"http_[45]\d\d|{'|'.join([*_CHANGED, *_BROKEN])}"
"""All faults, as a regular expression."""
_HUGE_S = "999999999"


@dataclass(frozen=True)
class Reply:
    """An HTTP reply, and its transmission fault."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    wire: Wire = ""


def changed(fault: str | None, payload: dict[str, Any]) -> dict[str, Any]:
    """An answer changed by `fault`; unchanged if the fault is of another kind."""
    if fault == "no_usage":
        del payload["usage"]
    if fault in _ABSURD:
        payload["usage"] = _ABSURD[fault]
    for choice in payload.get("choices", []):
        if fault == "length":
            choice["finish_reason"] = "length"
        if fault == "list_content":
            words = str(choice["message"]["content"])
            parts = (words[: len(words) // 2], words[len(words) // 2 :])
            choice["message"]["content"] = [{"type": "text", "text": part} for part in parts]
    return payload


def is_answered(fault: str | None) -> bool:
    return fault is None or fault in _CHANGED or fault == "slow"


def faulty_reply(fault: str, retry_after_s: float | None, answer: bytes) -> Reply:
    if fault in get_args(Wire):
        wire: Any = fault
        return Reply(200, answer, wire=wire)
    if fault == "malformed":
        return Reply(200, b'{"choices": [{"mess')
    if fault == "gzip_bomb":
        return Reply(200, _bomb(), {"content-encoding": "gzip"})
    is_huge = fault == "retry_after_huge"
    status = int(fault.removeprefix("http_")) if fault.startswith("http_") else 429 if is_huge else 500
    waits = _HUGE_S if is_huge else None if retry_after_s is None else str(retry_after_s)
    error = {"message": f"the script asked for {fault}", "type": "fake", "code": fault}
    return Reply(status, json.dumps({"error": error}).encode(), {} if waits is None else {"retry-after": waits})


def refusal_of(parameter: str) -> Reply:
    """A 400 with the message of OpenAI's servers for a refused parameter."""
    instead = " Use 'max_completion_tokens' instead." if parameter == "max_tokens" else ""
    error = {
        "message": f"Unsupported parameter: '{parameter}' is not supported with this model.{instead}",
        "type": "invalid_request_error",
        "param": parameter,
        "code": "unsupported_parameter",
    }
    return Reply(400, json.dumps({"error": error}).encode())


def draw_fault(shares: Mapping[str, float], seed: str) -> str | None:
    """One of the faults with its probability, or none: a fixed function of `seed`."""
    draw = random.Random(seed).random()  # noqa: S311 - a script, no secret
    for fault, share in shares.items():
        draw -= share
        if draw < 0:
            return fault
    return None


@cache
def _bomb() -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    blanks = b" " * (1 << 20)
    return b"".join(packer.compress(blanks) for _ in range(_BOMB_MIB)) + packer.flush()
