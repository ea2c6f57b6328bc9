"""Of several attempts at one query the last counts."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from harness.core.records import RunRecord, RunStatus

RecordKey = tuple[str, int]
"""(query_id, repeat)."""
Records = Mapping[RecordKey, RunRecord]
"""What `RunDir.records` gives."""


class Ending(NamedTuple):
    """A record without what it says."""

    attempt: int
    status: RunStatus


def counting(records: Iterable[RunRecord]) -> dict[RecordKey, RunRecord]:
    """Of every attempt, in the order written, those that count: see `RunDir.records`."""
    counts: dict[RecordKey, RunRecord] = {}
    for record in records:
        key = (record.query_id, record.repeat)
        if key not in counts or record.attempt > counts[key].attempt:
            counts[key] = record
    return counts


def endings_of(records: Iterable[RunRecord]) -> dict[RecordKey, Ending]:
    """Likewise, one record in memory at a time."""
    endings: dict[RecordKey, Ending] = {}
    for record in records:
        key = (record.query_id, record.repeat)
        if key not in endings or record.attempt > endings[key].attempt:
            endings[key] = Ending(record.attempt, record.status)
    return endings
