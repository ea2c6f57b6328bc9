"""Model calls by a library whose error handling cannot be trusted: no exception passes through it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from harness.core.errors import HarnessError

T = TypeVar("T")

CONCURRENCY = 8
"""Calls under way at once, at most; the limiter of the model role may allow fewer."""


class Guard:
    """Keeps what went wrong.

    nano-graphrag's limiter loses a slot with each exception that passes it, until every later call waits for ever;
    lightrag gives a whole document up.
    """

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(CONCURRENCY)
        self._stopped: HarnessError | None = None
        self.first_failure = ""
        """Exception and message of the first call that failed by itself."""

    async def run(self, call: Callable[[], Awaitable[T]]) -> T | None:
        """The result of `call`; None if it fails, or if an earlier failure makes it pointless."""
        async with self._slots:
            if self._stopped is not None:
                return None
            try:
                return await call()
            except HarnessError as error:
                self._stopped = error
            except Exception as error:
                # This call's alone; who asked counts it and has a replacement.
                self.first_failure = self.first_failure or f"{type(error).__name__}: {str(error)[:200]}"
            return None

    def check(self) -> None:
        """Raise the failure that no further call can survive, if there was one."""
        if self._stopped is not None:
            raise self._stopped
