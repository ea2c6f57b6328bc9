"""Runs `rag-harness sensitivity`: results as tables and sentences, one overview and a section per measure."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from harness.cli.console import open_console
from harness.cli.evaluate import conclude, resumable, say_stopped
from harness.core.records import Usage
from harness.display import Content, Entry, Quantity, Section, Table, counted, printable
from harness.display.plotting import plotting
from harness.extensions.meta_evaluation.figures import (
    MovedParameter,
    draw_sensitivity,
    draw_sweeps,
    write_folder,
)
from harness.extensions.meta_evaluation.sensitivity import (
    PerturbationEffect,
    SensitivityOptions,
    SensitivityResult,
    by_measure,
    measure_sensitivity,
)
from harness.protocols import Measure
from harness.statistics.prices import Prices, usage_usd
from harness.store import RunDir, find_runs

HOW_TO_READ = (
    "AUC is how well the value separates original from changed answers, across queries: 1 perfectly, 0.5 "
    "chance. The drop is how much worse the same answers score, in points of the measure; both have 95 % "
    "intervals that take queries of one cluster together. A measure notices a change where the drop is more than "
    "chance and AUC is at least 0.9, in part from 0.7 on, hardly below; it misses one whose drop is shown to be "
    "less than 5 % of its span, or that changes no value of 30. It cannot notice an input that it does not read."
)
_HEADER = ("change", "verdict", "as it was", "changed", "drop", "AUC", "worse", "answers")


def of_readers(effects: Sequence[PerturbationEffect]) -> list[PerturbationEffect]:
    """The effects on metrics that read what was changed."""
    blind = _blind(effects)
    return [effect for effect in effects if effect.measure.name not in blind]


def note_on_unread_metrics(effects: Sequence[PerturbationEffect]) -> list[str]:
    """A sentence that names the metrics left out by `of_readers`; none if there are none."""
    blind = _blind(effects)
    named = ", ".join(map(printable, blind))
    return [f"{counted(len(blind), 'measure')} read nothing of what was changed: {named}"] if blind else []


def overview(effects: Sequence[PerturbationEffect]) -> Table:
    """A row for each metric, a column for each swap: the AUC, or why there is none."""
    swaps = list(dict.fromkeys(effect.swap.title for effect in effects))
    rows = []
    for measure, own in by_measure(effects):
        cells: dict[str, Entry] = {
            effect.swap.title: effect.verdict if effect.verdict in {"cannot notice", "too few"} else _area(effect)
            for effect in own
        }
        rows.append((printable(measure.name), *(cells.get(title) for title in swaps)))
    return Table("sensitivity", "AUC of each change", ("measure", *swaps), tuple(rows))


def verdict_of(measure: Measure, effects: Sequence[PerturbationEffect]) -> str:
    says = {
        "notices": "notices",
        "in part": "notices in part",
        "hardly": "hardly notices",
        "misses": "misses",
        "prefers it": "is better after",
        "undecided": "undecided on",
        "too few": "too few answers to tell on",
        "cannot notice": "does not read what is changed by",
    }
    parts = [
        f"{said}: {', '.join(titles)}"
        for verdict, said in says.items()
        if (titles := [effect.swap.title for effect in effects if effect.verdict == verdict])
    ]
    return f"{measure.display_name}: {'; '.join(parts)}."


def sensitivity_data(effects: Sequence[PerturbationEffect]) -> list[dict[str, Any]]:
    """A row for each metric and swap, for scripts; unknown values are null."""
    return [
        {
            "measure": effect.measure.name,
            "swap": effect.swap.name,
            "verdict": effect.verdict,
            "n": effect.n,
            "n_swapped": effect.n_swapped,
            "n_clusters": effect.n_clusters,
            "mean_before": effect.mean_before,
            "mean_after": effect.mean_after,
            "drop": effect.drop,
            "drop_low": effect.interval.low,
            "drop_high": effect.interval.high,
            "auc": effect.auc.value,
            "auc_low": effect.auc.interval.low,
            "auc_high": effect.auc.interval.high,
            "n_worse": effect.n_lower,
        }
        for effect in effects
    ]


def _blind(effects: Sequence[PerturbationEffect]) -> list[str]:
    return [
        measure.name for measure, own in by_measure(effects) if all(one.verdict == "cannot notice" for one in own)
    ]


def _table(measure: Measure, effects: Sequence[PerturbationEffect]) -> Table:
    rows: list[tuple[Entry, ...]] = [
        (
            effect.swap.title,
            effect.verdict,
            *_means(effect),
            Quantity(effect.drop, *effect.interval, unit="share", signed=True),
            _area(effect),
            Quantity(effect.n_lower / effect.n if effect.n else None, *effect.lower, unit="%"),
            _answers(effect),
        )
        for effect in effects
    ]
    lost = sum(effect.n_swapped - effect.n for effect in effects)
    note = f"{counted(lost, 'changed answer')} without both values: not applicable, or failed." if lost else ""
    return Table(f"measure-{measure.name}", measure.name, _HEADER, tuple(rows), note)


def _means(effect: PerturbationEffect) -> tuple[Quantity, Quantity]:
    return Quantity(effect.mean_before, unit="share"), Quantity(effect.mean_after, unit="share")


def _area(effect: PerturbationEffect) -> Quantity:
    return Quantity(effect.auc.value, *effect.auc.interval, unit="coefficient")


def _answers(effect: PerturbationEffect) -> Quantity:
    return Quantity(effect.n, of=effect.n_swapped, unit="count")


def cost_table(runs: Sequence[RunDir], evaluators: Sequence[str], prices: Prices) -> Table:
    """Calls, tokens and dollars per answer for each evaluator. Reused judgements count."""
    rows: list[tuple[Entry, ...]] = []
    for name in evaluators:
        made = [(one, len(run.sample())) for run in runs for one in run.evaluations() if one.evaluator == name]
        answers = sum(n for _, n in made)
        usage = sum((own for one, _ in made for own in one.cost.usage.values()), Usage())
        spent = [usage_usd(prices, one.models, one.cost.usage) for one, _ in made]
        dollars = None if None in spent else sum(filter(None, spent))
        seconds = sum(one.cost.wall_s or 0.0 for one, _ in made)
        totals = (usage.calls, usage.input_tokens, usage.output_tokens, dollars, seconds)
        each = [Quantity(value / answers if value is not None and answers else None) for value in totals]
        rows.append((printable(name), Quantity(answers, unit="count"), *each))
    header = ("evaluator", "answers", "calls", "input tokens", "output tokens", "dollars", "seconds")
    note = "Each for one answer; seconds are of this machine, without judgements replayed from the journal."
    return Table("costs", "What an answer costs to score", header, tuple(rows), note)


def sweep_table(points: Sequence[MovedParameter]) -> Table:
    rows: list[tuple[Entry, ...]] = [
        (
            printable(effect.measure.name),
            f"{parameter} = {value}",
            *_means(effect),
            _area(effect),
            _answers(effect),
        )
        for parameter, value, effect in sorted(points, key=lambda one: (one.effect.measure.name, one.parameter))
    ]
    header = ("measure", "parameter", "as it was", "wrong answer", "AUC", "answers")
    return Table("sweep", "Wrong answers over values of a parameter", header, tuple(rows))


def run_sensitivity(name: str, options: SensitivityOptions, *, out: Path | None, as_json: bool) -> int:
    """Perturb, score, compare and print; returns the exit code."""
    run = find_runs(options.evaluate.results, [name])[0]
    with resumable("paid judgements are kept"):
        sensed = measure_sensitivity(run, options)
    if stopped := sensed.evaluation.stopped:
        return say_stopped(stopped, sensed.evaluation.spending, "judgements are unfinished")
    written = _write(run.run_id, sensed, out) if out else None
    if as_json:
        sys.stdout.write(json.dumps(_data(run.run_id, sensed), allow_nan=False) + "\n")
    else:
        _print_result(sensed, open_console(), written)
    return conclude(sensed.evaluation.outcomes)


def _print_result(sensed: SensitivityResult, console: Console, written: Path | None) -> None:
    from harness.report.terminal import WIDTH, plain, print_table

    for table in _tables(sensed):
        print_table(table, console, min(console.width, WIDTH))
    for measure, own in by_measure(of_readers(sensed.effects)):
        console.print(plain(f"- {verdict_of(measure, own)}"), soft_wrap=True)
    for note in [*sensed.notes, *note_on_unread_metrics(sensed.effects)]:
        console.print(plain(f"note: {note}"), soft_wrap=True)
    if written:
        console.print(f"sensitivity: {written}", soft_wrap=True)


def _tables(sensed: SensitivityResult) -> Sequence[Table]:
    costs = cost_table(sensed.runs.runs, sensed.evaluators, sensed.evaluation.spending.prices)
    tables = [overview(of_readers(sensed.effects)), costs]
    if sensed.swept:
        tables.append(sweep_table(_points(sensed)))
    return tables


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
    content = Content([HOW_TO_READ], [*sensed.notes, *note_on_unread_metrics(sensed.effects)], _tables(sensed))
    shown = of_readers(sensed.effects)
    title = f"Sensitivity of measures: {run_id}"
    with plotting() as new_figure:
        drawings = [*draw_sensitivity(shown, new_figure), *draw_sweeps(_points(sensed), new_figure)]
        first = (Section("overview", "What measures notice", content), drawings)
        others = [
            Section(
                f"measure-{number}", measure.name, Content([verdict_of(measure, own)], [], [_table(measure, own)])
            )
            for number, (measure, own) in enumerate(by_measure(shown))
        ]
        sections = [first, *((one, ()) for one in others)]
        return write_folder(out, "sensitivity", title, sections, _data(run_id, sensed))
