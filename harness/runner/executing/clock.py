"""The time limit of a query: it stands while every open model call waits for a limit of its provider."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from harness.models.metering import Meter

_SHORTEST_LOOK_S = 0.05


@asynccontextmanager
async def latency_limit(
    limit_s: float, meter: Meter, extended: Callable[[float], None]
) -> AsyncIterator[asyncio.Timeout]:
    """As `asyncio.timeout(limit_s)`, of wall time without `meter.throttled_s`: of latency.

    Wherever the limit would have come by wall time, `extended` hears how many seconds are left at least.
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
