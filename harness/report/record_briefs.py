"""What a report keeps of each record in memory: its status, the beginning of its answer, and its place in the
file.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from sys import intern
from typing import NamedTuple

from harness.core.records import REASONING, Prediction, RunRecord, Step
from harness.evaluators.answer_normalisation import abstains
from harness.evaluators.score_preconditions import is_null, stated_answers
from harness.report.samples import Sample
from harness.statistics.cost import fails_too_often
from harness.store import CompressedByKey, RecordKey, RunDir
from harness.store.compressed_records import CompressedRecords

ANSWER_CHARS = 400
"""Of an answer in a list; its details have more."""

# What became of a query, one bit each, since its repeats may differ.
ANSWERED, ABSTAINED, ERROR, TIMEOUT, MISSING = 1, 2, 4, 8, 16


class Brief(NamedTuple):
    """A record without its details."""

    place: int
    """What `RunDir.records_at` finds it by."""
    status: int
    answer: str | None
    """Its beginning."""


_UNTOLD = Prediction(answer=None)
"""Stands in for a prediction whose texts are left in the file."""
_REASONED = Prediction(answer=None, trace=(Step(name=REASONING, content=""),))
"""The same where reasoning was removed from the answer, which a note counts."""

Attempts = CompressedByKey[RecordKey, RunRecord]
"""Those that count, by key; `all` of them, in the order written."""


class Briefs(Mapping[RecordKey, Brief]):
    """Of the records that count, as numbers in columns."""

    def __init__(self, attempts: Attempts) -> None:
        """`attempts`: the records; call `add` once for each that is put there."""
        self._numbers = attempts.numbers
        self._places, self._statuses, self._said = array("q"), array("B"), array("B")
        self._attempts: list[int] = []
        self._answers: CompressedRecords[str | None] = CompressedRecords(str | None)

    def add(self, brief: Brief, attempt: int) -> None:
        """Of the next one."""
        self._attempts.append(attempt)
        self._places.append(brief.place)
        self._statuses.append(brief.status)
        self._said.append(brief.answer is not None)
        self._answers.append(brief.answer)

    def __getitem__(self, key: RecordKey) -> Brief:
        number = self._numbers[key]
        return Brief(self._places[number], self._statuses[number], self._answers[number])

    def __contains__(self, key: object) -> bool:
        return key in self._numbers

    def __iter__(self) -> Iterator[RecordKey]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def attempt(self, key: RecordKey) -> int | None:
        """Which attempt counts so far; None: there was none."""
        number = self._numbers.get(key)
        return None if number is None else self._attempts[number]

    def status(self, key: RecordKey) -> int:
        """The status without the answer; `MISSING` without a record."""
        number = self._numbers.get(key)
        return MISSING if number is None else self._statuses[number]

    def is_answered(self, key: RecordKey) -> bool:
        """Whether there is a prediction, with a text or without."""
        return self.status(key) in {ANSWERED, ABSTAINED}

    def has_answer(self, key: RecordKey) -> bool:
        """Whether there is an answer text."""
        number = self._numbers.get(key)
        return number is not None and bool(self._said[number])

    def place(self, key: RecordKey) -> int:
        """The place of the record in the file."""
        return self._places[self._numbers[key]]


def read_briefly(run: RunDir) -> tuple[Attempts, Briefs]:
    """Every attempt without its texts: they are nearly all of a record, and only the explorer shows them, which
    reads them again. Whether there is a prediction is kept.
    """
    attempts: Attempts = CompressedByKey(RunRecord)
    briefs = Briefs(attempts)
    for place, record in run.iter_placed_records():
        key = intern(record.query_id), record.repeat
        earlier = briefs.attempt(key)
        kept = _without_texts(record.prediction)
        counts = earlier is None or record.attempt > earlier
        attempts.put(key, record.model_copy(update={"prediction": kept}), counts=counts)
        briefs.add(Brief(place, _status(record), _beginning(record)), record.attempt)
    return attempts, briefs


def _without_texts(prediction: Prediction | None) -> Prediction | None:
    if prediction is None:
        return None
    return _REASONED if any(step.name == REASONING for step in prediction.trace) else _UNTOLD


def refused_of(sample: Sample, briefs: Briefs, repeats: int) -> tuple[int, int]:
    """Answerable queries of the sample that were refused, in any repeat, and how many there are."""
    references = (row.reference for row in sample.values())
    answerable = [one.query_id for one in references if stated_answers(one) and not is_null(one)]
    return sum(became(briefs, query_id, repeats, ABSTAINED) for query_id in answerable), len(answerable)


def became(briefs: Briefs, query_id: str, repeats: int, status: int) -> bool:
    """Whether that is what became of a query in any repeat."""
    return any(briefs.status((query_id, repeat)) == status for repeat in range(repeats))


def refuses_most(refused: tuple[int, int]) -> bool:
    """Whether more than half of the answerable queries were refused, so that costs are those of refusals."""
    n_refused, n_answerable = refused
    return 2 * n_refused > n_answerable


def why_unpriced(failed: tuple[int, int], refused: tuple[int, int]) -> str:
    """Why the cost of an answer cannot be compared, as words to follow the name of the run; empty if it can.

    `failed`: number of failed answers, and of all; `refused`: see `refused_of`.
    """
    if fails_too_often(*failed):
        return "failed too often for its costs to be compared"
    if refuses_most(refused):
        return "refused most answerable queries, so that its costs are not those of answers"
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
