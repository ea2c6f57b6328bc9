"""What a report keeps of each record: what became of it, how its answer begins, and where the rest stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from harness.analysis.cost import fails_too_often
from harness.evaluators.normalise import abstains
from harness.evaluators.sides import is_null, said
from harness.records import Prediction, RunRecord
from harness.report.samples import Sample
from harness.store import RecordKey, RunDir
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


def refused_of(sample: Sample, briefs: Briefs, repeats: int) -> tuple[int, int]:
    """Answerable queries of the sample that were refused, in any repeat, and how many there are."""
    references = (row.reference for row in sample.values())
    answerable = [one.query_id for one in references if said(one) and not is_null(one)]
    return sum(became(briefs, query_id, repeats, ABSTAINED) for query_id in answerable), len(answerable)


def became(briefs: Briefs, query_id: str, repeats: int, status: int) -> bool:
    """Whether that is what became of a query in any repeat."""
    found = (briefs.get((query_id, repeat)) for repeat in range(repeats))
    return any(brief is not None and brief.status == status for brief in found)


def refuses_most(refused: tuple[int, int]) -> bool:
    """Whether so many of the answerable queries were refused that what a query takes is the cost of a refusal."""
    n_refused, n_answerable = refused
    return 2 * n_refused > n_answerable


def why_unpriced(failed: tuple[int, int], refused: tuple[int, int]) -> str:
    """Why nothing may be said of what an answer costs, as words that stand behind a run's name; empty: it may.
    `failed`: answers that failed, of how many; `refused`: what `refused_of` gives.
    """
    if fails_too_often(*failed):
        return "failed too often for a claim about what it costs"
    if refuses_most(refused):
        return "refused most answerable queries, which says nothing of what an answer costs"
    return ""


def _status(record: RunRecord) -> int:
    if record.prediction is None:
        return TIMEOUT if record.status == "timeout" else ERROR
    return ABSTAINED if record.prediction.answer and abstains(record.prediction.answer) else ANSWERED


def _beginning(record: RunRecord) -> str | None:
    answer = record.prediction.answer if record.prediction else None
    if answer is None or len(answer) <= ANSWER_CHARS:
        return answer
    return answer[: ANSWER_CHARS - 1] + "…"
