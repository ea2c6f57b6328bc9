"""Many calls side by side, within bounds."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def map_bounded(work: Callable[[T], Awaitable[R]], items: Sequence[T], limit: int) -> list[R]:
    """work(item) for each item, in their order, at most `limit` under way at once.

    The first exception ends the others and is raised as itself.
    """
    slots = asyncio.Semaphore(limit)

    async def one(item: T) -> R:
        async with slots:
            return await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(item)) for item in items]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
