"""What a report keeps of each record: what became of it, how its answer begins, and where the rest stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from harness.evaluators.normalise import abstains
from harness.records import Prediction, RunRecord
from harness.store import RecordKey, Records, RunDir, counting
from harness.store.slim import slimmed

ANSWER_CHARS = 400
"""Of an answer in a list; its details have more."""

# What became of a query, one bit each, since its repeats may differ.
ANSWERED, ABSTAINED, ERROR, TIMEOUT, MISSING = 1, 2, 4, 8, 16


class Brief(NamedTuple):
    """A record without what its details say."""

    attempt: int
    place: int
    """What `RunDir.records_at` finds it by."""
    status: int
    answer: str | None
    """Its beginning."""


_UNTOLD = Prediction(answer=None)
"""In place of a prediction whose texts are left where they are."""

Briefs = Mapping[RecordKey, Brief]
"""Of the records that count."""


def read_briefly(run: RunDir) -> tuple[list[RunRecord], Briefs]:
    """Every attempt, in the order written, without its texts: they are nearly all of a record, and only the
    explorer shows them, which reads them again. Whether there is a prediction is kept.
    """
    attempts: list[RunRecord] = []
    briefs: dict[RecordKey, Brief] = {}
    for place, record in run.iter_placed_records():
        key = record.query_id, record.repeat
        if key not in briefs or record.attempt > briefs[key].attempt:
            briefs[key] = Brief(record.attempt, place, _status(record), _beginning(record))
        kept = None if record.prediction is None else _UNTOLD
        attempts.append(slimmed(record.model_copy(update={"prediction": kept})))
    return attempts, briefs


def read_without_texts(run: RunDir) -> Records:
    """The records that count, likewise."""
    attempts, _ = read_briefly(run)
    return counting(attempts)


def _status(record: RunRecord) -> int:
    if record.prediction is None:
        return TIMEOUT if record.status == "timeout" else ERROR
    return ABSTAINED if record.prediction.answer and abstains(record.prediction.answer) else ANSWERED


def _beginning(record: RunRecord) -> str | None:
    answer = record.prediction.answer if record.prediction else None
    if answer is None or len(answer) <= ANSWER_CHARS:
        return answer
    return answer[: ANSWER_CHARS - 1] + "…"
