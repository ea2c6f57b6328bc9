"""The values that a comparison pairs: one number per query and metric of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import isnan
from typing import Self

import numpy as np
from numpy.typing import NDArray

from harness.statistics.aggregate import means_of, means_of_questions
from harness.statistics.columnar_scores import IMPUTED, NONE, NOT_APPLICABLE, ScoreColumns
from harness.statistics.cost import TIMES
from harness.statistics.run_frame import Frame

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


class QueryValues(Mapping[str, float]):
    """One metric of one run: query id -> mean over its repeats of scored or imputed values; no entry without any.
    A value takes eight bytes, because all metrics of a run share the ids.
    """

    def __init__(self, places: Mapping[str, int], numbers: NDArray[np.float64], expected: frozenset[str]) -> None:
        """`numbers`: the value at each place; NaN if there is none."""
        self._places, self._numbers = places, numbers
        self._n = int(np.count_nonzero(~np.isnan(numbers)))
        self.expected = expected
        """The queries to which the metric applies, with or without a value."""

    @classmethod
    def of(cls, values: Mapping[str, float], expected: frozenset[str]) -> Self:
        places = {query_id: place for place, query_id in enumerate(values)}
        return cls(places, np.array([*values.values()], np.float64), expected)

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

    @property
    def is_covered(self) -> bool:
        """Whether at least half of its queries have a value; otherwise it is not compared."""
        return len(self) >= LEAST_COVERED * len(self.expected)

    def is_comparable(self, measure: str) -> bool:
        """Whether enough queries have a value of `measure` to compare the run by it. A missing cost has no worst
        value: incompletely counted tokens and dollars are a lower bound, and only few seconds may be missing.
        """
        if measure not in COSTS:
            return self.is_covered
        least = LEAST_TIMED if measure in TIMES else 1.0
        return len(self) >= least * len(self.expected)

    def only(self, query_ids: Collection[str]) -> QueryValues:
        kept = {query_id: value for query_id, value in self.items() if query_id in query_ids}
        return QueryValues.of(kept, self.expected & frozenset(query_ids))

    def at(self, query_ids: Sequence[str], missing: float = np.nan) -> NDArray[np.float64]:
        """The values of these queries; `missing` in place of each that there is not."""
        found = np.append(self._numbers, np.nan)[[self._places.get(one, -1) for one in query_ids]]
        return np.where(np.isnan(found), missing, found)


def scored_values(frame: Frame, scores: ScoreColumns) -> dict[str, QueryValues]:
    """Every metric with scores in a run, finished or not."""
    alike: dict[bytes, frozenset[str]] = {}
    found = {}
    for measure, column in scores.by_measure.items():
        applying = ((column.states != NONE) & (column.states != NOT_APPLICABLE)).any(axis=1)
        if frame.questions is not None:
            asked = np.zeros_like(applying)
            asked[frame.questions[applying]] = True
            applying = asked
        # Most metrics apply to the same queries, so they share one set.
        key = applying.tobytes()
        if key not in alike:
            alike[key] = frozenset(one for one, is_one in zip(frame.places, applying, strict=True) if is_one)
        found[measure] = QueryValues(frame.places, _means(frame, column.values), alike[key])
    return found


def cost_values(frame: Frame, costs: ScoreColumns) -> dict[str, QueryValues]:
    """`COSTS` of each query, from the records that count, as in `harness.statistics.cost`: tokens and dollars of
    failures too, seconds of live answers, and of timeouts with their limit. A query whose tokens were not all
    counted has none here, since lower bounds cannot be compared; a cost with only lower bounds is absent. So is
    `usd` if a model that was called has no price. `costs`: the result of `query_scores`.
    """
    applies = frozenset(frame.query_types) - frame.repeated.keys()
    found = {}
    for measure, column in costs.by_measure.items():
        is_known = (column.states != NONE) & ((measure in TIMES) | (column.states != IMPUTED))
        if measure in COSTS and is_known.any():
            means = _means(frame, np.where(is_known, column.values, np.nan))
            found[measure] = QueryValues(frame.places, means, applies)
    return found


def _means(frame: Frame, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of each query over its repeats; of queries with the same text at the place of the first."""
    means = means_of(values)
    if frame.questions is None:
        return means
    numbers, averages = means_of_questions(means, frame.questions)
    found = np.full(len(means), np.nan)
    found[numbers] = averages
    return found
