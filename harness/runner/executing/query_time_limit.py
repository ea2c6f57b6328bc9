"""The time limit of a query. It is paused while all open model calls are throttled by their provider, and while
the process is suspended.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from harness.core.current_process import n_stops
from harness.models.metering import Meter

_SHORTEST_LOOK_S = 0.05


class SuspendableLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock is paused while the process is suspended. See `count_stops`.

    The exact moment of suspension is unknown, so the whole time since the loop last read its clock is left out.
    """

    def __init__(self) -> None:
        self._not_counted_s, self._looked_at, self._n_stops = 0.0, 0.0, n_stops()
        super().__init__()

    def time(self) -> float:
        now = super().time()
        if self._n_stops != n_stops():
            self._n_stops = n_stops()
            self._not_counted_s += now - self._looked_at
        self._looked_at = now
        return now - self._not_counted_s


@asynccontextmanager
async def latency_limit(
    limit_s: float, meter: Meter, extended: Callable[[float], None]
) -> AsyncIterator[asyncio.Timeout]:
    """`asyncio.timeout` of latency: wall time without `meter.throttled_s`.

    If wall time reaches the limit first, `extended` is called with the seconds that are at least left.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    timer: asyncio.TimerHandle
    async with asyncio.timeout(None) as limit:

        def look() -> None:
            nonlocal timer
            left_s = limit_s + meter.throttled_s - (loop.time() - began)
            if left_s <= 0:
                limit.reschedule(loop.time())
            else:
                extended(left_s)
                timer = loop.call_later(max(_SHORTEST_LOOK_S, left_s), look)

        timer = loop.call_later(limit_s, look)
        try:
            yield limit
        finally:
            timer.cancel()
