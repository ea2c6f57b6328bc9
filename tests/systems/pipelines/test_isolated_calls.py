"""Code of others may block, end the process or run on: nothing but its own question suffers."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from systems.pipelines import isolated_calls
from systems.pipelines.isolated_calls import Caller, PipelineEnded


async def slept(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "awake"


def test_it_may_be_a_function_or_give_something_to_await() -> None:
    async def both() -> list[Any]:
        caller = Caller()
        return [await caller.call(lambda: "at once"), await caller.call(lambda: slept(0.01))]

    assert asyncio.run(both()) == ["at once", "awake"]


def test_everything_that_is_awaited_shares_one_loop_that_is_not_ours() -> None:
    async def loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    async def loops() -> list[asyncio.AbstractEventLoop]:
        caller = Caller()
        return [await caller.call(loop), await caller.call(loop), asyncio.get_running_loop()]

    first, second, ours = asyncio.run(loops())
    assert first is second
    assert first is not ours


async def later() -> None:
    sys.exit(4)


@pytest.mark.parametrize("work", [lambda: sys.exit(4), later])
def test_ending_the_process_ends_the_question_alone(work: Callable[[], Any]) -> None:
    with pytest.raises(PipelineEnded, match=r"sys.exit\(4\)"):
        asyncio.run(Caller().call(work))


def test_a_function_that_blocks_does_not_hold_up_the_loop() -> None:
    release = threading.Event()

    async def beside() -> tuple[bool, float]:
        caller = Caller()
        blocked = asyncio.create_task(caller.call(release.wait))
        start = time.monotonic()
        await caller.call(lambda: None)
        took = time.monotonic() - start
        release.set()
        return await blocked, took

    ended, took = asyncio.run(beside())
    assert ended
    assert took < 5


async def in_time(caller: Caller, work: Callable[[], Any]) -> str:
    try:
        async with asyncio.timeout(0.05):
            await caller.call(work)
    except TimeoutError:
        return "timeout"
    return "done"


async def blocked_loop(release: threading.Event) -> None:
    release.wait()


@pytest.mark.parametrize("blocks", [lambda release: release.wait(), blocked_loop])
def test_what_runs_on_past_its_time_makes_the_process_leave_before_the_next_question(
    blocks: Callable[[threading.Event], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    release, left = threading.Event(), []
    monkeypatch.setattr(isolated_calls, "_GRACE_S", 0.1)
    monkeypatch.setattr(isolated_calls, "_leave", lambda: left.append("left"))

    async def twice() -> str:
        caller = Caller()
        first = await in_time(caller, lambda: blocks(release))
        assert left == []
        await in_time(caller, lambda: None)
        release.set()
        return first

    assert asyncio.run(twice()) == "timeout"
    assert left == ["left"]


def test_what_stops_when_it_is_cancelled_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated_calls, "_leave", lambda: pytest.fail("it left"))

    async def twice() -> list[str]:
        caller = Caller()
        return [await in_time(caller, lambda: slept(60)), await in_time(caller, lambda: None)]

    assert asyncio.run(twice()) == ["timeout", "done"]
