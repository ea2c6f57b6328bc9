"""Records to the disk while queries go on."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from harness.core.records import RunRecord


class RecordWriter:
    """What many queries record at once is written at once: a disk takes milliseconds to confirm a write, in which
    this process would answer nothing, and one confirmation serves all that came while the last one took.

    It needs no event loop: what was recorded gets to the disk though a system blocks the loop thereafter.
    """

    def __init__(self, write: Callable[[Sequence[RunRecord]], None]) -> None:
        """`write` has them on the disk when it returns; it is called in one thread of its own."""
        self._write = write
        self._waiting: deque[tuple[RunRecord, Future[None]]] = deque()
        self._thread = ThreadPoolExecutor(1, "records")

    async def append(self, record: RunRecord) -> None:
        """The record is on the disk when this returns, also where it is cancelled meanwhile; raises as `write`."""
        written: Future[None] = Future()
        self._waiting.append((record, written))
        self._thread.submit(self._write_waiting)
        on_disk = asyncio.wrap_future(written)
        try:
            await asyncio.shield(on_disk)
        except asyncio.CancelledError:
            await asyncio.wait([on_disk])
            raise

    def _write_waiting(self) -> None:
        """All that wait; nothing where an earlier call took them along."""
        batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if not batch:
            return
        try:
            self._write([record for record, _ in batch])
        except BaseException as error:
            for _, written in batch:
                written.set_exception(error)
            return
        for _, written in batch:
            written.set_result(None)
