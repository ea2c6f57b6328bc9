"""An event loop with virtual time: when idle, its clock jumps to the next timer."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar
from unittest.mock import patch

T = TypeVar("T")


class _Skipping(selectors.DefaultSelector):
    """Does not wait, but returns how long it would have."""

    skipped_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found and timeout:
            self.skipped_s += timeout
        return found


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        return 1_000.0 + self._skipping.skipped_s


def run_in_virtual_time(work: Coroutine[Any, Any, T]) -> T:
    """asyncio.run with virtual time.monotonic."""
    loop = _VirtualLoop()
    with patch("time.monotonic", loop.time), asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(work)
