"""Cells side by side, each as `run_cell` runs it, on one pool of workers."""

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from harness.extensions.ray.remote_worker import StartWorker
from harness.extensions.ray.spread_execution import SpreadExecution
from harness.extensions.ray.worker_pool import WorkerPool
from harness.models.providers import provider_of
from harness.runner.executing.execute import CellResult, RunContext, run_cell
from harness.runner.plan import Cell


def run_spread(
    cells: Sequence[Cell],
    context: RunContext,
    start_worker: StartWorker,
    n_workers: int,
    *,
    ends_within_s: float = 0.0,
) -> list[CellResult]:
    """Index and answer all of these cells concurrently, with at most `n_workers` workers; returns a result for
    each, in order. A lost worker ends within `ends_within_s` seconds.

    A cell whose system breaks does not stop the others; an exhausted budget stops all; a user error is raised.
    After an interruption the next call resumes.
    """
    context = replace(context, spending=context.spending.shared_copy())
    with WorkerPool(start_worker, n_workers, context.spending.allowance(), ends_within_s) as workers:
        make = partial(SpreadExecution, workers=workers)

        def run(cell: Cell) -> CellResult:
            return run_cell(cell, context, make)

        with ThreadPoolExecutor(_n_side_by_side(cells, n_workers)) as pool:
            running = [pool.submit(run, cell) for cell in cells]
            with _stopping(workers, running):
                wait(running, return_when=FIRST_EXCEPTION)
                for cell in running:
                    if cell.done():
                        cell.result()
        return [cell.result() for cell in running]


@contextmanager
def _stopping(workers: WorkerPool, running: Sequence["Future[CellResult]"]) -> Iterator[None]:
    """Any exception within the block, Ctrl-C included, ends the other workers."""
    try:
        yield
    except BaseException:
        workers.stop()
        for cell in running:
            cell.cancel()
        raise


def _n_side_by_side(cells: Sequence[Cell], n_workers: int) -> int:
    """Cells that need a model server on this machine run one at a time. For others, enough to keep all workers
    busy while some cells begin or end.
    """
    served = any(cell.generator and provider_of(cell.generator).serve for cell in cells)
    return 1 if served else min(len(cells), 2 * n_workers)
