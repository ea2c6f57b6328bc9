"""records.jsonl: one record per line, each with its own checksum.

The file grows for hours, so a checksum of the whole file is only possible at its end; each line therefore has its
own, which also covers the run id. Only an incomplete last line, left by a crash, is ignored.
"""

import asyncio
import re
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import BaseModel

from harness.core.errors import StoreError
from harness.core.records import RunRecord, RunStatus
from harness.store import atomic_files, untrusted_file_reader
from harness.store.run_files import RunFile

RecordKey = tuple[str, int]
"""(query_id, repeat)."""
Records = Mapping[RecordKey, RunRecord]
"""The type of `RunDir.records`."""


class AttemptStatus(NamedTuple):
    """Attempt number and status of a record, without its content."""

    attempt: int
    status: RunStatus


Attempted = TypeVar("Attempted", RunRecord, AttemptStatus)


def keep_latest(latest: dict[RecordKey, Attempted], key: RecordKey, one: Attempted) -> None:
    """Keep a record under its key, unless one of a later attempt, or an earlier one of the same, is there."""
    if key not in latest or one.attempt > latest[key].attempt:
        latest[key] = one


def latest_records(records: Iterable[RunRecord]) -> dict[RecordKey, RunRecord]:
    """The record with the highest attempt for each query and repeat; `records` are in the order written."""
    latest: dict[RecordKey, RunRecord] = {}
    for record in records:
        keep_latest(latest, (record.query_id, record.repeat), record)
    return latest


def latest_statuses(records: Iterable[RunRecord]) -> dict[RecordKey, AttemptStatus]:
    """The same without content; keeps only one record in memory at a time."""
    latest: dict[RecordKey, AttemptStatus] = {}
    for record in records:
        keep_latest(latest, (record.query_id, record.repeat), AttemptStatus(record.attempt, record.status))
    return latest


_CHECK = re.compile(rb',"check":"([0-9a-f]{8})"\}$')
_Attempt = tuple[str, int, int]


def with_check(record: BaseModel, run_id: str) -> bytes:
    """The record as a line with checksum and line break."""
    line = record.model_dump_json().encode()
    return line[:-1] + b',"check":"%08x"}\n' % _check_of(line, run_id)


def without_check(line: bytes, run_id: Callable[[], str]) -> bytes:
    """The JSON of a line. ValueError if it has no checksum, or does not match it."""
    check = _CHECK.search(line.rstrip(b"\n"))
    if not check:
        raise ValueError("it has no checksum")
    body = line[: check.start()] + b"}"
    if int(check[1], 16) != _check_of(body, run_id()):
        raise ValueError("it does not match its checksum, or belongs to another run")
    return body


def _check_of(body: bytes, run_id: str) -> int:
    return zlib.crc32(body, zlib.crc32(run_id.encode()))


class RecordLines:
    """Reads and writes the records of one run."""

    def __init__(self, path: Path, run_id: Callable[[], str]) -> None:
        """`run_id`: returns the id of the run; called when a line is checked."""
        self.path = path
        self._run_id = run_id

    def append(self, records: Iterable[RunRecord]) -> None:
        """Append records; they are on disk when this returns."""
        run_id = self._run_id()
        atomic_files.append_bytes(self.path, b"".join(with_check(record, run_id) for record in records))

    def placed(self) -> Iterator[tuple[int, RunRecord]]:
        """Every record with the byte offset of its line, in the order written. StoreError for a damaged or
        duplicate line.
        """
        seen: set[_Attempt] = set()
        start = 0
        for number, line in enumerate(self._lines(), start=1):
            try:
                yield start, self._record(line, seen)
            except ValueError as error:
                raise self._damaged(error, f" line {number}") from error
            start += len(line)

    def at(self, starts: Sequence[int]) -> list[RunRecord]:
        """The records at these byte offsets, in this order."""
        if not starts:
            return []
        records = []
        with untrusted_file_reader.opened(self.path, atomic_files.MOVE_AWAY) as file:
            for start in starts:
                file.seek(start)
                try:
                    records.append(self._record(file.readline(untrusted_file_reader.LONGEST_LINE), set()))
                except ValueError as error:
                    raise self._damaged(error) from error
        return records

    def _damaged(self, error: ValueError, where: str = "") -> StoreError:
        return StoreError(
            f"{self.path}{where} is damaged ({atomic_files.reason_of(error)})",
            "run the same command again: only its query is answered again, from the journal",
        )

    def whole(self) -> Iterator[RunRecord]:
        """The records of all intact lines."""
        return (record for _, record in self._each_line() if record is not None)

    def since(self, start: int) -> tuple[list[RunRecord], int]:
        """The records from byte offset `start`, and the offset of the next one, for following a growing file."""
        records: list[RunRecord] = []
        if self.path.exists():
            with untrusted_file_reader.opened(self.path, atomic_files.MOVE_AWAY) as file:
                file.seek(start)
                for line in file:
                    if line.endswith(b"\n"):
                        records.append(self._record(line, set()))
                        start += len(line)
        return records, start

    def set_aside(self) -> int:
        """Move damaged and duplicate lines to records.damaged.jsonl; returns their number."""
        damaged = [line for line, record in self._each_line() if record is None]
        if damaged:
            kept = [line for line, record in self._each_line() if record is not None]
            atomic_files.append_bytes(self.path.parent / RunFile.DAMAGED_RECORDS, b"".join(damaged))
            atomic_files.write_atomic_bytes(self.path, b"".join(kept))
        return len(damaged)

    def _each_line(self) -> Iterator[tuple[bytes, RunRecord | None]]:
        """Every line with its record; None if the line is damaged."""
        seen = set[_Attempt]()
        for line in self._lines():
            try:
                yield line, self._record(line, seen)
            except ValueError:
                yield line, None

    def _lines(self) -> Iterator[bytes]:
        if self.path.exists():
            lines = untrusted_file_reader.lines(self.path, atomic_files.MOVE_AWAY)
            yield from (line for line in lines if line.endswith(b"\n"))

    def _record(self, line: bytes, seen: set[_Attempt]) -> RunRecord:
        record = RunRecord.model_validate_json(without_check(line, self._run_id))
        attempt = record.query_id, record.repeat, record.attempt
        if attempt in seen:
            raise ValueError(f"the answer to '{record.query_id}' appears twice")
        seen.add(attempt)
        return record


class RecordWriter:
    """Writes records from a thread, so that they reach the disk even if a system blocks the event loop. What comes
    while the disk confirms a write is written together in the next batch.
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
        else:
            for _, written in batch:
                written.set_result(None)
