"""Records that come while the disk is busy."""

import asyncio
import threading
import time
from collections.abc import Sequence

import pytest

from harness.core.errors import StoreError
from harness.core.records import Cost, Prediction, RunRecord
from harness.store.record_lines import RecordWriter


def record(name: str) -> RunRecord:
    return RunRecord(
        query_id=name,
        repeat=0,
        status="ok",
        prediction=Prediction(answer="Yes"),
        cost=Cost(wall_s=1.0),
        attempt=1,
        started_at="2026-01-01T00:00:00+00:00",
    )


class SlowDisk:
    """Takes what it is given when it is let; `refuses`: it is full."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.written: list[list[str]] = []
        self.is_let, self.is_busy = threading.Event(), threading.Event()
        self._refuses = refuses

    def write(self, records: Sequence[RunRecord]) -> None:
        self.is_busy.set()
        assert self.is_let.wait(10)
        if self._refuses:
            raise StoreError("no space left", "free some")
        self.written.append([one.query_id for one in records])

    async def busy(self) -> None:
        assert await asyncio.to_thread(self.is_busy.wait, 10)


async def begun(writer: RecordWriter, *names: str) -> list["asyncio.Task[None]"]:
    """Their appends, under way."""
    tasks = [asyncio.create_task(writer.append(record(name))) for name in names]
    await asyncio.sleep(0)
    return tasks


async def test_what_comes_while_the_disk_is_busy_is_written_at_once() -> None:
    disk = SlowDisk()
    writer = RecordWriter(disk.write)
    first = await begun(writer, "q0")
    await disk.busy()
    others = await begun(writer, "q1", "q2", "q3")
    disk.is_let.set()
    await asyncio.gather(*first, *others)
    assert disk.written == [["q0"], ["q1", "q2", "q3"]]


async def test_nobody_goes_on_before_the_record_is_on_the_disk() -> None:
    disk = SlowDisk()
    writer = RecordWriter(disk.write)
    (append,) = await begun(writer, "q0")
    await disk.busy()
    await asyncio.sleep(0.02)
    assert not append.done()
    disk.is_let.set()
    await append
    assert disk.written == [["q0"]]


async def test_a_record_is_written_though_its_query_is_cancelled_meanwhile() -> None:
    disk = SlowDisk()
    writer = RecordWriter(disk.write)
    (first,) = await begun(writer, "q0")
    await disk.busy()
    (waiting,) = await begun(writer, "q1")
    first.cancel()
    waiting.cancel()
    await asyncio.sleep(0)
    disk.is_let.set()
    ended = await asyncio.gather(first, waiting, return_exceptions=True)
    assert [type(one) for one in ended] == [asyncio.CancelledError] * 2
    assert disk.written == [["q0"], ["q1"]]


async def test_a_record_gets_to_the_disk_though_the_event_loop_is_blocked_thereafter() -> None:
    disk = SlowDisk()
    disk.is_let.set()
    (append,) = await begun(RecordWriter(disk.write), "q0")
    # No await: a system that blocks.
    assert disk.is_busy.wait(10)
    while not disk.written:
        time.sleep(0.001)  # noqa: ASYNC251 - the loop is to be blocked
    await append
    assert disk.written == [["q0"]]


async def test_whoever_recorded_at_once_hears_that_the_disk_is_full() -> None:
    disk = SlowDisk(refuses=True)
    disk.is_let.set()
    writer = RecordWriter(disk.write)
    ended = await asyncio.gather(*await begun(writer, "q0", "q1"), return_exceptions=True)
    assert [type(one) for one in ended] == [StoreError, StoreError]
    with pytest.raises(StoreError, match="no space left"):
        await writer.append(record("q2"))
