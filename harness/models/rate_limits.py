"""Limits of requests to a server: set by the user, reported by the server, and learnt from its refusals."""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from harness.config import ModelConfig
from harness.models.metering import OpenCall

MINUTE_S = 60.0
_SPARE = 0.02
"""Spare part of an allowance, because starts may be slightly early."""
_LATE_S = 1.0
"""Maximum delay of a start that does not delay the next one."""
_TELLING = 0.25
"""Minimum minutes for a reliable observed rate."""
_TELLING_STARTS = 20
"""Minimum number of answered requests for a useful measurement."""
_SHORTEST_S = 1.0
_LESS = 0.98
"""Factor on the rate at which a server refused, as its new limit."""
_REGAINED = 0.0025
"""How fast a learnt limit is raised again: a share per cubed minute, as in CUBIC (Ha, Rhee and Xu, 2008)."""


class Pace:
    """A rate per minute of one kind, requests or tokens, spread evenly, so that no minute exceeds it, wherever it
    begins.

    A server that reports what is left is used faster while much is left. For one that reports nothing, the limit
    is what it admitted per minute until it refused, slowly raised over time.
    """

    def __init__(self, per_minute: float | None = None) -> None:
        self._set = per_minute or math.inf
        self._told, self._left = math.inf, 0.0
        self._learnt, self._learnt_at = math.inf, 0.0
        self._passed: deque[tuple[float, float]] = deque()
        """Requests admitted in the last minute: start and amount."""
        self._held = self._most = self._under_way = 0.0
        """Their sum, its maximum, and the amount not answered yet."""
        self._marks: deque[float] = deque()
        """Start times for measuring the admitted rate: the first start, then after each refusal and recovery."""
        self._refused_at: float | None = None
        self._before, self._recovered_at = math.inf, -math.inf
        """The previous estimate."""
        self.next_s = 0.0
        """Earliest next start (time.monotonic)."""

    def begin(self, amount: float, *, waited: bool) -> None:
        """An amount is requested now; `waited`: it started as soon as it could."""
        now = time.monotonic()
        if not self._marks:
            self._marks.append(now)
        since = self.next_s if waited and self.next_s > now - _LATE_S else now
        self.next_s = since + self._gap_s(amount, now)
        self._under_way += amount

    def end(self, amount: float) -> None:
        self._under_way -= amount

    def update_limit(self, limit: float, left: float) -> None:
        self._told, self._left = limit, left

    def record_answer(self, amount: float, expected: float, began: float) -> None:
        """The server has answered a call that used `amount`, when `expected` was expected at its start."""
        now = time.monotonic()
        if amount != expected:
            self.next_s += math.copysign(self._gap_s(abs(amount - expected), now), amount - expected)
        self._passed.append((began, amount))
        self._held += amount
        if self._refused_at is None:
            self._forget(now)
            self._most = max(self._most, self._held)
        elif began > self._refused_at:
            self._recover(self._refused_at, began, amount)

    def exceeded_before(self, amount: float) -> bool:
        """Whether more was answered in a minute before: then the refusal has another reason."""
        if self._refused_at is None:
            self._forget(time.monotonic())
        return self._held + amount <= self._most

    def restart_measurement(self, now: float) -> None:
        """Earlier admissions may come from a saved-up allowance."""
        self._marks = deque([now])

    def drop_estimate(self) -> None:
        """Drop the estimate, because this kind was not the reason of the refusal."""
        self._learnt = math.inf

    def doubt(self) -> None:
        """Earlier observations are no longer valid: the amount was saved up, or the limit has changed."""
        self._most = self._held

    def refuse(self) -> None:
        """The server refused. Until it answers again, its limit is what it admitted in the last minute."""
        now = time.monotonic()
        if self._refused_at is None:
            self._forget(now)
            self._refused_at, self._before = now, self._limit(now)
            if len(self._passed) >= _TELLING_STARTS:
                self._learn(self._held, now)
        # The wait is handled elsewhere; the first call after it tests the limit.
        self.next_s = min(self.next_s, now)

    def _recover(self, refused_at: float, now: float, amount: float) -> None:
        """Between one refusal and the next the server admits its limit."""
        while len(self._marks) > 1 and self._marks[1] <= refused_at - _TELLING * MINUTE_S:
            self._marks.popleft()
        since = refused_at - MINUTE_S
        if self._marks:
            since = max(since, self._marks[0])
        amounts = [amount for began, amount in self._passed if since <= began <= refused_at]
        took_s = min(MINUTE_S, max(_SHORTEST_S, now - since))
        measured = sum(amounts) * MINUTE_S / took_s
        if self._before < math.inf:
            measured = min(max(measured, self._before / 2), _LESS * self._before)
        if len(amounts) >= _TELLING_STARTS or refused_at - self._recovered_at < MINUTE_S:
            self._learn(measured, now)
        else:
            # A single refusal after a few answers may be random; a second one soon after it is a limit.
            self._learnt = self._before
        self._most, self._recovered_at = sum(amounts), now
        self._marks.append(now)
        self._refused_at = None
        self.next_s = now + self._gap_s(amount, now)

    def _learn(self, per_minute: float, now: float) -> None:
        if per_minute > 0:
            self._learnt, self._learnt_at = per_minute, now

    def _forget(self, now: float) -> None:
        while self._passed and self._passed[0][0] < now - MINUTE_S:
            self._held -= self._passed.popleft()[1]

    def _limit(self, now: float) -> float:
        return self._learnt * (1.0 + _REGAINED * ((now - self._learnt_at) / MINUTE_S) ** 3)

    def _gap_s(self, amount: float, now: float) -> float:
        left = min(1.0, max(0.0, (self._left - self._under_way) / self._told))
        # Only the user's own limit may be below one start per minute.
        servers_s = max(_spread_s(amount, self._limit(now)), _spread_s(amount, self._told) * (1.0 - left) ** 2)
        return max(_spread_s(amount, self._set), min(MINUTE_S, servers_s))


def _spread_s(amount: float, per_minute: float) -> float:
    """Seconds over which to spread that amount, so that one more at once would still fit."""
    at_once = min(max(_SPARE * per_minute, amount), per_minute / 2)
    return amount * MINUTE_S / (per_minute - at_once) if per_minute < math.inf else 0.0


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


class Limiters:
    """The limiters of one process, created on first use. Used within one event loop."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, ...], AdaptiveLimiter] = {}

    def of(self, config: ModelConfig, url: str) -> AdaptiveLimiter:
        """The limiter of a model behind a URL, with the limits of the config that named it first."""
        key = (config.provider, url, config.model or "", config.api_key_env or "")
        if key not in self._made:
            self._made[key] = AdaptiveLimiter(
                config.max_concurrency, config.requests_per_minute, config.tokens_per_minute
            )
        return self._made[key]
