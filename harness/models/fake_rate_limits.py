"""A provider's limits on requests and tokens per minute, as the fake applies them."""

import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field


class FakeLimits(BaseModel):
    """The fake's limits per minute, and its headers about them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    requests: int | None = Field(None, ge=1)
    tokens: int | None = Field(None, ge=1)
    """Tokens of prompts and replies, as counted in `usage`."""
    minute_s: float = Field(60.0, gt=0)
    """Length of a minute, shorter in tests."""
    kind: Literal["sliding", "bucket"] = "sliding"
    """`sliding`: the limit holds for any minute; `bucket`: the whole limit at once, then refilled evenly."""
    says_retry_after: bool = True
    says_headers: bool = True
    """Sends x-ratelimit-limit-*, -remaining-* and -reset-* like OpenAI's servers."""


class Arrival(NamedTuple):
    """One request, allowed or refused."""

    at_s: float
    tokens: int
    was_let_through: bool


@dataclass
class _Allowance:
    """The limit of requests, or of tokens."""

    limit: int
    minute_s: float
    is_sliding: bool
    level: float = 0.0
    """For a bucket: the part in use at `level_at`."""
    level_at: float = 0.0

    def __post_init__(self) -> None:
        self.taken: deque[tuple[float, int]] = deque()

    def used(self, now: float) -> float:
        if self.is_sliding:
            while self.taken and self.taken[0][0] <= now - self.minute_s:
                self.taken.popleft()
            return sum(amount for _, amount in self.taken)
        self.level = max(0.0, self.level - (now - self.level_at) * self.limit / self.minute_s)
        self.level_at = now
        return self.level

    def wait_s(self, amount: int, now: float) -> float:
        """Seconds until this amount fits; 0: now."""
        excess = self.used(now) + amount - self.limit
        if excess <= 0:
            return 0.0
        if not self.is_sliding:
            return excess * self.minute_s / self.limit
        for at, earlier in self.taken:
            excess -= earlier
            if excess <= 0:
                return at + self.minute_s - now
        return self.minute_s

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
            name: _Allowance(limit, limits.minute_s, limits.kind == "sliding")
            for name, limit in given.items()
            if limit is not None
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
            found[f"x-ratelimit-reset-{name}"] = f"{used / kind.limit * kind.minute_s:.3f}s"
        return found
