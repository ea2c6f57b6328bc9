"""Aligns the scores of a run with its queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.core.errors import StoreError
from harness.statistics.columnar_scores import ScoreColumn, ScoreColumns


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
