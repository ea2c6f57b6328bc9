"""`rag-harness plan` and `rag-harness run`."""

import json
import signal
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

from rich.table import Table

from harness.api.planning import planned_cells
from harness.api.running import Benchmark, RunOptions, run_bench
from harness.cli.consoles import open_console
from harness.cli.evaluating import conclude, resumable, say_stopped
from harness.cli.reporting import ReportOptions, print_report
from harness.config import BenchConfig
from harness.errors import EXIT_DONE, EXIT_TOLERANCE
from harness.report import check_report
from harness.runner.estimating.sizes import sample_sizes, sizes_json
from harness.runner.executing.execute import CellResult
from harness.runner.plan import plan_cells


@dataclass(frozen=True)
class RunOutput:
    """What the command prints, and where its report goes."""

    out: Path | None
    as_json: bool


def print_plan(config: BenchConfig, results: Path, *, as_json: bool) -> None:
    """Print each cell: run id, status, and whether its index is there; and what so many queries can tell apart."""
    cells, sizes = planned_cells(config, results), sample_sizes(plan_cells(config))
    console = open_console()
    if as_json:
        tree = {"cells": [asdict(cell) for cell in cells], "sample_sizes": sizes_json(sizes)}
        text = json.dumps(tree, indent=2)
        console.print(text, markup=False, highlight=False, soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("run id", no_wrap=True)
    for column in ("status", "queries", "documents", "index", "answer parameters"):
        table.add_column(column, overflow="fold")
    for cell in cells:
        answer = ", ".join(f"{key}={value}" for key, value in cell.answer.items())
        done = f"{cell.n_recorded}/{cell.n_expected}"
        table.add_row(cell.run_id, cell.status, done, str(cell.n_documents), cell.index, answer)
    console.print(table)
    for line in (line for size in sizes for line in size.lines):
        console.print(f"note: {line}", markup=False, highlight=False, soft_wrap=True)


def run_all(config: BenchConfig, options: RunOptions, shown: RunOutput) -> int:
    """Run every cell, evaluate, report; returns the exit code."""
    if not options.records_only:
        check_report()
    signal.signal(signal.SIGTERM, _interrupt)
    with resumable("nothing answered is lost"):
        bench = run_bench(config, options)
        if bench.outcome:
            _report(bench, options, shown)
    if shown.as_json:
        sys.stdout.write(json.dumps({"runs": [_as_json(result) for result in bench.results]}) + "\n")
    code = conclude([(bench.outcome, config)]) if bench.outcome else EXIT_DONE
    if bench.stopped:
        return say_stopped(bench.stopped, bench.spending, bench.progress)
    return EXIT_TOLERANCE if bench.failed else code


def _report(bench: Benchmark, options: RunOptions, shown: RunOutput) -> None:
    console = open_console(stderr=shown.as_json, quiet=options.quiet)
    print_report(bench.runs, ReportOptions(shown.out, options.results), bench.spending.prices, console)


def _as_json(result: CellResult) -> dict[str, object]:
    return {
        "run_id": result.run.run_id,
        "path": str(result.run.path),
        "status": result.status,
        "n_ok": result.n_ok,
        "n_error": result.n_error,
    }


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
