"""One run at a time from the disk: what the list of queries shows is kept, all else goes to a temporary file."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from harness.display.text import printable
from harness.evaluators.normalise import abstains
from harness.protocols import Measure, ScoreLabel
from harness.records import Context, Cost, RunRecord, Score
from harness.report.page.explorer.packing import as_json, cut
from harness.report.places import ContextPlaces
from harness.report.view import RunView
from harness.store import SampleRow

ANSWER_CHARS = 400
"""Of an answer in the list of queries; its details have more."""
TEXT_CHARS = 20_000
"""Of any text in the page."""
_EXPLANATION_CHARS = 400
UNIT = 24
"""Queries whose details stand in one block."""

# What became of a query, one bit each, since its repeats may differ.
ANSWERED, ABSTAINED, ERROR, TIMEOUT, MISSING = 1, 2, 4, 8, 16

ShownScore = tuple[str, float | None]
"""A status of a score and its value: s scored, i imputed, f failed, m missing, n not applicable, - none."""
Detail = dict[str, Any]
"""One record of one query with its scores, as JSON."""
NO_CELL: ShownScore = ("-", None)


@dataclass
class RunCells:
    """What the list shows of one run, a value for each query."""

    label: str
    run_id: str
    status: list[int] = field(default_factory=list)
    answers: list[str | None] = field(default_factory=list)
    kinds: list[list[int]] = field(default_factory=list)
    """For each measure that sorts answers: of each query, a bit for each label that any of its answers has."""


@dataclass(frozen=True)
class AnswerKinds:
    """A measure that sorts answers, and the labels that any run of the group has."""

    measure: Measure
    labels: tuple[ScoreLabel, ...]

    def bits(self, scores: Iterable[Score]) -> int:
        """One for each label that any of these has, the first the lowest."""
        numbers = {label.name: number for number, label in enumerate(self.labels)}
        bits = 0
        for score in scores:
            bits |= 1 << numbers[score.label] if score.label in numbers else 0
        return bits

    def as_json(self) -> Detail:
        """For the page."""
        return {
            "name": printable(self.measure.name),
            "title": printable(self.measure.spoken),
            "labels": [[printable(label.title), printable(label.advice, 400)] for label in self.labels],
        }


class Spill:
    """Details by run and unit, in a temporary file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._places: dict[tuple[int, int], tuple[int, int]] = {}

    def put(self, run: int, unit: int, details: Sequence[Sequence[Detail]]) -> None:
        """Keep the details of a unit: of each query, its repeats."""
        data = zlib.compress(as_json(details), 1)
        self._places[run, unit] = (self._file.tell(), len(data))
        self._file.write(data)

    def get(self, run: int, unit: int) -> list[list[Detail]]:
        """What was put there."""
        start, length = self._places[run, unit]
        self._file.seek(start)
        found: list[list[Detail]] = json.loads(zlib.decompress(self._file.read(length)))
        return found


ScoresOf = Mapping[str, Sequence[Score]]
"""Measure -> the scores of one query, one for each repeat that has any."""


