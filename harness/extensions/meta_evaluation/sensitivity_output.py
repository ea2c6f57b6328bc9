"""What `rag-harness sensitivity` prints and writes: an overview, and a section per measure."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.cli.console import open_console
from harness.core.records import Usage
from harness.display import Content, Entry, Quantity, Section, Table, counted, printable
from harness.display.plotting import plotting
from harness.extensions.meta_evaluation.figures import DrawnSection, draw_sensitivity, draw_sweeps, write_folder
from harness.extensions.meta_evaluation.sensitivity import (
    PerturbationEffect,
    SensitivityResult,
    SweptValue,
    by_measure,
)
from harness.protocols import Measure
from harness.report.terminal import WIDTH, plain, print_table
from harness.statistics.prices import Prices, usage_usd
from harness.store import RunDir

HOW_TO_READ = (
    "AUC is how well the value separates original from changed answers, across queries: 1 perfectly, 0.5 "
    "chance. The drop is how much worse the same answers score, in points of the measure; both have 95 % "
    "intervals that take queries of one cluster together. A measure notices a change where the drop is more than "
    "chance and AUC is at least 0.9, in part from 0.7 on, hardly below; it misses one whose drop is shown to be "
    "less than 5 % of its span, or that changes no value of 30. It cannot notice an input that it does not read."
)
_HEADER = ("change", "verdict", "as it was", "changed", "drop", "AUC", "worse", "answers")


def of_readers(effects: Sequence[PerturbationEffect]) -> tuple[list[PerturbationEffect], list[str]]:
    """The effects on metrics that read what was changed, and a note that names the others, if there are any."""
    unread = [
        measure.name for measure, own in by_measure(effects) if all(one.verdict == "cannot notice" for one in own)
    ]
    named = ", ".join(map(printable, unread))
    notes = [f"{counted(len(unread), 'measure')} read nothing of what was changed: {named}"] if unread else []
    return [effect for effect in effects if effect.measure.name not in unread], notes


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


def sweep_table(swept: Sequence[SweptValue]) -> Table:
    points = [(one, effect) for one in swept for effect in one.comparable]
    rows: list[tuple[Entry, ...]] = [
        (
            printable(effect.measure.name),
            f"{one.parameter} = {one.value}",
            *_means(effect),
            _area(effect),
            _answers(effect),
        )
        for one, effect in sorted(points, key=lambda point: (point[1].measure.name, point[0].parameter))
    ]
    header = ("measure", "parameter", "as it was", "wrong answer", "AUC", "answers")
    return Table("sweep", "Wrong answers over values of a parameter", header, tuple(rows))


def show_sensitivity(run_id: str, sensed: SensitivityResult, *, out: Path | None, as_json: bool) -> None:
    """Write the result to `out`, if there is one, and print it."""
    shown, unread = of_readers(sensed.effects)
    notes = [*sensed.notes, *unread]
    costs = cost_table(sensed.runs.runs, sensed.evaluators, sensed.evaluation.spending.prices)
    tables = [overview(shown), costs, *([sweep_table(sensed.swept)] if sensed.swept else [])]
    data = {
        "run": run_id,
        "n_answers": sensed.runs.n_cases,
        "effects": sensitivity_data(sensed.effects),
        "sweeps": [
            {"parameter": one.key, "value": one.value, "effects": sensitivity_data(one.effects)}
            for one in sensed.swept
        ],
        "notes": list(sensed.notes),
        "runs": {swap.name: str(run.path) for swap, run in sensed.runs.swapped},
    }
    page = None
    if out:
        with plotting() as new_figure:
            drawings = [*draw_sensitivity(shown, new_figure), *draw_sweeps(sensed.swept, new_figure)]
            head = Section("overview", "What measures notice", Content([HOW_TO_READ], notes, tables))
            sections: list[DrawnSection] = [(head, drawings)]
            for number, (measure, own) in enumerate(by_measure(shown)):
                content = Content([verdict_of(measure, own)], [], [_table(measure, own)])
                sections.append((Section(f"measure-{number}", measure.name, content), ()))
            page = write_folder(out, "sensitivity", f"Sensitivity of measures: {run_id}", sections, data)
    if as_json:
        sys.stdout.write(json.dumps(data, allow_nan=False) + "\n")
        return
    console = open_console()
    for table in tables:
        print_table(table, console, min(console.width, WIDTH))
    lines = [f"- {verdict_of(measure, own)}" for measure, own in by_measure(shown)]
    for line in [*lines, *(f"note: {note}" for note in notes)]:
        console.print(plain(line), soft_wrap=True)
    if page:
        console.print(f"sensitivity: {page}", soft_wrap=True)
