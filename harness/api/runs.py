"""Runs as pandas frames, read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from harness.api import frames
from harness.store import RunDir

if TYPE_CHECKING:
    from pandas import DataFrame


class Runs:
    """Some run directories. Every frame begins with `run_id`, `label` (what tells the runs apart in a report),
    `system` and `dataset`; a value that is not known is missing in it, never 0.
    """

    def __init__(self, directories: Sequence[RunDir]) -> None:
        self.directories = list({run.path.resolve(): run for run in directories}.values())
        """Each once, in the order given."""

    @cached_property
    def runs(self) -> DataFrame:
        """A row for each run: models, how many queries were answered and failed, whether it is finished."""
        return frames.data_frame(map(frames.run_row, self._read), frames.RUN_COLUMNS)

    @cached_property
    def records(self) -> DataFrame:
        """A row for each answered query and repeat, the failed ones too: question, references, answer, cost."""
        return self._frame(frames.record_rows, frames.RECORD_COLUMNS)

    @cached_property
    def contexts(self) -> DataFrame:
        """A row for each context, by rank from 1: kind, documents, score, place, text."""
        return self._frame(frames.context_rows, frames.CONTEXT_COLUMNS)

    @cached_property
    def scores(self) -> DataFrame:
        """A row for each score.

        `value` is what a report counts: where the query failed (status `imputed`) the measure's worst. It is
        missing where the measure does not apply, the evaluator failed or the run is unfinished: before you take a
        mean, look at `status`, as a report does. With repeats, take the mean of a query first.
        """
        return self._frame(frames.score_rows, frames.SCORE_COLUMNS)

    def __len__(self) -> int:
        """How many runs."""
        return len(self.directories)

    def __iter__(self) -> Iterator[RunDir]:
        """The run directories."""
        return iter(self.directories)

    def __add__(self, other: Runs) -> Runs:
        """These and the others."""
        return Runs([*self.directories, *other.directories])

    def __repr__(self) -> str:
        """The run ids."""
        return f"Runs({[run.run_id for run in self.directories]})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return str(self.runs.to_html())

    @cached_property
    def _read(self) -> list[frames.ReadRun]:
        return frames.read_runs(self.directories)

    def _frame(self, rows: Callable[[frames.ReadRun], Iterable[frames.Row]], columns: Sequence[str]) -> DataFrame:
        return frames.data_frame((row for read in self._read for row in rows(read)), columns)
