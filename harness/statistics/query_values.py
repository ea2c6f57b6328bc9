"""The values that a comparison pairs: one number per query and metric of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np
from numpy.typing import NDArray

from harness.statistics.aggregate import Frame, means_of, means_of_questions
from harness.statistics.columnar_scores import (
    IMPUTED,
    NONE,
    NOT_APPLICABLE,
    ScoreColumn,
    ScoreColumns,
    ScoresOrColumns,
    Slots,
    in_columns,
)
from harness.statistics.cost import TIMES

COSTS = {
    "latency_s": "latency",
    "wall_s": "wall time",
    "tokens": "tokens",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "usd": "USD",
}
"""The costs of a query, with their names in sentences; for all, less is better."""


LEAST_TIMED = 0.95
"""Minimum share of timed queries for comparing runs by seconds; replayed calls have no time."""
LEAST_COVERED = 0.5
"""Minimum share of queries with a value for a run to be compared."""


class ByQuery(Mapping[str, float]):
    """Query id -> number, in eight bytes each: the ids are stored once for all metrics of a run."""

    def __init__(self, places: Mapping[str, int], numbers: NDArray[np.float64]) -> None:
        """`numbers`: the value at each place; NaN if there is none."""
        self._places, self._numbers = places, numbers
        self._n = int(np.count_nonzero(~np.isnan(numbers)))

    def __getitem__(self, query_id: str) -> float:
        number = float(self._numbers[self._places[query_id]])
        if isnan(number):
            raise KeyError(query_id)
        return number

    def __iter__(self) -> Iterator[str]:
        known: list[bool] = (~np.isnan(self._numbers)).tolist()
        return (query_id for query_id, is_known in zip(self._places, known, strict=True) if is_known)

    def __len__(self) -> int:
        return self._n

    def at(self, query_ids: Sequence[str]) -> NDArray[np.float64]:
        """The values of these queries, all of which have one."""
        return self._numbers[[self._places[query_id] for query_id in query_ids]]


@dataclass(frozen=True)
class QueryValues:
    """One metric of one run."""

    values: Mapping[str, float]
    """Query id -> mean over its repeats of scored or imputed values; no entry without any."""
    expected: frozenset[str]
    """The queries to which the metric applies, with or without a value."""

    @property
    def is_covered(self) -> bool:
        """Whether at least half of its queries have a value; otherwise it is not compared."""
        return len(self.values) >= LEAST_COVERED * len(self.expected)

    def is_comparable(self, measure: str) -> bool:
        """Whether enough queries have a value of `measure` to compare the run by it. A missing cost has no worst
        value: incompletely counted tokens and dollars are a lower bound, and only few seconds may be missing.
        """
        if measure not in COSTS:
            return self.is_covered
        least = LEAST_TIMED if measure in TIMES else 1.0
        return len(self.values) >= least * len(self.expected)

    def only(self, query_ids: Collection[str]) -> QueryValues:
        """The part for these queries."""
        kept = {query_id: value for query_id, value in self.values.items() if query_id in query_ids}
        return QueryValues(kept, self.expected & frozenset(query_ids))

    def at(self, query_ids: Sequence[str]) -> NDArray[np.float64]:
        """The values of these queries, which must all have one."""
        if isinstance(self.values, ByQuery):
            return self.values.at(query_ids)
        return np.array([self.values[query_id] for query_id in query_ids], dtype=np.float64)


def values_of(frame: Frame, scores: ScoresOrColumns, costs: ScoreColumns) -> dict[str, QueryValues]:
    """Every metric with scores in a run, finished or not, and the costs of its queries (`COSTS`); `costs`: the
    result of `query_scores`.
    """
    return cost_values(frame, costs) | scored_values(frame, scores)


def scored_values(frame: Frame, scores: ScoresOrColumns) -> dict[str, QueryValues]:
    """Values by metric. Scores of queries or repeats outside the frame are ignored."""
    columns = in_columns(scores)
    return _by_query(frame, columns, dict.fromkeys(columns.by_measure, ()))


def cost_values(frame: Frame, costs: ScoreColumns) -> dict[str, QueryValues]:
    """`COSTS` of each query, from the records that count, as in `harness.statistics.cost`: tokens and dollars of
    failures too, seconds of live answers, and of timeouts with their limit. A query whose tokens were not all
    counted has none here, since lower bounds cannot be compared. `usd` is absent if a model that was called has no
    price.
    """
    bounds = {name: () if name in TIMES else (IMPUTED,) for name in costs.by_measure if name in COSTS}
    # A cost with only lower bounds is treated as unknown.
    known = {name: passed for name, passed in bounds.items() if _is_any_left(costs.by_measure[name], passed)}
    applies = frozenset(frame.query_types) - frame.repeated.keys()
    return {name: replace(own, expected=applies) for name, own in _by_query(frame, costs, known).items()}


def _is_any_left(column: ScoreColumn, passed: Sequence[int]) -> bool:
    return len(column.states) > sum(column.count(state) for state in passed)


def _by_query(frame: Frame, columns: ScoreColumns, passed: Mapping[str, Sequence[int]]) -> dict[str, QueryValues]:
    """Values of these metrics, without the states in `passed`."""
    ids = list(frame.places)
    questions = _questions(frame, ids)
    slots = Slots(columns, frame.run_id, ids, frame.repeats)
    alike: dict[bytes, frozenset[str]] = {}
    found = {}
    for measure, without in passed.items():
        states, values = slots.filled(measure)
        for state in without:
            values[states == state] = np.nan
        applying = ((states != NONE) & (states != NOT_APPLICABLE)).any(axis=1)
        if questions is not None:
            asked = np.zeros_like(applying)
            asked[questions[applying]] = True
            applying = asked
        # Most metrics apply to the same queries, so they share one set.
        expected = alike.get(applying.tobytes())
        if expected is None:
            expected = frozenset(query_id for query_id, is_one in zip(ids, applying, strict=True) if is_one)
            alike[applying.tobytes()] = expected
        means = means_of(values)
        if questions is not None:
            numbers, averages = means_of_questions(means, questions)
            means = np.full(len(ids), np.nan)
            means[numbers] = averages
        found[measure] = QueryValues(ByQuery(frame.places, means), expected)
    return found


def _questions(frame: Frame, ids: Sequence[str]) -> NDArray[np.int64] | None:
    """The number of the question that each of these queries asks; None: all texts are different."""
    if not frame.repeated:
        return None
    return np.array([frame.places[frame.repeated.get(one, one)] for one in ids], dtype=np.int64)
