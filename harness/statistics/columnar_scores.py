"""The scores of one run as arrays, seventeen bytes per score: for each metric a row per query and a column per
repeat. A report needs all values at once, and as objects the scores of a hundred thousand queries take gigabytes.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.core.errors import StoreError
from harness.core.records import Score, ScoreStatus
from harness.statistics.run_frame import Frame
from harness.store import RecordKey
from harness.store.score_files import ScoreBatch, ScoreLines

NONE, SCORED, IMPUTED, FAILED, MISSING, NOT_APPLICABLE = range(6)
"""State of a query for a metric; `NONE`: no score."""
STATES: tuple[ScoreStatus | None, ...] = (None, "scored", "imputed", "failed", "missing", "not_applicable")
"""The status of a score for each state."""
_STATE_OF = {status: state for state, status in enumerate(STATES)}
_NOWHERE = -1
"""Line of a score that is not from a file."""

Cells = NDArray[np.bool_]
"""Some of the answers: a row per query, a column per repeat."""
Answer = tuple[RecordKey, Mapping[str, tuple[int, float | None]]]
"""The answer to a query in one repeat: state and value by metric."""


@dataclass
class ScoreFacts:
    shares_read: list[float] = field(default_factory=list)
    """Shares of the contexts that a judge saw."""
    labels: Counter[str] = field(default_factory=Counter)
    first_failure: str | None = None
    """Reason of the first failure; None: none failed."""
    applies: bool = False
    """Whether the metric applies to any query."""
    reasons: dict[str, None] = field(default_factory=dict)
    """Why the metric applies to no query."""

    def take(self, scores: Sequence[Score]) -> None:
        """Note what scores say besides their values."""
        if any(score.status != "not_applicable" for score in scores):
            self.applies = True
            self.reasons.clear()
        for score in scores:
            if score.status == "failed" and self.first_failure is None:
                self.first_failure = score.explanation
            elif score.status == "not_applicable" and not self.applies:
                self.reasons[score.explanation] = None
            if score.share_read is not None:
                self.shares_read.append(score.share_read)
            if score.label:
                self.labels[score.label] += 1


@dataclass(frozen=True)
class ScoreColumn:
    states: NDArray[np.uint8]
    """One of the states above for each query and repeat."""
    values: NDArray[np.float64]
    """NaN without a value."""
    lines: NDArray[np.int64]
    """Positions of the scores' lines (`ScoreLines`); negative without one."""
    facts: ScoreFacts = field(default_factory=ScoreFacts)

    @classmethod
    def empty(cls, frame: Frame, *, from_file: bool) -> ScoreColumn:
        """Without a score yet."""
        shape = len(frame.places), max(0, frame.repeats)
        lines = np.full(shape, _NOWHERE, np.int64) if from_file else np.broadcast_to(np.int64(_NOWHERE), shape)
        return cls(np.zeros(shape, np.uint8), np.full(shape, np.nan), lines)

    def count(self, state: int) -> int:
        return int(np.count_nonzero(self.states == state))

    def without(self, cells: Cells) -> ScoreColumn:
        """The same column with these scores missing."""
        states, values = self.states.copy(), self.values.copy()
        states[cells], values[cells] = MISSING, np.nan
        return replace(self, states=states, values=values)


