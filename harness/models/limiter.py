"""How many requests at once, and how fast: adapts to what the provider says."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class AdaptiveLimiter:
    """Additive increase, multiplicative decrease over requests under way, plus an optional fixed rate.

    A 429 halves the allowance and stops every request until Retry-After has passed; each success gives a
    little back (1/allowance, so about one more per round), as TCP does (Chiu and Jain, 1989).
    """

    def __init__(self, max_concurrency: int, requests_per_minute: float | None = None) -> None:
        self._max = float(max_concurrency)
        self._allowed = self._max
        self._active = 0
        self._interval_s = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._next_start = 0.0
        self._changed = asyncio.Condition()

    @property
    def allowed(self) -> int:
        """How many requests may be under way now; at least 1."""
        return max(1, int(self._allowed))

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a place, hold it during the request."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._active < self.allowed)
            self._active += 1
        try:
            await self._wait_for_start()
            yield
        finally:
            async with self._changed:
                self._active -= 1
                self._changed.notify_all()

    async def _wait_for_start(self) -> None:
        # The time to start may move back while we sleep, when another request meets a 429.
        while (delay := self._next_start - time.monotonic()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(delay)
        self._next_start = time.monotonic() + self._interval_s

    async def succeeded(self) -> None:
        """Give back a little of the allowance."""
        if self._allowed < self._max:
            async with self._changed:
                self._allowed = min(self._max, self._allowed + 1.0 / self._allowed)
                self._changed.notify_all()

    def throttled(self, retry_after_s: float) -> None:
        """Halve the allowance and let nothing start for `retry_after_s` seconds."""
        self._allowed = max(1.0, self._allowed / 2)
        self._next_start = max(self._next_start, time.monotonic() + retry_after_s)
