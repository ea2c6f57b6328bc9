"""Selects the last of several attempts at a query."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from harness.core.records import RunRecord, RunStatus

RecordKey = tuple[str, int]
"""(query_id, repeat)."""
Records = Mapping[RecordKey, RunRecord]
"""The type of `RunDir.records`."""


class AttemptStatus(NamedTuple):
    """Attempt number and status of a record, without its content."""

    attempt: int
    status: RunStatus


def counting(records: Iterable[RunRecord]) -> dict[RecordKey, RunRecord]:
    """The record with the highest attempt for each query and repeat; `records` are in the order written."""
    counts: dict[RecordKey, RunRecord] = {}
    for record in records:
        key = (record.query_id, record.repeat)
        if key not in counts or record.attempt > counts[key].attempt:
            counts[key] = record
    return counts


def latest_statuses(records: Iterable[RunRecord]) -> dict[RecordKey, AttemptStatus]:
    """The same without content; keeps only one record in memory at a time."""
    endings: dict[RecordKey, AttemptStatus] = {}
    for record in records:
        key = (record.query_id, record.repeat)
        if key not in endings or record.attempt > endings[key].attempt:
            endings[key] = AttemptStatus(record.attempt, record.status)
    return endings