@dataclass(frozen=True)
class ScoreColumns:
    """The scores of one run. Scores of queries and repeats that it was not asked are ignored."""

    places: Mapping[str, int]
    """The row of each query."""
    by_measure: Mapping[str, ScoreColumn]
    """In the order of first occurrence."""
    lines: ScoreLines | None = None
    """Where the explanations are; None: scores are not from files."""

    @classmethod
    def read(cls, frame: Frame, lines: ScoreLines, ranges: Mapping[str, tuple[float, float]]) -> ScoreColumns:
        """Every score of a run directory. `ranges`: lowest and highest possible value by metric. StoreError: a
        value outside them, because checksums do not show who wrote a file; two scores of one metric for the same
        answer.
        """
        found = cls(frame.places, _placed(frame, lines.batches(), from_file=True), lines)
        for measure, ends in ranges.items():
            if measure in found.by_measure:
                _refuse_impossible(frame, measure, found.by_measure[measure].values, ends, lines.fix)
        return found

    @classmethod
    def of(cls, frame: Frame, scores: Iterable[Score]) -> ScoreColumns:
        """Scores that were not read from a file; StoreError as for `read`."""
        return cls(frame.places, _placed(frame, [ScoreBatch([], list(scores))], from_file=False))

    @classmethod
    def of_cells(cls, frame: Frame, answers: Iterable[Answer]) -> ScoreColumns:
        """Values that are no scores, of the same metrics for each answer."""
        slots = array("q")
        gathered: dict[str, tuple[array[int], array[float]]] = defaultdict(lambda: (array("B"), array("d")))
        for (query_id, repeat), cells in answers:
            row = frame.places.get(query_id)
            if row is None or not 0 <= repeat < frame.repeats:
                continue
            slots.append(row * frame.repeats + repeat)
            for measure, (state, value) in cells.items():
                states, values = gathered[measure]
                states.append(state)
                values.append(np.nan if value is None else value)
        found: dict[str, ScoreColumn] = {}
        at = np.array(slots, np.int64)
        for measure, (states, values) in gathered.items():
            column = found[measure] = ScoreColumn.empty(frame, from_file=False)
            column.states.reshape(-1)[at], column.values.reshape(-1)[at] = states, values
        return cls(frame.places, found)

    def only(self, measures: Collection[str]) -> ScoreColumns:
        return replace(self, by_measure={name: own for name, own in self.by_measure.items() if name in measures})

    def over(self, query_ids: Sequence[str]) -> ScoreColumns:
        """The scores of these queries, in their order; one that the run was not asked has none."""
        if list(self.places) == list(query_ids):
            return self
        rows = np.array([self.places.get(query_id, -1) for query_id in query_ids], np.int64)
        known = rows >= 0

        def taken(source: NDArray[Any], nothing: float) -> NDArray[Any]:
            target = np.full((len(rows), *source.shape[1:]), nothing, source.dtype)
            target[known] = source[rows[known]]
            return target

        columns = {
            name: replace(
                own,
                states=taken(own.states, NONE),
                values=taken(own.values, np.nan),
                lines=taken(own.lines, _NOWHERE),
            )
            for name, own in self.by_measure.items()
        }
        return replace(self, places={one: row for row, one in enumerate(query_ids)}, by_measure=columns)

    def fitting(self, is_answered: Callable[[RecordKey], bool]) -> ScoreColumns:
        """The scores that fit the records that count. If a query had failed when it was scored and now has an
        answer, the score of the failure is missing for that answer. That includes descriptive metrics that were
        not applicable because of the failure, recognised by the words of its other scores. Scores that were not
        read from a file have no words and stay not applicable.
        """
        failures = {name: column.states == IMPUTED for name, column in self.by_measure.items()}
        answered = np.logical_or.reduce([*failures.values()]) if failures else np.zeros((0, 0), np.bool_)
        ids = list(self.places)
        for row, repeat in np.argwhere(answered).tolist():
            answered[row, repeat] = is_answered((ids[row], repeat))
        if not answered.any():
            return self
        outdated = {name: cells & answered for name, cells in failures.items()}
        for name, cells in self._in_words_of(outdated, answered).items():
            outdated[name] |= cells
        columns = {name: column.without(outdated[name]) for name, column in self.by_measure.items()}
        return replace(self, by_measure=columns)

    def _in_words_of(self, failures: Mapping[str, Cells], answered: Cells) -> dict[str, Cells]:
        """The scores of each metric that are not applicable for the reason that one of `failures` gives for the
        same answer; `answered`: the answers of the failures.
        """
        if self.lines is None:
            return {}
        columns = self.by_measure.items()
        doubtful = {name: answered & (column.states == NOT_APPLICABLE) for name, column in columns}
        asked = [column.lines[failures[name] | doubtful[name]] for name, column in columns]
        places = np.unique(np.concatenate(asked)).tolist()
        found = zip(places, self.lines.at(places), strict=True)
        words = {place: str(line.get("explanation", "")) for place, line in found}

        def said(name: str, cells: Cells) -> list[tuple[int, int, str]]:
            lines = self.by_measure[name].lines
            return [(row, repeat, words[int(lines[row, repeat])]) for row, repeat in np.argwhere(cells).tolist()]

        of_failures = {one for name, cells in failures.items() for one in said(name, cells)}
        for name, cells in doubtful.items():
            for row, repeat, why in said(name, cells):
                cells[row, repeat] = (row, repeat, why) in of_failures
        return doubtful

    def any_missing_of(self, records: Container[RecordKey]) -> bool:
        """Whether any of these queries, which all have a record, has no score yet."""
        ids = list(self.places)
        return any(
            (ids[row], repeat) in records
            for column in self.by_measure.values()
            for row, repeat in np.argwhere(column.states == MISSING).tolist()
        )


def _placed(frame: Frame, batches: Iterable[ScoreBatch], *, from_file: bool) -> dict[str, ScoreColumn]:
    """The columns of scores in any order. StoreError: two scores of one metric for the same answer."""
    found: dict[str, ScoreColumn] = {}
    for lines, scores in batches:
        rows = np.array([frame.places.get(one.query_id, -1) for one in scores], np.int64)
        # A file may contain any number.
        repeats = np.array([one.repeat if 0 <= one.repeat < frame.repeats else -1 for one in scores], np.int64)
        states = np.array([_STATE_OF[one.status] for one in scores], np.uint8)
        values = np.array([one.value for one in scores], np.float64)
        members: dict[str, list[int]] = defaultdict(list)
        for place in np.flatnonzero((rows >= 0) & (repeats >= 0)).tolist():
            members[scores[place].measure].append(place)
        for measure, own in members.items():
            if measure not in found:
                found[measure] = ScoreColumn.empty(frame, from_file=from_file)
            column, cells = found[measure], (rows[own], repeats[own])
            _refuse_twins(frame, measure, column, cells)
            column.states[cells], column.values[cells] = states[own], values[own]
            if from_file:
                column.lines[cells] = [lines[place] for place in own]
            column.facts.take([scores[place] for place in own])
    return found


def _refuse_impossible(
    frame: Frame, measure: str, values: NDArray[np.float64], ends: tuple[float, float], fix: str
) -> None:
    """StoreError: a value that the metric cannot have."""
    rows, repeats = np.nonzero((values < ends[0]) | (values > ends[1]))
    if len(rows):
        query_id, value = list(frame.places)[rows[0]], values[rows[0], repeats[0]]
        raise StoreError(
            f"run {frame.run_id}: the score of '{measure}' for query '{query_id}' is {value:g},"
            f" not within {ends[0]:g} and {ends[1]:g}",
            fix,
        )


def _refuse_twins(
    frame: Frame, measure: str, column: ScoreColumn, cells: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> None:
    """StoreError: one of these cells has a score already, or is there twice."""
    keys = list(zip(*(one.tolist() for one in cells), strict=True))
    if len({*keys}) < len(keys) or column.states[cells].any():
        row = next(key[0] for at, key in enumerate(keys) if key in keys[:at] or column.states[key])
        raise StoreError(
            f"run {frame.run_id}: two scores of '{measure}' for query '{list(frame.places)[row]}'",
            "two evaluators have a metric of the same name: delete one of their files under scores/",
        )
