"""`rag-harness plan`."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from harness.api.planning import planned_cell
from harness.cli.consoles import open_console
from harness.config import BenchConfig
from harness.runner.estimating.sizes import sample_sizes, sizes_json
from harness.runner.plan import plan_cells
from harness.runner.progress import Reporter
from harness.runner.race_plan import race_lines


def print_plan(configs: Sequence[BenchConfig], results: Path, *, as_json: bool) -> None:
    """Print each cell: run id, status, and whether its index is there; and what so many queries can tell apart."""
    with Reporter().reading() as progress:
        planned = [(config, plan_cells(config, progress)) for config in configs]
    race = [line for config, own in planned for line in race_lines(config, own)]
    cells = [planned_cell(cell, results) for _, own in planned for cell in own]
    sizes = [size for _, own in planned for size in sample_sizes(own)]
    console = open_console()
    if as_json:
        tree = {"cells": [asdict(cell) for cell in cells], "sample_sizes": sizes_json(sizes)}
        text = json.dumps(tree, indent=2)
        console.print(text, soft_wrap=True)
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
    for line in (*(line for size in sizes for line in size.lines), *race):
        console.print(f"note: {line}", soft_wrap=True)
