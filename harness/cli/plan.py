"""`rag-harness plan`."""

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple
from pathlib import Path

from rich.table import Table

from harness.api.run_status import PlannedCell, estimated_runs, planned_cell
from harness.cli.console import open_console
from harness.config import NO_MODEL, OWN_DOCUMENTS, BenchConfig
from harness.display.text_format import NOTHING
from harness.protocols.datasets import LISTED_BY_PLAN
from harness.runner.dataset_loading import UnaskedDocuments
from harness.runner.estimating.estimate_text import downloads_text, minutes_text, time_left
from harness.runner.estimating.sample_size_notice import sample_sizes, size_lines, sizes_json
from harness.runner.language_check import language_lines
from harness.runner.plan import Cell, is_finished, left_out_lines, plan_cells, weights_left
from harness.runner.progress import Reporter
from harness.runner.race_plan import race_lines

_MOST_SKIPPED = 30


def print_plan(configs: Sequence[BenchConfig], results: Path, *, as_json: bool) -> None:
    """Print each run with its status and index, and the smallest difference that the sample can detect."""
    if all(config.dataset.name == OWN_DOCUMENTS and not config.dataset.questions for config in configs):
        _print_documents(configs, results, as_json=as_json)
        return
    with Reporter().reading() as progress:
        planned = [(config, plan_cells(config, progress)) for config in configs]
    race = [line for config, own in planned for line in race_lines(config, own)]
    cells = [planned_cell(cell, results) for _, own in planned for cell in own]
    sizes = [size for _, own in planned for size in sample_sizes(own)]
    time_s = time_left([(config.budget, own) for config, own in estimated_runs(planned, results)])
    unfinished = [cell for _, own in planned for cell in own if not is_finished(cell, results)]
    weights = weights_left(unfinished, results)
    by_dataset = {cell.dataset.name: cell for _, own in planned for cell in own}
    console = open_console()
    if as_json:
        skipped = {name: cell.dataset.skipped for name, cell in by_dataset.items() if cell.dataset.skipped}
        tree = {
            "cells": [asdict(cell) for cell in cells],
            "sample_sizes": sizes_json(sizes),
            "skipped": skipped,
            "seconds": time_s.value.model_dump() if time_s.value else None,
            "downloads": weights,
        }
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
    takes = minutes_text(time_s) if unfinished else "nothing is left to run"
    needs = f"time: {takes}; downloads: {downloads_text(weights) or 'none'}"
    for line in (needs, *_model_lines(cells), *_parameter_lines(cells)):
        console.print(line, soft_wrap=True)
    for line in dict.fromkeys(line for _, own in planned for line in language_lines(own)):
        console.print(line, soft_wrap=True)
    read = [line for cell in by_dataset.values() for line in _read_lines(cell)]
    read += [line for config, own in planned for line in left_out_lines(config, own)]
    for line in dict.fromkeys((*read, *size_lines(sizes), *race)):
        console.print(f"note: {line}", soft_wrap=True)


def _print_documents(configs: Sequence[BenchConfig], results: Path, *, as_json: bool) -> None:
    """Print what can be read of a folder, and what would run once there are questions about it."""
    with Reporter().reading() as progress:
        reader = UnaskedDocuments(progress)
        planned = [plan_cells(config, reader=reader) for config in configs]
    cells = [planned_cell(cell, results) for own in planned for cell in own]
    corpus, console = reader.corpus, open_console()
    if corpus is None:
        return
    languages = list(dict.fromkeys(line for own in planned for line in language_lines(own)))
    if as_json:
        kinds = {kind: asdict(count) for kind, count in corpus.kinds.items()}
        left_out = {"run_id", "status", "n_recorded", "n_expected", "notes"}
        shown = [{key: value for key, value in asdict(cell).items() if key not in left_out} for cell in cells]
        tree = {"kinds": kinds, "languages": corpus.languages, "notes": corpus.notes, "warnings": languages}
        console.print(json.dumps({**tree, "skipped": corpus.listed, "cells": shown}, indent=2), soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False)
    for column in ("kind", "files", "documents", "characters"):
        table.add_column(column, justify="left" if column == "kind" else "right")
    for kind, count in corpus.kinds.items():
        table.add_row(kind or "no extension", *(f"{n:,}" for n in astuple(count)))
    console.print(table)
    for line in (*map(_without_pointer, corpus.notes), *_listed("", corpus.listed), *languages):
        console.print(line, soft_wrap=True)
    console.print("\nWith questions, these configurations run:")
    for cell in cells:
        changed = ", ".join(f"{key}={value}" for key, value in cell.changed.items())
        models = f"generator {cell.generator or NO_MODEL}, embedder {cell.embedder or NO_MODEL}"
        console.print(f"  {cell.system}: {', '.join(filter(None, (models, changed)))}", soft_wrap=True)
    names = {name for config in configs for name in config.systems} - {cell.system for cell in cells}
    for name in sorted(names):
        console.print(f"  {name}: if the questions name their evidence", soft_wrap=True)
    if weights := weights_left([cell for own in planned for cell in own], results):
        console.print(f"They download {downloads_text(weights)}.", soft_wrap=True)
    folder = shlex.quote(str(configs[0].dataset.path))
    console.print(
        "\nnext, let a model write questions, or write your own beside quotes in a sheet:\n"
        f"  rag-harness questions {folder}\n"
        f"  rag-harness questions {folder} --template asked.csv\n"
        f"  rag-harness run --docs {folder} --questions FILE",
        soft_wrap=True,
    )


def _without_pointer(note: str) -> str:
    """A note about a folder without its reference to this command."""
    return note.replace(LISTED_BY_PLAN, "")


def _listed(what: str, lines: Sequence[str]) -> Iterator[str]:
    """The first lines, and how many more there are."""
    yield from (f"{what}{line}" for line in lines[:_MOST_SKIPPED])
    if (more := len(lines) - _MOST_SKIPPED) > 0:
        yield f"{what}{more:,} more; --json lists all"


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
    # A run of the same system without it has the default.
    mixed = {
        key
        for key in values
        for one in cells
        for other in cells
        if one.system == other.system and (key in one.changed) != (key in other.changed)
    }
    shared = {key for key, found in values.items() if len(found) == 1 and len(cells) > 1} - mixed
    if shared:
        yield f"where a system has them: {', '.join(f'{key}={min(values[key])}' for key in sorted(shared))}"
    for cell in cells:
        own = ", ".join(f"{key}={value}" for key, value in cell.changed.items() if key not in shared)
        if own:
            yield f"{cell.run_id}: {own}"


def _read_lines(cell: Cell) -> Iterator[str]:
    """Notes about the data set, and what was skipped when reading it."""
    name = cell.dataset.name_in_runs
    yield from (f"{name}: {_without_pointer(note)}" for note in cell.dataset.notes)
    yield from _listed(f"{name}: ", cell.dataset.skipped)
