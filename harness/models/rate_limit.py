"""The rate of requests to a server: limits set by the user, reported by the server, and observed."""

import math
import time
from collections import deque

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
        """End a request of this amount."""
        self._under_way -= amount

    def update_limit(self, limit: float, left: float) -> None:
        """The server reports its limit per minute and how much is left."""
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
        """The learnt limit per minute."""
        return self._learnt * (1.0 + _REGAINED * ((now - self._learnt_at) / MINUTE_S) ** 3)

    def _gap_s(self, amount: float, now: float) -> float:
        """Seconds until the next start."""
        left = min(1.0, max(0.0, (self._left - self._under_way) / self._told))
        # Only the user's own limit may be below one start per minute.
        servers_s = max(_spread_s(amount, self._limit(now)), _spread_s(amount, self._told) * (1.0 - left) ** 2)
        return max(_spread_s(amount, self._set), min(MINUTE_S, servers_s))


def _spread_s(amount: float, per_minute: float) -> float:
    """Seconds over which to spread that amount, so that one more at once would still fit."""
    at_once = min(max(_SPARE * per_minute, amount), per_minute / 2)
    return amount * MINUTE_S / (per_minute - at_once) if per_minute < math.inf else 0.0
