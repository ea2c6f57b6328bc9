"""`rag-harness estimate`: the expected cost of a config, before any paid model is called."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from harness.api.run_status import estimated_runs
from harness.cli.console import open_console
from harness.config import BenchConfig
from harness.core.records import Estimate, PhaseEstimate
from harness.display.text_format import NOTHING
from harness.report.labels import labels
from harness.runner.estimating.estimate import calibrate_models
from harness.runner.estimating.estimate_text import (
    budget_text,
    likely_answers,
    minutes_text,
    start_of,
    tokens_of,
    usd_text,
)
from harness.runner.estimating.sample_size_notice import sample_sizes, size_lines, sizes_json
from harness.runner.plan import plan_cells
from harness.runner.progress import Reporter
from harness.runner.race_plan import race_lines
from harness.statistics.estimate import Sum, phases_left, totals

_WIDTH, _LEAST_NAME = 80, 16
_COLUMNS = ("index", "answers", "total", "tokens", "$")


def print_estimate(configs: Sequence[BenchConfig], results: Path, *, as_json: bool, calibrate: bool) -> None:
    """Print the remaining cost of each run and of its judges, the total under schedule and budget, and the
    smallest difference that the sample can detect.
    """
    reporter = Reporter()
    with reporter.reading() as progress:
        planned = [(config, plan_cells(config, progress)) for config in configs]
    every_cell = [cell for _, cells in planned for cell in cells]
    ids = {cell.run_id: cell.identity for cell in every_cell}
    names = dict(zip(ids, labels(list(ids.values())), strict=True))
    left_out = calibrate_models(every_cell, reporter, measure=calibrate)
    estimated = list(estimated_runs(planned, results))
    estimates = [estimate for _, own in estimated for estimate in own]
    sizes = [size for _, cells in planned for size in sample_sizes(cells)]
    race = [line for config, cells in planned for line in race_lines(config, cells)]
    console = open_console()
    if as_json:
        text = json.dumps({**_as_json(estimates), "notes": left_out, "sample_sizes": sizes_json(sizes)}, indent=2)
        console.print(text, soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("configuration", overflow="fold", min_width=_LEAST_NAME)
    for column in _COLUMNS:
        table.add_column(column, justify="right")
    rows = []
    for estimate in estimates:
        phases = phases_left(estimate)
        without = {"index": "shared" if estimate.index_is_shared and phases else "done", "answer": "done"}
        cells = [_sums([phases[name]])[0] if name in phases else text for name, text in without.items()]
        rows.append((names[estimate.run_id], *cells, *_sums(phases.values(), [estimate])))
    judging = [phase for estimate in estimates for phase in estimate.judging.values()]
    for name, judged in _by_evaluator(estimates).items():
        rows.append((f"judging: {name}", "", "", *_sums(judged)))
    everything = [*(phase for one in estimates for phase in phases_left(one).values()), *judging]
    rows.append(("total", "", "", *_sums(everything, estimates)))
    width = min(_WIDTH, console.width)
    needed = _LEAST_NAME + sum(1 + max(map(len, column)) for column in list(zip(*rows, strict=True))[1:])
    for row in rows:
        # A long range is broken between its bounds.
        shown = row if needed <= width else (row[0], *(text.replace(" - ", " -\n") for text in row[1:]))
        table.add_row(*shown, style="bold" if row is rows[-1] else None)
    console.print(table, width=width)
    starting = start_of(estimates)
    if starting.high:
        said = minutes_text(Sum(starting, is_whole=True))
        console.print(f"total: {said} of it are to start processes and load models", soft_wrap=True)
    for line in dict.fromkeys(line for config, own in estimated for line in _limits(config, own)):
        console.print(line, soft_wrap=True)
    for note in dict.fromkeys((*left_out, *_notes(estimates, names), *size_lines(sizes), *race)):
        console.print(f"note: {note}", soft_wrap=True)


def _sums(phases: Iterable[PhaseEstimate], started: Sequence[Estimate] = ()) -> list[str]:
    summed = totals(phases, start_of(started))
    texts = (minutes_text(summed["seconds"]), tokens_of(summed), usd_text(summed["usd"]))
    return [text or NOTHING for text in texts]


def _limits(config: BenchConfig, estimates: Sequence[Estimate]) -> Iterator[str]:
    """How the schedule and the budget of a config end its runs earlier."""
    left = sum(estimate.n_left > 0 for estimate in estimates)
    if not left:
        return
    if config.runner.executor != "local":
        yield "total: on a cluster, runs are parallel: the time is at most the total"
    elif config.race is not None:
        yield "total: a race eliminates systems and may end earlier"
    elif left > 1:
        yield "total: the runs share this machine, so their times add up"
    if limits := budget_text(config.budget):
        yield f"budget: ends after at most {limits} with this budget"
        if allowed := likely_answers(config.budget, estimates):
            yield f"budget: likely to allow {allowed}"


def _by_evaluator(estimates: Sequence[Estimate]) -> dict[str, list[PhaseEstimate]]:
    judging: dict[str, list[PhaseEstimate]] = {}
    for estimate in estimates:
        for name, phase in estimate.judging.items():
            judging.setdefault(name, []).append(phase)
    return judging


def _notes(estimates: Sequence[Estimate], names: Mapping[str, str]) -> list[str]:
    """The basis and the notes of all runs, each once. One that is not about all runs starts with the label of
    its run, or with the systems of several.
    """
    about: dict[str, list[str]] = {}
    for estimate in estimates:
        phases = phases_left(estimate)
        notes = [note for phase in phases.values() for note in phase.notes]
        notes += [f"{name}: tokens from {phase.basis}" for name, phase in phases.items() if phase.calls]
        if estimate.index_is_built and estimate.n_left:
            notes.append("the index is built and costs nothing")
        if estimate.index_is_shared and estimate.n_left:
            notes.append("another run of this list builds the same index")
        for name, phase in estimate.judging.items():
            notes += [f"judging by {name}: {note}" for note in (*phase.notes, f"from {phase.basis}")]
        for note in dict.fromkeys(notes):
            about.setdefault(note, []).append(estimate.run_id)
    systems = {one.run_id: one.run_id.split("--")[-2] for one in estimates}
    return [
        f"{names[ids[0]] if len(ids) == 1 else ', '.join(dict.fromkeys(systems[one] for one in ids))}: {note}"
        if len(ids) < len(estimates)
        else note
        for note, ids in about.items()
    ]


def _as_json(estimates: Sequence[Estimate]) -> dict[str, Any]:
    judging = [phase for estimate in estimates for phase in estimate.judging.values()]
    left = [phase for estimate in estimates for phase in phases_left(estimate).values()]
    cells = [
        {**one.model_dump(mode="json"), "left": _sums_json(totals(phases_left(one).values(), start_of([one])))}
        for one in estimates
    ]
    total = totals([*left, *judging], start_of(estimates))
    return {"cells": cells, "judging": _sums_json(totals(judging)), "total": _sums_json(total)}


def _sums_json(summed: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {"low": one.value and one.value.low, "high": one.value and one.value.high, "is_whole": one.is_whole}
        for name, one in summed.items()
    }
