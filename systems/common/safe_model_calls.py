"""Model calls for libraries with unreliable error handling: no exception passes through them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from harness.core.errors import HarnessError

T = TypeVar("T")

CONCURRENCY = 8
"""Maximum concurrent calls; the limiter of the model role may allow fewer."""


class Guard:
    """Stores failures.

    nano-graphrag's limiter loses a slot with each exception, until every later call waits forever; lightrag drops
    a whole document.
    """

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(CONCURRENCY)
        self._stopped: HarnessError | None = None
        self.first_failure = ""
        """Exception and message of the first call with a failure of its own."""

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
                # Only this call failed; the caller counts it and uses a replacement.
                self.first_failure = self.first_failure or f"{type(error).__name__}: {str(error)[:200]}"
            return None

    def check(self) -> None:
        """Raise the failure after which no call can succeed, if there was one."""
        if self._stopped is not None:
            raise self._stopped
