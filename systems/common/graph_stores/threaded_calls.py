"""Runs blocking calls in threads, for stores used from coroutines."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


class Calls:
    """Runs blocking work in threads. close() can wait for work that cancelled coroutines left running."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._closed = False

    async def run(self, work: Callable[[], T]) -> T:
        """work() in a thread. A cancelled caller continues immediately; the thread ends later."""
        return await asyncio.to_thread(self._counted, work)

    def check(self) -> None:
        """Raise if close() was called; long work calls this between its steps."""
        if self._closed:
            raise RuntimeError("the graph store is closed")

    def close(self, wait_s: float | None = None) -> bool:
        """Start nothing more and wait for running work, for at most `wait_s` if given; returns whether nothing
        runs now.
        """
        end = None if wait_s is None else time.monotonic() + wait_s
        with self._changed:
            self._closed = True
            while self._running and (end is None or time.monotonic() < end):
                self._changed.wait(None if end is None else max(0.0, end - time.monotonic()))
            return not self._running

    def _counted(self, work: Callable[[], T]) -> T:
        with self._changed:
            self.check()
            self._running += 1
        try:
            return work()
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()


class _HasCalls(Protocol):
    _calls: Calls


Owner = TypeVar("Owner", bound=_HasCalls)


def in_thread(work: Callable[Concatenate[Owner, P], T]) -> Callable[Concatenate[Owner, P], Coroutine[Any, Any, T]]:
    """The blocking method as a coroutine, run by its owner's `_calls`."""

    @wraps(work)
    async def run(owner: Owner, /, *args: P.args, **named: P.kwargs) -> T:
        return await owner._calls.run(lambda: work(owner, *args, **named))

    return run
