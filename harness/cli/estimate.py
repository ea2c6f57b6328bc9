"""`rag-harness estimate`: the expected cost of a config, before any model is called."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from harness.api.config_building import price_table
from harness.cli.console import open_console
from harness.config import BenchConfig
from harness.core.records import Estimate, PhaseEstimate
from harness.display.text_format import NOTHING
from harness.runner.estimating.estimate import SAMPLE_FIRST, Estimator
from harness.runner.estimating.sample_size_notice import sample_sizes, sizes_json
from harness.runner.plan import Cell, plan_cells
from harness.runner.progress import Reporter
from harness.runner.race_plan import race_lines
from harness.statistics.estimates.remaining_cost import Sum, bases, phases_left, totals

_COLUMNS = ("to answer", "index", "calls", "tokens in", "tokens out", "USD", "minutes")


def print_estimate(configs: Sequence[BenchConfig], results: Path, *, as_json: bool) -> None:
    """Print the remaining cost of each run and of its judges, the basis of each figure, and the smallest
    difference that the sample can detect.
    """
    with Reporter().reading() as progress:
        planned = [(config, plan_cells(config, progress)) for config in configs]
    estimates = list(_estimates(planned, results))
    sizes = [size for _, cells in planned for size in sample_sizes(cells)]
    race = [line for config, cells in planned for line in race_lines(config, cells)]
    console = open_console()
    if as_json:
        text = json.dumps({**_as_json(estimates), "sample_sizes": sizes_json(sizes)}, indent=2)
        console.print(text, soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("run id", no_wrap=True)
    for column in _COLUMNS:
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("from", overflow="fold")
    for estimate in estimates:
        _add_cell(table, estimate)
    phases = [phase for estimate in estimates for phase in phases_left(estimate)]
    judging = [phase for estimate in estimates for phase in estimate.judging.values()]
    for name, judged in _by_evaluator(estimates).items():
        basis = ", ".join(dict.fromkeys(phase.basis for phase in judged))
        table.add_row(f"judging: {name}", "", "", *_cells(judged), basis)
    table.add_row("total", "", "", *_cells([*phases, *judging]), "", style="bold")
    console.print(table)
    for note in (*_notes(estimates), *(line for size in sizes for line in size.lines), *race):
        console.print(f"note: {note}", soft_wrap=True)


def _estimates(planned: Sequence[tuple[BenchConfig, Sequence[Cell]]], results: Path) -> Iterator[Estimate]:
    """Estimate each run once; a run named by several configs belongs to the first of them."""
    known, paid = set[str](), set[str]()
    for config, cells in planned:
        new = [cell for cell in cells if cell.run_id not in known]
        known.update(cell.run_id for cell in new)
        yield from Estimator(results, price_table(config.prices)).estimate_all(new, paid)


def _add_cell(table: Table, estimate: Estimate) -> None:
    phases = phases_left(estimate)
    whole = estimate.n_left == estimate.n_answers
    left = f"{estimate.n_left:,}" if whole else f"{estimate.n_left:,} of {estimate.n_answers:,}"
    index = "built" if estimate.index_is_built else "missing"
    basis = "; ".join(bases(phases)) or "done"
    table.add_row(estimate.run_id, left, index, *_cells(phases), basis)


def _cells(phases: Sequence[PhaseEstimate]) -> list[str]:
    summed = totals(phases)
    tokens = [_shown(summed[name]) for name in ("calls", "input_tokens", "output_tokens")]
    seconds = summed["seconds"]
    minutes = Sum(None if seconds.value is None else seconds.value / 60, seconds.is_whole)
    return [*tokens, _shown(summed["usd"], "{:,.4f}"), _shown(minutes, "{:,.1f}")]


def _shown(summed: Sum, form: str = "{:,.0f}") -> str:
    if summed.value is None:
        return NOTHING
    return ("" if summed.is_whole else "≥ ") + form.format(summed.value)


def _by_evaluator(estimates: Sequence[Estimate]) -> dict[str, list[PhaseEstimate]]:
    judging: dict[str, list[PhaseEstimate]] = {}
    for estimate in estimates:
        for name, phase in estimate.judging.items():
            judging.setdefault(name, []).append(phase)
    return judging


def _notes(estimates: Sequence[Estimate]) -> list[str]:
    """The notes of all runs, each once; a note that is not about all runs starts with their ids."""
    about: dict[str, list[str]] = {}
    for estimate in estimates:
        phases = phases_left(estimate)
        notes = [note for phase in phases for note in phase.notes]
        if any(phase.seconds is None for phase in phases):
            notes.append(f"minutes are not known yet: {SAMPLE_FIRST}")
        if estimate.index_is_built and estimate.n_left:
            notes.append(f"the index is built and costs nothing; to rebuild it: {_in_words(estimate.index)}")
        for name, phase in estimate.judging.items():
            notes += [f"judging by {name}: {note}" for note in phase.notes]
        for note in dict.fromkeys(notes):
            about.setdefault(note, []).append(estimate.run_id)
    return [f"{', '.join(ids)}: {note}" if len(ids) < len(estimates) else note for note, ids in about.items()]


def _in_words(phase: PhaseEstimate) -> str:
    calls, read, written, usd, minutes = _cells([phase])
    return f"{calls} calls, {read} + {written} tokens, ${usd}, {minutes} min"


def _as_json(estimates: Sequence[Estimate]) -> dict[str, Any]:
    phases = [phase for estimate in estimates for phase in phases_left(estimate)]
    judging = [phase for estimate in estimates for phase in estimate.judging.values()]
    cells = [{**one.model_dump(mode="json"), "left": _sums(phases_left(one))} for one in estimates]
    return {"cells": cells, "judging": _sums(judging), "total": _sums([*phases, *judging])}


def _sums(phases: Sequence[PhaseEstimate]) -> dict[str, Any]:
    return {name: {"value": one.value, "is_whole": one.is_whole} for name, one in totals(phases).items()}
