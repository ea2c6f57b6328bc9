"""Time limits on code of this process that may never end."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from unittest.mock import patch


class TooLong(BaseException):
    """The time limit was exceeded; ordinary error handlers do not catch it."""


@contextmanager
def at_most(seconds: float, *, of_cpu: bool = False) -> Iterator[None]:
    """Raise TooLong in the block at the time limit, even if nothing is awaited. `of_cpu`: limit CPU seconds,
    independent of other load; otherwise wall seconds.
    """

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise TooLong

    report = sys.unraisablehook

    def swallowed(told: "sys.UnraisableHookArgs") -> None:
        if told.exc_type is not TooLong:
            report(told)

    timer, rings = (signal.ITIMER_VIRTUAL, signal.SIGVTALRM) if of_cpu else (signal.ITIMER_REAL, signal.SIGALRM)
    before = signal.signal(rings, ring)
    # An exception from a signal is swallowed in a finalizer or callback, so the alarm repeats.
    with patch.object(sys, "unraisablehook", swallowed):
        signal.setitimer(timer, seconds, max(seconds, 2.0))
        try:
            yield
        finally:
            signal.setitimer(timer, 0)
            signal.signal(rings, before)
