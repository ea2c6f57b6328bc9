"""Lists the runs of a config and their status, before anything is paid."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness.api.config_building import price_table
from harness.config import BenchConfig, ModelConfig
from harness.core.records import Estimate
from harness.runner.estimating.estimate import Estimator, expected_work
from harness.runner.plan import Cell, is_finished, is_indexed, plan_cells
from harness.store import RunDir


@dataclass(frozen=True)
class PlannedCell:
    run_id: str
    system: str
    dataset: str
    status: Literal["done", "partial", "missing"]
    n_recorded: int
    n_expected: int
    n_documents: int
    index: Literal["built", "missing"]
    generator: str | None
    """provider/model; None without one."""
    embedder: str | None
    index_calls: int | None
    """Calls of the generator that the system expects for its index; None: unknown."""
    answer: dict[str, Any]
    changed: dict[str, Any]
    """Index and answer parameters that differ from the defaults."""
    notes: tuple[str, ...]


def planned_cells(config: BenchConfig, results: Path) -> list[PlannedCell]:
    return [planned_cell(cell, results) for cell in plan_cells(config)]


def planned_cell(cell: Cell, results: Path) -> PlannedCell:
    n_recorded = len(RunDir(results / cell.run_id).intact_statuses())
    expected = expected_work(cell) if cell.generates else None
    calls = round(sum(kind.calls for kind in expected.index.calls)) if expected else None
    return PlannedCell(
        run_id=cell.run_id,
        system=cell.spec.name,
        dataset=cell.dataset.name,
        status="done" if is_finished(cell, results) else "partial" if n_recorded else "missing",
        n_recorded=n_recorded,
        n_expected=cell.n_answers,
        n_documents=len(cell.dataset.documents),
        index="built" if is_indexed(cell, results) else "missing",
        generator=_model(cell.generator),
        embedder=_model(cell.embedder),
        index_calls=calls if cell.generates else 0,
        answer=cell.answer_params.model_dump(mode="json"),
        changed={
            **cell.index_params.model_dump(mode="json", exclude_defaults=True),
            **cell.answer_params.model_dump(mode="json", exclude_defaults=True),
        },
        notes=tuple(cell.dataset.notes),
    )


def estimated_runs(
    planned: Sequence[tuple[BenchConfig, Sequence[Cell]]], results: Path
) -> Iterator[tuple[BenchConfig, list[Estimate]]]:
    """Estimate each run once; a run named by several configs belongs to the first of them."""
    known, paid = set[str](), set[str]()
    for config, cells in planned:
        new = [cell for cell in cells if cell.run_id not in known]
        known.update(cell.run_id for cell in new)
        yield config, Estimator(results, price_table(config.prices)).estimate_all(new, paid)


def _model(model: ModelConfig | None) -> str | None:
    if model is None or model.is_none:
        return None
    return model.provider if model.model in {None, model.provider} else model.label
