"""`rag-harness plan`."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from harness.api.run_status import planned_cell
from harness.cli.console import open_console
from harness.config import BenchConfig
from harness.runner.estimating.sample_size_notice import sample_sizes, sizes_json
from harness.runner.plan import Cell, plan_cells
from harness.runner.progress import Reporter
from harness.runner.race_plan import race_lines

_MOST_SKIPPED = 30


def print_plan(configs: Sequence[BenchConfig], results: Path, *, as_json: bool) -> None:
    """Print each run with its status and index, and the smallest difference that the sample can detect."""
    with Reporter().reading() as progress:
        planned = [(config, plan_cells(config, progress)) for config in configs]
    race = [line for config, own in planned for line in race_lines(config, own)]
    cells = [planned_cell(cell, results) for _, own in planned for cell in own]
    sizes = [size for _, own in planned for size in sample_sizes(own)]
    by_dataset = {cell.dataset.name: cell for _, own in planned for cell in own}
    console = open_console()
    if as_json:
        skipped = {name: cell.dataset.skipped for name, cell in by_dataset.items() if cell.dataset.skipped}
        tree = {"cells": [asdict(cell) for cell in cells], "sample_sizes": sizes_json(sizes), "skipped": skipped}
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
    read = [line for cell in by_dataset.values() for line in _read_lines(cell)]
    for line in (*read, *(line for size in sizes for line in size.lines), *race):
        console.print(f"note: {line}", soft_wrap=True)


def _read_lines(cell: Cell) -> Iterator[str]:
    """Notes about the data set, and what was skipped when reading it."""
    name, skipped = cell.dataset.name, cell.dataset.skipped
    yield from (f"{name}: {note}" for note in cell.dataset.notes)
    yield from (f"{name}: skipped {line}" for line in skipped[:_MOST_SKIPPED])
    if (more := len(skipped) - _MOST_SKIPPED) > 0:
        yield f"{name}: {more:,} more were skipped; --json lists all"
