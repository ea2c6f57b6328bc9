"""A coroutine from code that is none."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from anyio.from_thread import start_blocking_portal

T = TypeVar("T")


def run_to_end(work: Callable[[], Awaitable[T]]) -> T:
    """What `work()` returns. Where an event loop runs already, as in a notebook, it has one in a thread of its
    own; an interrupt of the caller cancels it.
    """

    async def awaited() -> T:
        return await work()

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(awaited())
    with start_blocking_portal() as portal:
        return portal.call(awaited)
