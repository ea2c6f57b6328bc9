"""Records of runs and indexes with the few values that a test is about."""

from typing import Any, TypeVar

from harness.core.records import Cost, Failure, IndexRecord, IndexStats, Prediction, RunRecord

FAILED = Failure(kind="ValueError", message="boom")
STARTED = "2026-11-20T10:00:00+00:00"
Known = TypeVar("Known")


def known(value: Known | None) -> Known:
    """The value, which must be there."""
    assert value is not None
    return value


def run_record(
    query_id: str, said: Prediction | Failure, *, repeat: int = 0, attempt: int = 1, cost: Cost | None = None
) -> RunRecord:
    """What became of one query: what was predicted, or how it failed."""
    failed = isinstance(said, Failure)
    return RunRecord(
        query_id=query_id,
        repeat=repeat,
        status="error" if failed else "ok",
        prediction=None if isinstance(said, Failure) else said,
        failure=said if isinstance(said, Failure) else None,
        cost=cost or Cost(wall_s=1.0),
        attempt=attempt,
        started_at=STARTED,
    )


def index_record(**fields: Any) -> IndexRecord:
    """An index of one document."""
    plain = {
        "index_id": "0" * 12,
        "stats": IndexStats(documents=1),
        "cost": Cost(wall_s=1.0),
        "bytes_on_disk": 1,
        "built_by": "demo--naive--0",
    }
    return IndexRecord.model_validate({**plain, **fields})