class RunReader:
    """The records and scores of one run, in memory for as long as this is."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        self._repeats = range(view.frame.repeats)
        self._records = view.run.records()
        self._places = ContextPlaces(view.run)
        self._scores: dict[str, dict[str, list[Score]]] = defaultdict(lambda: defaultdict(list))
        for score in view.run.scores():
            if score.repeat in self._repeats:
                self._scores[score.query_id][score.measure].append(score)

    def cells(self, rows: Sequence[SampleRow], kinds: Sequence[AnswerKinds] = ()) -> RunCells:
        """What the list shows."""
        cells = RunCells(self._view.label, self._view.run.run_id)
        for row in rows:
            records = [self._records.get((row.query.query_id, repeat)) for repeat in self._repeats]
            status = 0
            for record in records:
                status |= _status(record)
            cells.status.append(status)
            cells.answers.append(_answer(records))
        for one in kinds:
            name = one.measure.name
            cells.kinds.append([one.bits(self._scores_of(row.query.query_id).get(name, ())) for row in rows])
        return cells

    def values(self, rows: Sequence[SampleRow]) -> Iterator[tuple[int, str, ShownScore]]:
        """(number of the query, measure, its cell) wherever there is a score."""
        for number, row in enumerate(rows):
            for measure, scores in self._scores_of(row.query.query_id).items():
                yield number, measure, _cell(scores)

    def spill(self, rows: Sequence[SampleRow], spill: Spill, run: int) -> None:
        """Put the details of every unit."""
        for unit, start in enumerate(range(0, len(rows), UNIT)):
            spill.put(run, unit, [self._details(row.query.query_id) for row in rows[start : start + UNIT]])

    def _scores_of(self, query_id: str) -> ScoresOf:
        return self._scores.get(query_id, {})

    def _details(self, query_id: str) -> list[Detail]:
        scores = self._scores_of(query_id)
        return [
            _detail(self._records.get((query_id, repeat)), _of_repeat(scores, repeat), self._places)
            for repeat in self._repeats
        ]


def _status(record: RunRecord | None) -> int:
    if record is None:
        return MISSING
    if record.prediction is None:
        return TIMEOUT if record.status == "timeout" else ERROR
    return ABSTAINED if record.prediction.answer and abstains(record.prediction.answer) else ANSWERED


def _answer(records: Sequence[RunRecord | None]) -> str | None:
    """The first answer there is."""
    answers = (record.prediction.answer for record in records if record and record.prediction)
    answer = next((answer for answer in answers if answer is not None), None)
    if answer is None or len(answer) <= ANSWER_CHARS:
        return answer
    return answer[: ANSWER_CHARS - 1] + "…"


def _cell(scores: Sequence[Score]) -> ShownScore:
    """The mean over the repeats that have a value, to six significant digits; else why there is none."""
    values = [score.value for score in scores if score.value is not None]
    if values:
        imputed = any(score.status == "imputed" for score in scores)
        return "i" if imputed else "s", float(f"{sum(values) / len(values):.6g}")
    unscored = {score.status for score in scores}
    return "f" if "failed" in unscored else "m" if "missing" in unscored else "n", None


def _of_repeat(scores: ScoresOf, repeat: int) -> Detail:
    return {
        measure: [score.status[0], score.value, score.said[:_EXPLANATION_CHARS]]
        for measure, of_query in scores.items()
        for score in of_query
        if score.repeat == repeat
    }


def _detail(record: RunRecord | None, scores: Detail, places: ContextPlaces) -> Detail:
    detail: Detail = {"scores": scores}
    if record is None:
        return detail
    detail["cost"] = _cost(record.cost)
    if record.attempt > 1:
        detail["attempt"] = record.attempt
    if record.failure:
        detail["failure"] = [record.failure.kind[:200], cut(record.failure.message, TEXT_CHARS)]
    if record.prediction:
        if record.prediction.answer is not None:
            detail["answer"] = cut(record.prediction.answer, TEXT_CHARS)
        detail["contexts"] = [_context(one, places) for one in record.prediction.contexts]
        detail["evidence"] = [_context(one, places) for one in record.prediction.evidence]
        detail["trace"] = [[step.name[:200], cut(step.content, TEXT_CHARS)] for step in record.prediction.trace]
    return detail


def _context(context: Context, places: ContextPlaces) -> list[Any]:
    score = None if context.score is None else float(f"{context.score:.3g}")
    return [cut(context.text, TEXT_CHARS), context.kind, list(context.doc_ids), score, places.said(context)]


def _cost(cost: Cost) -> Detail:
    return {
        "latency_s": _rounded(cost.latency_s),
        "wall_s": _rounded(cost.wall_s),
        "throttled_s": _rounded(cost.throttled_s),
        "stages": [[name[:200], _rounded(seconds)] for name, seconds in cost.stages_s.items()],
        "usage": [
            [role, usage.calls if usage.calls_are_known else None, usage.input_tokens, usage.output_tokens]
            for role, usage in cost.usage.items()
            if usage.is_used
        ],
        "unmetered": sum(usage.unmetered_calls for usage in cost.usage.values()),
        "replayed": cost.replayed_calls,
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else float(f"{seconds:.3g}")
