"""Lists the runs of a config and their status, before anything is paid."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness.config import BenchConfig
from harness.runner.plan import Cell, index_dirs, is_finished, plan_cells
from harness.store import RunDir


@dataclass(frozen=True)
class PlannedCell:
    """A run of a config and its status."""

    run_id: str
    system: str
    dataset: str
    status: Literal["done", "partial", "missing"]
    n_recorded: int
    n_expected: int
    n_documents: int
    index: Literal["built", "missing"]
    answer: dict[str, Any]
    """The answer parameters."""
    notes: tuple[str, ...]
    """Notes of the data set."""


def planned_cells(config: BenchConfig, results: Path) -> list[PlannedCell]:
    """All runs of a config, in order."""
    return [planned_cell(cell, results) for cell in plan_cells(config)]


def planned_cell(cell: Cell, results: Path) -> PlannedCell:
    """The status of one run."""
    run = RunDir(results / cell.run_id)
    n_recorded = len(run.intact_statuses())
    return PlannedCell(
        run_id=cell.run_id,
        system=cell.spec.name,
        dataset=cell.dataset.name,
        status="done" if is_finished(cell, results) else "partial" if n_recorded else "missing",
        n_recorded=n_recorded,
        n_expected=cell.n_answers,
        n_documents=len(cell.dataset.documents),
        index="built" if all(one.record() for one in index_dirs(cell, results)) else "missing",
        answer=cell.answer_params.model_dump(mode="json"),
        notes=tuple(cell.dataset.notes),
    )
