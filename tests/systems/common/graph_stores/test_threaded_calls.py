import asyncio
import threading

import pytest

from systems.common.graph_stores.threaded_calls import Calls


async def test_close_waits_for_what_a_cancelled_caller_left_running() -> None:
    calls = Calls()
    started, release, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        release.wait(10)
        ended.set()

    task = asyncio.create_task(calls.run(work))
    await asyncio.to_thread(started.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not calls.close(wait_s=0.05)
    release.set()
    assert calls.close()
    assert ended.is_set()


async def test_nothing_starts_after_close_and_long_work_is_told() -> None:
    calls = Calls()
    calls.check()
    calls.close()
    with pytest.raises(RuntimeError, match="closed"):
        calls.check()
    with pytest.raises(RuntimeError, match="closed"):
        await calls.run(lambda: None)
