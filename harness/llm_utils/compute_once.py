"""What several need is made once, by the first that asks."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


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
