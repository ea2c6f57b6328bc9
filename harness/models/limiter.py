"""How many requests at once, and how fast: adapts to what the provider says."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from harness.models.metering import OpenCall


class AdaptiveLimiter:
    """Additive increase, multiplicative decrease over requests under way, plus an optional fixed rate.

    A 429 halves the allowance and stops every request until Retry-After has passed; each success gives a
    little back (1/allowance, so about one more per round), as TCP does (Chiu and Jain, 1989).

    Each call hears whose doing its waiting is. One that has a place and may not start yet waits for the provider.
    One without a place waits for the provider while a place of our own cap is free of requests under way, for then
    it is the provider who keeps places empty; otherwise for us.
    """

    def __init__(self, max_concurrency: int, requests_per_minute: float | None = None) -> None:
        self._max = float(max_concurrency)
        self._allowed = self._max
        self._active = 0
        self._held_back = 0
        """Of the active ones, those that may not start yet."""
        self._interval_s = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._next_start = 0.0
        self._queue: deque[tuple[OpenCall, asyncio.Future[bool]]] = deque()
        self._queue_waits = False
        """Whether those in the queue wait for the provider."""

    @property
    def allowed(self) -> int:
        """How many requests may be under way now; at least 1."""
        return max(1, int(self._allowed))

    @asynccontextmanager
    async def slot(self, call: OpenCall) -> AsyncIterator[None]:
        """Wait for a place, first come, first served; hold it during the request."""
        is_early = await self._place(call)
        try:
            await self._wait_for_start(call, is_early)
            yield
        finally:
            self._active -= 1
            self._hand_out()

    async def _place(self, call: OpenCall) -> bool:
        """Whether it was given before anything may start; it is then among those held back."""
        place: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        entry = (call, place)
        self._queue.append(entry)
        self._hand_out()
        if not place.done():
            call.turn(waits=self._queue_waits)
        try:
            return await place
        except asyncio.CancelledError:
            if not place.cancelled():
                self._active -= 1
                self._held_back -= place.result()
            elif entry in self._queue:
                self._queue.remove(entry)
            self._hand_out()
            raise
        finally:
            call.turn(waits=False)

    def _hand_out(self) -> None:
        """Give free places to the first in the queue, without a moment in which a place that is wanted is free."""
        is_early = self._next_start > time.monotonic()
        while self._queue and self._active < self.allowed:
            _, place = self._queue.popleft()
            if not place.cancelled():
                self._active += 1
                self._held_back += is_early
                place.set_result(is_early)
        self._tell_queue()

    def _tell_queue(self) -> None:
        waits = self._active - self._held_back < self._max
        if waits != self._queue_waits:
            self._queue_waits = waits
            for call, _ in self._queue:
                call.turn(waits=waits)

    async def _wait_for_start(self, call: OpenCall, is_held_back: bool) -> None:
        if not is_held_back and self._next_start > time.monotonic():
            self._held_back += 1
            is_held_back = True
            self._tell_queue()
        if is_held_back:
            call.turn(waits=True)
            try:
                # The time to start may move back while we sleep, when another request meets a 429.
                while (delay := self._next_start - time.monotonic()) > 0:  # noqa: ASYNC110
                    await asyncio.sleep(delay)
            finally:
                call.turn(waits=False)
                self._held_back -= 1
                self._tell_queue()
        self._next_start = time.monotonic() + self._interval_s

    def succeeded(self) -> None:
        """Give back a little of the allowance."""
        if self._allowed < self._max:
            self._allowed = min(self._max, self._allowed + 1.0 / self._allowed)
            self._hand_out()

    def throttled(self, retry_after_s: float, refused_since: float) -> None:
        """Halve the allowance and let nothing start for `retry_after_s` seconds.

        To be called while the refused request still has its place, which it has held in vain since `refused_since`
        (time.monotonic): whoever waited for a place meanwhile waited for the provider.
        """
        self._allowed = max(1.0, self._allowed / 2)
        self._next_start = max(self._next_start, time.monotonic() + retry_after_s)
        for call, _ in self._queue:
            call.waited_since(refused_since)
