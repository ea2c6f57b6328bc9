"""Cells side by side: each as `run_cell` runs it, over the workers of one fleet."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.models.providers import provider_of
from harness.runner.budget_tracker import Spending
from harness.runner.executing.execute import CellResult, RerunOptions, RunContext, carry_out
from harness.runner.plan import Cell
from harness.runner.progress import Priced, Reporter
from harness.runner.spreading.execution import SpreadExecution
from harness.runner.spreading.fleet import Fleet
from harness.runner.spreading.wires import MakeWire


@dataclass(frozen=True)
class SpreadOptions:
    """How cells are spread."""

    results: Path
    priced: Callable[[Cell], Priced]
    again: RerunOptions
    make: MakeWire
    n_workers: int
    """At once, over all cells."""
    ends_within_s: float = 0.0
    """See `Fleet`."""


def run_spread(
    cells: Sequence[Cell], options: SpreadOptions, reporter: Reporter, spending: Spending
) -> list[CellResult]:
    """Index and answer all of these cells, side by side; a result for each, in their order.

    As `run_cell` for each: a cell whose system breaks stops no other, a budget that is reached stops all, and
    what the user can mend is raised. Interrupted anywhere, the next call goes on.
    """
    spending = spending.kept_elsewhere()
    with Fleet(options.make, options.n_workers, spending.allowance(), options.ends_within_s) as fleet:
        make = partial(SpreadExecution, fleet=fleet)

        def run(cell: Cell) -> CellResult:
            outset = RunContext(options.results, reporter, options.priced(cell), options.again, spending)
            return carry_out(cell, outset, make)

        with ThreadPoolExecutor(_n_side_by_side(cells, options.n_workers)) as pool:
            running = [pool.submit(run, cell) for cell in cells]
            with _stopping(fleet, running):
                wait(running, return_when=FIRST_EXCEPTION)
                for cell in running:
                    if cell.done():
                        cell.result()
        return [cell.result() for cell in running]


@contextmanager
def _stopping(fleet: Fleet, running: Sequence["Future[CellResult]"]) -> Iterator[None]:
    """Whatever is raised within, Ctrl-C included, ends what the others do."""
    try:
        yield
    except BaseException:
        fleet.stop()
        for cell in running:
            cell.cancel()
        raise


def _n_side_by_side(cells: Sequence[Cell], n_workers: int) -> int:
    """A model server of this machine is started for each cell that has one: those run one after another. Of others
    no more than keep all workers busy while some cells begin or end.
    """
    served = any(cell.generator and provider_of(cell.generator).serve for cell in cells)
    return 1 if served else min(len(cells), 2 * n_workers)
