"""The scores of one run in columns, about thirty bytes per score. A report needs all values at once, and as
objects the scores of a hundred thousand queries take gigabytes.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from sys import intern
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.core.errors import StoreError
from harness.core.records import EvaluationRecord, Score, ScoreStatus
from harness.store import RecordKey
from harness.store.score_files import ScoreLines

NONE, SCORED, IMPUTED, FAILED, MISSING, NOT_APPLICABLE = range(6)
"""State of a query for a metric; `NONE`: no score."""
STATES: tuple[ScoreStatus | None, ...] = (None, "scored", "imputed", "failed", "missing", "not_applicable")
"""The status of a score for each state."""
_STATE_OF = {status: state for state, status in enumerate(STATES)}
_FARTHEST = 1 << 62
"""Repeats from here on are numbered instead, because a file may contain any number."""
_FIELDS = attrgetter("query_id", "repeat", "measure", "status", "value", "share_read", "label")


@dataclass
class ScoreFacts:
    """Facts about the scores of one metric besides numbers."""

    shares_read: list[float] = field(default_factory=list)
    """Shares of the contexts that a judge saw."""
    labels: Counter[str] = field(default_factory=Counter)
    first_failure: str | None = None
    """Reason of the first failure; None: none failed."""
    applies: bool = False
    """Whether the metric applies to any query."""
    reasons: dict[str, None] = field(default_factory=dict)
    """Why the metric applies to no query."""


@dataclass(frozen=True)
class ScoreColumn:
    """The scores of one metric, in the order read."""

    queries: NDArray[np.int32]
    """Numbers of the queries in `ScoreColumns.query_ids`."""
    repeats: NDArray[np.int64]
    states: NDArray[np.uint8]
    values: NDArray[np.float64]
    """NaN without a value."""
    places: NDArray[np.int64]
    """Positions of the scores' lines (`ScoreLines`); empty if the scores are not from a file."""
    facts: ScoreFacts

    def count(self, state: int) -> int:
        """Number of scores in that state."""
        return int(np.count_nonzero(self.states == state))

    def rows(self, state: int) -> list[int]:
        """Rows of the scores in this state."""
        found: list[int] = np.flatnonzero(self.states == state).tolist()
        return found

    def without(self, rows: Sequence[int]) -> ScoreColumn:
        """The same column with these scores missing."""
        states, values = self.states.copy(), self.values.copy()
        states[rows], values[rows] = MISSING, np.nan
        return replace(self, states=states, values=values)


@dataclass(frozen=True)
class ScoreColumns:
    """The scores of one run."""

    query_ids: Mapping[str, int]
    """The number of each query that has a score."""
    by_measure: Mapping[str, ScoreColumn]
    """In the order of first occurrence."""
    lines: ScoreLines | None = None
    """Where the explanations are; None: scores are not from files."""

    @classmethod
    def read(cls, lines: ScoreLines) -> ScoreColumns:
        """Every score of a run directory."""
        gathered = Gathered()
        for places, scores in lines.batches():
            gathered.take(scores, places)
        return replace(gathered.columns(), lines=lines)

    @classmethod
    def of(cls, scores: Iterable[Score]) -> ScoreColumns:
        """Scores that were not read from a file."""
        gathered = Gathered()
        gathered.take(list(scores))
        return gathered.columns()

    def only(self, measures: Collection[str]) -> ScoreColumns:
        """The columns of these metrics."""
        kept = {name: own for name, own in self.by_measure.items() if name in measures}
        return ScoreColumns(self.query_ids, kept)

    def fitting(self, is_answered: Callable[[RecordKey], bool]) -> ScoreColumns:
        """The scores that fit the records that count. If a query had failed when it was scored and now has an
        answer, the score of the failure is missing for that answer. That includes descriptive metrics that were
        not applicable because of the failure, recognised by the words of its other scores. Scores that were not
        read from a file have no words and stay not applicable.
        """
        ids = list(self.query_ids)

        def is_outdated(column: ScoreColumn, row: int) -> bool:
            return is_answered((ids[column.queries[row]], int(column.repeats[row])))

        outdated = {
            measure: [row for row in column.rows(IMPUTED) if is_outdated(column, row)]
            for measure, column in self.by_measure.items()
        }
        for measure, row in self._in_words_of(outdated):
            outdated[measure].append(row)
        columns = {
            measure: column.without(outdated[measure]) if outdated[measure] else column
            for measure, column in self.by_measure.items()
        }
        return ScoreColumns(self.query_ids, columns)

    def _in_words_of(self, failures: Mapping[str, Sequence[int]]) -> list[tuple[str, int]]:
        """Metric and row of each score that is not applicable for the reason that one of `failures` (rows by
        metric) gives for the same query and repeat.
        """
        known = [(self.by_measure[measure], row) for measure, rows in failures.items() for row in rows]
        if self.lines is None or not known:
            return []
        failed = np.array(sorted({column.queries[row] for column, row in known}))
        doubtful = [
            (measure, row)
            for measure, column in self.by_measure.items()
            for row in np.flatnonzero((column.states == NOT_APPLICABLE) & np.isin(column.queries, failed)).tolist()
        ]
        asked = [(self.by_measure[measure], row) for measure, row in doubtful]
        places = sorted({int(column.places[row]) for column, row in (*known, *asked)})
        found = zip(places, self.lines.at(places), strict=True)
        words = {place: str(line.get("explanation", "")) for place, line in found}

        def said(column: ScoreColumn, row: int) -> tuple[int, int, str]:
            return int(column.queries[row]), int(column.repeats[row]), words[int(column.places[row])]

        of_failures = {said(*one) for one in known}
        return [one for one, score in zip(doubtful, asked, strict=True) if said(*score) in of_failures]

    def any_missing_of(self, records: Container[RecordKey]) -> bool:
        """Whether any of these queries, which all have a record, has no score yet."""
        ids = list(self.query_ids)
        return any(
            (ids[column.queries[row]], int(column.repeats[row])) in records
            for column in self.by_measure.values()
            for row in column.rows(MISSING)
        )


