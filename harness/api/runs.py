"""Runs as pandas frames that are read on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from harness.api import frames
from harness.store import RunDir

if TYPE_CHECKING:
    from pandas import DataFrame


class Runs:
    """A collection of run directories. Every frame begins with `run_id`, `label` (as in a report), `system` and
    `dataset`. An unknown value is missing, never 0.
    """

    def __init__(self, directories: Sequence[RunDir]) -> None:
        self.directories = list({run.path.resolve(): run for run in directories}.values())
        """The run directories, without duplicates, in the given order."""

    @cached_property
    def runs(self) -> DataFrame:
        """One row per run: models, numbers of answered and failed queries, whether it is finished."""
        return frames.data_frame(map(frames.run_row, self._read), frames.RUN_COLUMNS)

    @cached_property
    def records(self) -> DataFrame:
        """One row per query and repeat, including failed ones: question, references, answer, cost."""
        return self._frame(frames.record_rows, frames.RECORD_COLUMNS)

    @cached_property
    def contexts(self) -> DataFrame:
        """One row per context, by rank from 1: kind, documents, score, span, text."""
        return self._frame(frames.context_rows, frames.CONTEXT_COLUMNS)

    @cached_property
    def scores(self) -> DataFrame:
        """One row per score.

        A failed query (status `imputed`) has the metric's worst value. `value` is missing if the metric does not
        apply, the evaluator failed or the run is unfinished: check `status` before you take a mean. With repeats,
        average the repeats of each query first.
        """
        return self._frame(frames.score_rows, frames.SCORE_COLUMNS)

    @cached_property
    def scored_records(self) -> DataFrame:
        """`records` with a column for each metric, by its name in full: the value, missing where it has none."""
        keys = ["run_id", "query_id", "repeat"]
        return self.records.join(self.scores.pivot(index=keys, columns="measure", values="value"), on=keys)

    def __len__(self) -> int:
        """The number of runs."""
        return len(self.directories)

    def __iter__(self) -> Iterator[RunDir]:
        """The run directories."""
        return iter(self.directories)

    def __add__(self, other: Runs) -> Runs:
        """These runs and the others."""
        return Runs([*self.directories, *other.directories])

    def __repr__(self) -> str:
        """The run ids."""
        return f"Runs({[run.run_id for run in self.directories]})"

    def _repr_html_(self) -> str:
        """The HTML that a notebook shows."""
        return str(self.runs.to_html())

    @cached_property
    def _read(self) -> list[frames.ReadRun]:
        return frames.read_runs(self.directories)

    def _frame(self, rows: Callable[[frames.ReadRun], Iterable[frames.Row]], columns: Sequence[str]) -> DataFrame:
        return frames.data_frame((row for read in self._read for row in rows(read)), columns)
