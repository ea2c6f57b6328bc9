"""How fast a server may be asked: what the user set, what it says itself, and what it was seen to let through."""

import math
import time
from collections import deque

MINUTE_S = 60.0
_SPARE = 0.02
"""Of an allowance: a start that comes early, as starts do, must not be one too many."""
_LATE_S = 1.0
"""By so much a start may come late and the next still come in time."""
_TELLING = 0.25
"""Of a minute: what is let through in less says little."""
_TELLING_STARTS = 20
"""As many that were let through say something."""
_SHORTEST_S = 1.0
_LESS = 0.98
"""Of what a server was believed to let through when it refused, at most."""
_REGAINED = 0.0025
"""How soon what was learnt is doubted, a share by the cube of minutes, as CUBIC does (Ha, Rhee and Xu, 2008)."""


class Pace:
    """Of one kind, requests or tokens, so many in a minute: spread evenly, so that no minute holds more, wherever
    it begins and however the server counts.

    A server that says what is left is asked faster while much of it is. One that says nothing is believed to let
    through in a minute what it let through until it refused, and a little more as time goes by.
    """

    def __init__(self, per_minute: float | None = None) -> None:
        self._set = per_minute or math.inf
        self._told, self._left = math.inf, 0.0
        self._learnt, self._learnt_at = math.inf, 0.0
        self._passed: deque[tuple[float, float]] = deque()
        """What was let through in the last minute: when it began, how much."""
        self._held = self._most = self._under_way = 0.0
        """The sum of that, the most that it ever was, and what is not answered yet."""
        self._marks: deque[float] = deque()
        """Moments from which can be measured what it lets through: the first start, then when it had refused and
        let through again."""
        self._refused_at: float | None = None
        self._before, self._recovered_at = math.inf, -math.inf
        """What was learnt before that."""
        self.next_s = 0.0
        """No start is earlier (time.monotonic)."""

    def begin(self, amount: float, *, waited: bool) -> None:
        """So much is asked for now; `waited`: as soon as it could."""
        now = time.monotonic()
        if not self._marks:
            self._marks.append(now)
        since = self.next_s if waited and self.next_s > now - _LATE_S else now
        self.next_s = since + self._apart_s(amount, now)
        self._under_way += amount

    def end(self, amount: float) -> None:
        """What began is no longer under way."""
        self._under_way -= amount

    def update_limit(self, limit: float, left: float) -> None:
        """The server says what it lets through in a minute, and how much of it is left."""
        self._told, self._left = limit, left

    def let_through(self, amount: float, expected: float, began: float) -> None:
        """It has answered what took so much, where `expected` was expected when it began."""
        now = time.monotonic()
        if amount != expected:
            self.next_s += math.copysign(self._apart_s(abs(amount - expected), now), amount - expected)
        self._passed.append((began, amount))
        self._held += amount
        if self._refused_at is None:
            self._forget(now)
            self._most = max(self._most, self._held)
        elif began > self._refused_at:
            self._recover(self._refused_at, began, amount)

    def has_carried(self, amount: float) -> bool:
        """Whether more was let through before: then it is another kind that the server refuses for."""
        if self._refused_at is None:
            self._forget(time.monotonic())
        return self._held + amount <= self._most

    def measure_anew(self, now: float) -> None:
        """What it let through until now may have been saved up."""
        self._marks = deque([now])

    def absolve(self) -> None:
        """It is not this kind that the server refuses for."""
        self._learnt = math.inf

    def doubt(self) -> None:
        """What was let through before says nothing any more: it was saved up, or the limit is another now."""
        self._most = self._held

    def refuse(self) -> None:
        """It was too much. Until the server answers again, what it let through in the last minute is the limit."""
        now = time.monotonic()
        if self._refused_at is None:
            self._forget(now)
            self._refused_at, self._before = now, self._limit(now)
            if len(self._passed) >= _TELLING_STARTS:
                self._learn(self._held, now)
        # How long to wait is said elsewhere; the first that comes after it is to find out.
        self.next_s = min(self.next_s, now)

    def _recover(self, refused_at: float, now: float, amount: float) -> None:
        """From one time that it refused to the next it let through what it lets through."""
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
            # One refusal after a few answers may be anything: a second one soon after is a limit.
            self._learnt = self._before
        self._most, self._recovered_at = sum(amounts), now
        self._marks.append(now)
        self._refused_at = None
        self.next_s = now + self._apart_s(amount, now)

    def _learn(self, per_minute: float, now: float) -> None:
        if per_minute > 0:
            self._learnt, self._learnt_at = per_minute, now

    def _forget(self, now: float) -> None:
        while self._passed and self._passed[0][0] < now - MINUTE_S:
            self._held -= self._passed.popleft()[1]

    def _limit(self, now: float) -> float:
        """In a minute, by what was learnt."""
        return self._learnt * (1.0 + _REGAINED * ((now - self._learnt_at) / MINUTE_S) ** 3)

    def _apart_s(self, amount: float, now: float) -> float:
        """Until the next may start."""
        left = min(1.0, max(0.0, (self._left - self._under_way) / self._told))
        # Nobody but the user makes us slower than one start a minute.
        servers_s = max(_spread_s(amount, self._limit(now)), _spread_s(amount, self._told) * (1.0 - left) ** 2)
        return max(_spread_s(amount, self._set), min(MINUTE_S, servers_s))


def _spread_s(amount: float, per_minute: float) -> float:
    """How long that much takes where one more that comes at once would still fit."""
    at_once = min(max(_SPARE * per_minute, amount), per_minute / 2)
    return amount * MINUTE_S / (per_minute - at_once) if per_minute < math.inf else 0.0
