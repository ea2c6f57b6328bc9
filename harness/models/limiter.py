"""Adapts the number and rate of requests to the provider's headers and 429 responses."""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from harness.models.metering import OpenCall
from harness.models.rate_limit import Pace

Allowances = Mapping[str, tuple[float, float]]
"""`requests` and `tokens`, as far as the server reports them: limit per minute, and what is left."""
_TOKENS_A_BYTE = 0.25
"""Assumed for English, until the server has counted."""


class AdaptiveLimiter:
    """Additive increase, multiplicative decrease of concurrent requests, with limits on requests and tokens per
    minute.

    A 429 halves the allowance and pauses all requests until its wait is over; each success increases it a little
    (1/allowance, so about one more per round), as in TCP (Chiu and Jain, 1989). Requests that ran together are
    refused together, which counts once.

    Each call learns who caused its waiting. A call with a slot that may not start yet waits for the provider. A
    call without a slot waits for the provider if slots within our own cap are free, because then the provider's
    limit keeps them empty; otherwise for us.
    """

    def __init__(
        self,
        max_concurrency: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        self._max = float(max_concurrency)
        self._allowed = self._max
        self._active = 0
        self._held_back = 0
        """Active requests that may not start yet."""
        self._paces = {"requests": Pace(requests_per_minute), "tokens": Pace(tokens_per_minute)}
        self._blamed = "tokens"
        """The likely reason of the last refusal."""
        self._tokens_a_byte = _TOKENS_A_BYTE
        self._stopped_until = 0.0
        self._gate = asyncio.Lock()
        """Of those that may not start yet, the first watches the clock."""
        self._refused_at, self._refused_since = -math.inf, math.inf
        self._has_recovered = False
        """Whether the server has answered after a 429."""
        self.refusals = 0
        """Consecutive refusals, each of a request that began after the previous refusal."""
        self._queue: deque[tuple[OpenCall, asyncio.Future[bool]]] = deque()
        self._queue_waits = False
        """Whether the queued requests wait for the provider."""

    @property
    def allowed(self) -> int:
        """Maximum number of concurrent requests now; at least 1."""
        return max(1, int(self._allowed))

    @property
    def refused_s(self) -> float:
        """Seconds for which the server has answered only with 429."""
        return max(0.0, time.monotonic() - self._refused_since)

    @asynccontextmanager
    async def slot(self, call: OpenCall, n_bytes: int = 0) -> AsyncIterator[None]:
        """Wait for a slot, first come, first served; hold it during the request of `n_bytes`."""
        is_early = await self._place(call)
        try:
            waited = await self._wait_for_start(call, is_early)
            expected = self._expected(n_bytes)
            for kind, pace in self._paces.items():
                pace.begin(expected[kind], waited=waited)
            try:
                yield
            finally:
                for kind, pace in self._paces.items():
                    pace.end(expected[kind])
        finally:
            self._active -= 1
            self._assign_slots()

    async def _place(self, call: OpenCall) -> bool:
        """Wait for a slot. True if it was assigned before requests may start; it is then held back."""
        place: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        entry = (call, place)
        self._queue.append(entry)
        self._assign_slots()
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
            self._assign_slots()
            raise
        finally:
            call.turn(waits=False)

    def _assign_slots(self) -> None:
        """Assign all free slots to the first in the queue at once."""
        is_early = self._next_start_s() > time.monotonic()
        while self._queue and self._active < self.allowed:
            _, place = self._queue.popleft()
            if not place.cancelled():
                self._active += 1
                self._held_back += is_early
                place.set_result(is_early)
        self._notify_queue()

    def _notify_queue(self) -> None:
        waits = self._active - self._held_back < self._max
        if waits != self._queue_waits:
            self._queue_waits = waits
            for call, _ in self._queue:
                call.turn(waits=waits)

    async def _wait_for_start(self, call: OpenCall, is_held_back: bool) -> bool:
        """Wait until the request may start; returns whether it had to wait."""
        if not is_held_back:
            if not self._gate.locked() and self._next_start_s() <= time.monotonic():
                return False
            self._held_back += 1
            self._notify_queue()
        call.turn(waits=True)
        try:
            async with self._gate:
                # Another request may meet a 429 and postpone the start during this sleep.
                while (delay := self._next_start_s() - time.monotonic()) > 0:  # noqa: ASYNC110
                    await asyncio.sleep(delay)
        finally:
            call.turn(waits=False)
            self._held_back -= 1
            self._notify_queue()
        return True

    def _next_start_s(self) -> float:
        return max(self._stopped_until, *(pace.next_s for pace in self._paces.values()))

    def _expected(self, n_bytes: int) -> dict[str, float]:
        return {"requests": 1.0, "tokens": n_bytes * self._tokens_a_byte}

    def succeeded(self, began: float = math.inf, n_bytes: int = 0, tokens: int | None = None) -> None:
        """Increase the allowance a little. The answered call began at that time (time.monotonic), had so many
        bytes, and used so many tokens, reply included; None: unknown.
        """
        expected = self._expected(n_bytes)
        took = expected if tokens is None else {**expected, "tokens": float(tokens)}
        for kind, pace in self._paces.items():
            pace.record_answer(took[kind], expected[kind], min(began, time.monotonic()))
        if began > self._refused_at:
            if self.refusals and not self._has_recovered:
                self._has_recovered = True
                for pace in self._paces.values():
                    pace.restart_measurement(began)
            self.refusals, self._refused_since = 0, math.inf
        if tokens is not None and n_bytes:
            self._tokens_a_byte += 0.2 * (tokens / n_bytes - self._tokens_a_byte)
        if self._allowed < self._max:
            self._allowed = min(self._max, self._allowed + 1.0 / self._allowed)
            self._assign_slots()

    def update_limits(self, allowances: Allowances) -> None:
        """Apply the limits that the server reports."""
        for kind, (limit, left) in allowances.items():
            self._paces[kind].update_limit(limit, left)

    def throttled(self, wait_s: float, refused_since: float, n_bytes: int = 0) -> None:
        """Halve the allowance and start nothing for `wait_s` seconds.

        Call it while the refused request still has its slot, which it has held in vain since `refused_since`
        (time.monotonic): calls that waited for a slot meanwhile waited for the provider.
        """
        now, expected = time.monotonic(), self._expected(n_bytes)
        if refused_since > self._refused_at:
            self._allowed = max(1.0, self._allowed / 2)
            self.refusals += 1
            self._refused_at, self._refused_since = now, min(self._refused_since, now)
            self._slow_down_refused_kind(expected)
        self._stopped_until = max(self._stopped_until, now + wait_s)
        for call, _ in self._queue:
            call.mark_waiting_since(refused_since)

    def _slow_down_refused_kind(self, expected: Mapping[str, float]) -> None:
        """Slow down the kind that caused the refusal: one of which the server never admitted as much."""
        suspects = [kind for kind, pace in self._paces.items() if not pace.exceeded_before(expected[kind])]
        if not suspects:
            for pace in self._paces.values():
                pace.doubt()
        elif self._blamed not in suspects:
            self._paces[self._blamed].drop_estimate()
            self._blamed = suspects[-1]
        self._paces[self._blamed].refuse()
