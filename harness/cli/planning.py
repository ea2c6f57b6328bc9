"""`rag-harness plan`."""

import json
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from harness.api.planning import planned_cells
from harness.cli.consoles import open_console
from harness.config import BenchConfig


def print_plan(config: BenchConfig, results: Path, *, as_json: bool) -> None:
    """Print each cell: run id, status, and whether its index is there."""
    cells = planned_cells(config, results)
    console = open_console()
    if as_json:
        text = json.dumps({"cells": [asdict(cell) for cell in cells]}, indent=2)
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
