"""Many calls side by side, within bounds."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


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
