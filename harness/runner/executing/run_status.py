"""The status of a cell, read from disk. It imports no execution code, so that plans of many cells are fast."""

from pathlib import Path

from harness.runner.plan import Cell
from harness.store import IndexDir, RunDir, indexes_of


def is_finished(cell: Cell, results: Path) -> bool:
    """Whether its run is closed over all queries and undamaged."""
    run = RunDir(results / cell.run_id)
    return run.is_closed() and is_whole(cell, run)


def is_whole(cell: Cell, run: RunDir) -> bool:
    """Whether done.json says that the run was closed over all queries. Its files are not checked."""
    done = run.done()
    return done is not None and done.n_expected >= cell.n_answers


def index_dirs(cell: Cell, results: Path) -> list[IndexDir]:
    """Its own index, or those of the systems to which it routes queries, each once."""
    return indexes_of(results, cell.index_id, (one.cell.index_id for one in cell.lent))
