"""`rag-harness sensitivity`."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from harness.cli.console import open_console
from harness.cli.evaluate import conclude, resumable, say_stopped
from harness.display import Content, Section, Table
from harness.extensions.meta_evaluation.sensitivity_costs import cost_table, sweep_table
from harness.extensions.meta_evaluation.sensitivity_run import (
    SensitivityOptions,
    SensitivityResult,
    measure_sensitivity,
)
from harness.extensions.meta_evaluation.sensitivity_tables import (
    HOW_TO_READ,
    by_measure,
    measure_sections,
    note_on_unread_metrics,
    of_readers,
    overview,
    sensitivity_data,
    verdict_of,
)
from harness.extensions.meta_evaluation.sweep_figures import MovedParameter
from harness.store import find_runs


@dataclass(frozen=True)
class SensitivityOutput:
    """Output options."""

    out: Path | None = None
    as_json: bool = False


def run_sensitivity(name: str, options: SensitivityOptions, output: SensitivityOutput) -> int:
    """Perturb, score, compare and print; returns the exit code."""
    run = find_runs(options.evaluate.results, [name])[0]
    with resumable("paid judgements are kept"):
        sensed = measure_sensitivity(run, options)
    if stopped := sensed.evaluation.stopped:
        return say_stopped(stopped, sensed.evaluation.spending, "judgements are unfinished")
    written = _write(run.run_id, sensed, output.out) if output.out else None
    if output.as_json:
        sys.stdout.write(json.dumps(_data(run.run_id, sensed), allow_nan=False) + "\n")
    else:
        _print(sensed, open_console(), written)
    return conclude(sensed.evaluation.outcomes)


def _print(sensed: SensitivityResult, console: Console, written: Path | None) -> None:
    from harness.report.render.terminal import WIDTH, plain, print_table

    for table in _tables(sensed):
        print_table(table, console, min(console.width, WIDTH))
    for measure, own in by_measure(of_readers(sensed.effects)):
        console.print(plain(f"- {verdict_of(measure, own)}"), soft_wrap=True)
    for note in _notes(sensed):
        console.print(plain(f"note: {note}"), soft_wrap=True)
    if written:
        console.print(f"sensitivity: {written}", soft_wrap=True)


def _tables(sensed: SensitivityResult) -> Sequence[Table]:
    costs = cost_table(sensed.runs.runs, sensed.evaluators, sensed.evaluation.spending.prices)
    tables = [overview(of_readers(sensed.effects)), costs]
    if sensed.swept:
        tables.append(sweep_table(_points(sensed)))
    return tables


def _notes(sensed: SensitivityResult) -> list[str]:
    return [*sensed.notes, *note_on_unread_metrics(sensed.effects)]


def _points(sensed: SensitivityResult) -> list[MovedParameter]:
    """Of the measures that read the perturbed input."""
    return [
        MovedParameter(one.sweep.parameter, one.value, effect)
        for one in sensed.swept
        for effect in one.effects
        if effect.n and effect.verdict != "cannot notice"
    ]


def _data(run_id: str, sensed: SensitivityResult) -> dict[str, object]:
    return {
        "run": run_id,
        "n_answers": sensed.runs.n_cases,
        "effects": sensitivity_data(sensed.effects),
        "sweeps": [
            {"parameter": one.sweep.key, "value": one.value, "effects": sensitivity_data(one.effects)}
            for one in sensed.swept
        ],
        "notes": list(sensed.notes),
        "runs": {swap.name: str(run.path) for swap, run in sensed.runs.swapped},
    }


def _write(run_id: str, sensed: SensitivityResult, out: Path) -> Path:
    from harness.display.plotting import plotting
    from harness.extensions.meta_evaluation.findings_files import write_folder
    from harness.extensions.meta_evaluation.sensitivity_figures import draw_sensitivity
    from harness.extensions.meta_evaluation.sweep_figures import draw_sweeps

    content = Content([HOW_TO_READ], _notes(sensed), _tables(sensed))
    shown = of_readers(sensed.effects)
    title = f"Sensitivity of measures: {run_id}"
    with plotting() as new_figure:
        drawings = [*draw_sensitivity(shown, new_figure), *draw_sweeps(_points(sensed), new_figure)]
        first = (Section("overview", "What measures notice", content), drawings)
        sections = [first, *((one, ()) for one in measure_sections(shown))]
        return write_folder(out, "sensitivity", title, sections, _data(run_id, sensed))