class _Numbers(dict[str, int]):
    """Numbers names in the order of first use."""

    def __missing__(self, name: str) -> int:
        number = self[intern(name)] = len(self)
        return number


class _Repeats(dict[int, int]):
    """Column values of repeats: the repeat itself, unless it is too large."""

    def __missing__(self, number: int) -> int:
        if -_FARTHEST < number < _FARTHEST:
            return number
        found = self[number] = _FARTHEST + len(self)
        return found


class GatheredRows:
    """Builds columns row by row; each row has a value of every metric."""

    def __init__(self) -> None:
        self._query_ids, self._far = _Numbers(), _Repeats()
        self._queries, self._repeats = array("i"), array("q")
        self._columns: dict[str, tuple[array[int], array[float]]] = {}

    def add(self, key: tuple[str, int], cells: Mapping[str, tuple[int, float | None]]) -> None:
        """Add a row for (query_id, repeat): state and value by metric, of the same metrics in each row."""
        self._queries.append(self._query_ids[key[0]])
        self._repeats.append(self._far[key[1]])
        for measure, (state, value) in cells.items():
            if measure not in self._columns:
                self._columns[measure] = array("B"), array("d")
            states, values = self._columns[measure]
            states.append(state)
            values.append(np.nan if value is None else value)

    def columns(self) -> ScoreColumns:
        """The gathered columns."""
        queries, repeats = np.array(self._queries, np.int32), np.array(self._repeats, np.int64)
        nowhere, facts = np.zeros(0, np.int64), ScoreFacts(applies=True)
        columns = {
            measure: ScoreColumn(
                queries, repeats, np.array(states, np.uint8), np.array(values, np.float64), nowhere, facts
            )
            for measure, (states, values) in self._columns.items()
        }
        return ScoreColumns(dict(self._query_ids), columns)


class Gathered:
    """Builds columns from scores in any order."""

    def __init__(self) -> None:
        self._query_ids, self._measures, self._far = _Numbers(), _Numbers(), _Repeats()
        self._facts: dict[str, ScoreFacts] = {}
        self._columns = (array("i"), array("q"), array("i"), array("B"), array("d"), array("q"))

    def take(self, scores: Sequence[Score], found_at: Sequence[int] = ()) -> None:
        """Add scores, and the offsets of their lines, if they have any."""
        if not scores:
            return
        ids, repeat_numbers, names, statuses, numbers, shares, labels = zip(*map(_FIELDS, scores), strict=True)
        queries, repeats, measures, states, values, places = self._columns
        queries.extend(map(self._query_ids.__getitem__, ids))
        repeats.extend(map(self._far.__getitem__, repeat_numbers))
        measures.extend(map(self._measures.__getitem__, names))
        states.extend(map(_STATE_OF.__getitem__, statuses))
        values.frombytes(np.array(numbers, dtype=np.float64).tobytes())
        places.extend(found_at)
        self._note(scores, names, statuses)
        if any(labels) or any(share is not None for share in shares):
            self._note_readings(scores)

    def columns(self) -> ScoreColumns:
        """The gathered columns."""
        kinds = (np.int32, np.int64, np.int32, np.uint8, np.float64, np.int64)
        queries, repeats, measures, states, values, places = (
            np.array(own, dtype=kind) for own, kind in zip(self._columns, kinds, strict=True)
        )
        order = np.argsort(measures, kind="stable")
        ends = np.cumsum(np.bincount(measures, minlength=len(self._measures)))
        columns = {}
        for measure, number in self._measures.items():
            own = order[ends[number - 1] if number else 0 : ends[number]]
            lines = places[own] if len(places) else places
            numbers = queries[own], repeats[own], states[own], values[own], lines
            columns[measure] = ScoreColumn(*numbers, self._facts[measure])
        return ScoreColumns(dict(self._query_ids), columns)

    def _note(self, scores: Sequence[Score], names: Sequence[str], statuses: Sequence[str]) -> None:
        """Note failures and the reasons of scores that are not applicable."""
        for name in set(names):
            self._facts.setdefault(name, ScoreFacts())
        applying = {name for name, status in zip(names, statuses, strict=True) if status != "not_applicable"}
        for name in applying:
            self._facts[name].applies = True
            self._facts[name].reasons.clear()
        if not {"failed", "not_applicable"} & set(statuses):
            return
        for score in scores:
            facts = self._facts[score.measure]
            if score.status == "failed" and facts.first_failure is None:
                facts.first_failure = score.explanation
            elif score.status == "not_applicable" and not facts.applies:
                facts.reasons[score.explanation] = None

    def _note_readings(self, scores: Iterable[Score]) -> None:
        """Record how much of the contexts judges saw, and how answers were classified."""
        for score in scores:
            if score.share_read is not None:
                self._facts[score.measure].shares_read.append(score.share_read)
            if score.label:
                self._facts[score.measure].labels[score.label] += 1


