"""Planned configurations of the demo data set with fake models."""

from pathlib import Path

from harness.config import load_config
from harness.runner.executing.execute import CellResult, RunContext, run_cell
from harness.runner.plan import Cell, plan_cells
from harness.runner.progress import Reporter

FAKE = ("models.generator.provider=fake", "models.embedder.provider=fake", "dataset.sample.per_type=1")


def cells(*settings: str) -> list[Cell]:
    """Those of the default config with these settings: one query of each type, unless a setting says otherwise."""
    return plan_cells(load_config(None, [*FAKE, *settings]))


def cell(*settings: str) -> Cell:
    (only,) = cells(*settings)
    return only


def ran(results: Path, *settings: str) -> CellResult:
    """The result of the one run of these settings."""
    return run_cell(cell(*settings), RunContext(results, Reporter(quiet=True)))
