"""Writes records to disk while queries are being answered."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from harness.core.records import RunRecord


class RecordWriter:
    """Writes records in batches from a thread. A disk takes milliseconds to confirm a write; meanwhile other
    queries continue, and their records are written together in the next batch.

    The thread does not depend on the event loop, so records reach the disk even if a system blocks the loop.
    """

    def __init__(self, write: Callable[[Sequence[RunRecord]], None]) -> None:
        """`write` must return only when the records are on disk. It is called in a separate thread."""
        self._write = write
        self._waiting: deque[tuple[RunRecord, Future[None]]] = deque()
        self._thread = ThreadPoolExecutor(1, "records")

    async def append(self, record: RunRecord) -> None:
        """Returns, even if cancelled, only when the record is on disk. Raises what `write` raises."""
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
        """Write all waiting records. There may be none, if an earlier call wrote them."""
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
