"""Time limits on code of this process that may never come to an end."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TooLong(BaseException):
    """It took longer than it may; no handler of ordinary errors swallows it."""


@contextmanager
def at_most(seconds: float, *, of_cpu: bool = False) -> Iterator[None]:
    """Raise TooLong within when the time is up, also where nothing is ever awaited. `of_cpu`: seconds that it
    computes, however busy the machine is; else seconds that pass.
    """

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise TooLong

    timer, rings = (signal.ITIMER_VIRTUAL, signal.SIGVTALRM) if of_cpu else (signal.ITIMER_REAL, signal.SIGALRM)
    before = signal.signal(rings, ring)
    # A signal that arrives in a finalizer or a callback is swallowed there: it rings again.
    signal.setitimer(timer, seconds, max(seconds, 2.0))
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(rings, before)
