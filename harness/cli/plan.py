"""`rag-harness plan`."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from harness.api.run_status import PlannedCell, planned_cell
from harness.cli.console import open_console
from harness.config import NO_MODEL, BenchConfig
from harness.display.text_format import NOTHING
from harness.runner.estimating.sample_size_notice import sample_sizes, sizes_json
from harness.runner.plan import Cell, left_out_lines, plan_cells
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
    for column in ("queries", "status", "index", "index calls"):
        table.add_column(column)
    for cell in cells:
        done = f"{cell.n_recorded}/{cell.n_expected}"
        calls = NOTHING if cell.index_calls is None else f"{cell.index_calls:,}"
        table.add_row(cell.run_id, done, cell.status, cell.index, calls)
    console.print(table)
    for line in (*_model_lines(cells), *_parameter_lines(cells)):
        console.print(line, soft_wrap=True)
    read = [line for cell in by_dataset.values() for line in _read_lines(cell)]
    read += [line for config, own in planned for line in left_out_lines(config, own)]
    for line in (*read, *(line for size in sizes for line in size.lines), *race):
        console.print(f"note: {line}", soft_wrap=True)


def _model_lines(cells: Sequence[PlannedCell]) -> Iterator[str]:
    """The systems that use each pair of models."""
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        models = f"generator {cell.generator or NO_MODEL}, embedder {cell.embedder or NO_MODEL}"
        found.setdefault(models, {})[cell.system] = None
    for models, names in found.items():
        yield f"{', '.join(names)}: {models}"


def _parameter_lines(cells: Sequence[PlannedCell]) -> Iterator[str]:
    """Parameters that differ from the defaults: those that all runs share, then those of each run."""
    values: dict[str, set[str]] = {}
    for cell in cells:
        for key, value in cell.changed.items():
            values.setdefault(key, set()).add(str(value))
    shared = {key for key, found in values.items() if len(found) == 1 and len(cells) > 1}
    if shared:
        yield f"where a system has them: {', '.join(f'{key}={min(values[key])}' for key in sorted(shared))}"
    for cell in cells:
        own = ", ".join(f"{key}={value}" for key, value in cell.changed.items() if key not in shared)
        if own:
            yield f"{cell.run_id}: {own}"


def _read_lines(cell: Cell) -> Iterator[str]:
    """Notes about the data set, and what was skipped when reading it."""
    name, skipped = cell.dataset.name, cell.dataset.skipped
    yield from (f"{name}: {note}" for note in cell.dataset.notes)
    yield from (f"{name}: skipped {line}" for line in skipped[:_MOST_SKIPPED])
    if (more := len(skipped) - _MOST_SKIPPED) > 0:
        yield f"{name}: {more:,} more were skipped; --json lists all"