ScoresOrColumns = ScoreColumns | Iterable[Score]


def in_columns(scores: ScoresOrColumns) -> ScoreColumns:
    """Scores in either form, as columns."""
    return scores if isinstance(scores, ScoreColumns) else ScoreColumns.of(scores)


class Filled(NamedTuple):
    """One metric: one row per query, one column per repeat."""

    states: NDArray[np.uint8]
    values: NDArray[np.float64]
    """NaN without a value."""


class Slots:
    """Positions in one run: a row for each of `query_ids`, in their order."""

    def __init__(self, columns: ScoreColumns, run_id: str, query_ids: Sequence[str], repeats: int) -> None:
        self.columns = columns
        self._run_id = run_id
        self._shape = len(query_ids), max(0, repeats)
        rows = {query_id: row for row, query_id in enumerate(query_ids)}
        self._rows = np.array([rows.get(query_id, -1) for query_id in columns.query_ids], dtype=np.int64)

    def filled(self, measure: str) -> Filled:
        """All states and values, without scores of other queries or repeats. StoreError for duplicate scores."""
        column = self.columns.by_measure[measure]
        inside, places = self._places(measure, column)
        states, values = np.zeros(self._shape, np.uint8), np.full(self._shape, np.nan)
        states.reshape(-1)[places] = column.states[inside]
        values.reshape(-1)[places] = column.values[inside]
        return Filled(states, values)

    def lines(self, measure: str) -> NDArray[np.int64]:
        """The place of each score in the score files; -1 without a score."""
        column = self.columns.by_measure[measure]
        inside, places = self._places(measure, column)
        lines = np.full(self._shape, -1, np.int64)
        lines.reshape(-1)[places] = column.places[inside]
        return lines

    def _places(self, measure: str, column: ScoreColumn) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Which scores of a metric belong to these queries, and their places."""
        queries, repeats = column.queries, column.repeats
        rows = self._rows[queries]
        inside = (rows >= 0) & (repeats >= 0) & (repeats < self._shape[1])
        places = rows[inside] * self._shape[1] + repeats[inside]
        others = list(zip(queries[~inside].tolist(), repeats[~inside].tolist(), strict=True))
        if np.bincount(places).max(initial=0) > 1 or len(set(others)) < len(others):
            self._refuse(measure, list(zip(queries.tolist(), repeats.tolist(), strict=True)))
        return inside, places

    def _refuse(self, measure: str, keys: Sequence[tuple[int, int]]) -> None:
        twin = next(key for key, number in Counter(keys).items() if number > 1)
        query_id = list(self.columns.query_ids)[twin[0]]
        raise StoreError(
            f"run {self._run_id}: two scores of '{measure}' for query '{query_id}'",
            "two evaluators have a metric of the same name: delete one of their files under scores/",
        )


Spreads = dict[tuple[str, str], "Spread"]
"""(evaluator, measure) -> spread."""


@dataclass(frozen=True)
class Spread:
    """The lowest and highest of `n` values."""

    n: int
    low: float
    high: float

    def joined(self, other: Spread) -> Spread:
        """The spread of both."""
        return Spread(self.n + other.n, min(self.low, other.low), max(self.high, other.high))


def judged_spreads(scores: ScoresOrColumns, evaluations: Iterable[EvaluationRecord]) -> Spreads:
    """For every graded metric whose evaluator uses a judge, the spread of its scores.

    Imputed values are not the judge's, and binary metrics may well be constant.
    """
    asking = [one for one in evaluations if "judge" in one.models]
    owners = {name: one.evaluator for one in asking for name in one.measures if name not in one.binary}
    found: Spreads = {}
    for measure, column in in_columns(scores).only(owners).by_measure.items():
        values = column.values[column.states == SCORED]
        if len(values):
            found[owners[measure], measure] = Spread(len(values), float(values.min()), float(values.max()))
    return found
