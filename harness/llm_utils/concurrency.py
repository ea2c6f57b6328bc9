"""Calls in parallel within a limit, work that is done once for several callers, and async code from sync code."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence
from typing import Any, Generic, TypeVar

from anyio.from_thread import start_blocking_portal

T = TypeVar("T")
R = TypeVar("R")
K = TypeVar("K", bound=Hashable)
Progress = Callable[[int, int], None]
"""progress(items done, items in all)."""


async def map_bounded(
    work: Callable[[T], Awaitable[R]],
    items: Sequence[T],
    limit: int,
    progress: Progress = lambda _done, _total: None,
) -> list[R]:
    """work(item) for each item, in their order, at most `limit` under way at once; `progress` hears of each.

    The first exception ends the others and is raised as itself.
    """
    slots, done = asyncio.Semaphore(limit), 0

    async def one(item: T) -> R:
        nonlocal done
        async with slots:
            result = await work(item)
        done += 1
        progress(done, len(items))
        return result

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(item)) for item in items]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


class Once(Generic[K, T]):
    """Results by key; a failure is kept like a result and raised for everyone who asks.

    The computation runs in the context of the first caller, who is charged for its model calls.
    """

    def __init__(self) -> None:
        self._made: dict[K, asyncio.Task[T]] = {}

    async def of(self, key: K, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of the first make() under this key, under way or there."""
        if key not in self._made:
            self._made[key] = asyncio.create_task(make())
        return await self._made[key]


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
