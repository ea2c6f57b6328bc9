"""How far a cell is, from what is on disk. It imports nothing that executes one: a plan asks it of hundreds."""

from pathlib import Path

from harness.runner.plan import Cell
from harness.store import IndexDir, RunDir, indexes_of


def is_finished(cell: Cell, results: Path) -> bool:
    """Whether its run is closed over every query, and nothing of it is damaged or lost."""
    run = RunDir(results / cell.run_id)
    return run.is_closed() and is_whole(cell, run)


def is_whole(cell: Cell, run: RunDir) -> bool:
    """Whether its run says that it was closed over every query; what it says is not checked."""
    done = run.done()
    return done is not None and done.n_expected >= cell.n_answers


def index_dirs(cell: Cell, results: Path) -> list[IndexDir]:
    """What a cell answers from: its own index, or those of the systems that it is lent, each once."""
    return indexes_of(results, cell.index_id, (one.cell.index_id for one in cell.lent))
