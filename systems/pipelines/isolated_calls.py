"""Calls foreign code so that it cannot block anything else.

A function runs in a thread; awaitables run on a second event loop, on which its clients live. A call that has not
ended shortly after its time limit may run for ever, and its model calls would be counted for the next question:
the process then exits, and the runner starts another one for the rest.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

_GRACE_S = 1.0
_LEFT = 70
"""The exit code of a process that leaves."""


class PipelineEnded(Exception):
    """It called sys.exit(), which ends one question and nothing else."""


class Caller:
    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stuck: list[threading.Event] = []

    async def call(self, work: Callable[[], Any]) -> Any:
        """The result of `work()`, awaited if necessary. When cancelled, it waits a moment for it."""
        if any(not ended.is_set() for ended in self._stuck):
            _leave()
        ended = threading.Event()
        future: Future[Any] = Future()
        threading.Thread(target=self._run, args=(work, future, ended), daemon=True).start()
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            for _ in range(20):
                if ended.is_set():
                    break
                await asyncio.sleep(_GRACE_S / 20)
            else:
                self._stuck.append(ended)
            raise

    def _run(self, work: Callable[[], Any], future: Future[Any], ended: threading.Event) -> None:
        """In a thread: settle `future`; `ended` is set when nothing of it goes on."""
        try:
            result = work()
        except BaseException as error:
            ended.set()
            _settle(future, error=_ours(error))
            return
        if not inspect.isawaitable(result):
            ended.set()
            _settle(future, result)
            return
        running = asyncio.run_coroutine_threadsafe(_awaited(result, ended), self._own_loop())
        future.add_done_callback(lambda done: running.cancel() if done.cancelled() else None)
        try:
            _settle(future, running.result())
        except BaseException as error:
            _settle(future, error=_ours(error))

    def _own_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, daemon=True).start()
        return self._loop


async def _awaited(result: Awaitable[Any], ended: threading.Event) -> Any:
    try:
        return await result
    except (SystemExit, KeyboardInterrupt) as error:
        raise _ours(error) from error
    finally:
        ended.set()


def _ours(error: BaseException) -> Exception:
    """An exception that ends a question: one that ends a process or a loop would do so here."""
    if isinstance(error, SystemExit):
        return PipelineEnded(f"it called sys.exit({error.code!r})")
    if isinstance(error, StopIteration) or not isinstance(error, Exception):
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _settle(future: Future[Any], result: Any = None, error: Exception | None = None) -> None:
    """The caller may be gone."""
    if future.set_running_or_notify_cancel():
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)


def _leave() -> None:
    sys.stdout.flush()
    sys.stderr.write("a question that ran out of time has not ended: this process ends, another takes its place\n")
    sys.stderr.flush()
    os._exit(_LEFT)
