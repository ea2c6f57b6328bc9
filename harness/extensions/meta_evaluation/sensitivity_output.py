"""What `rag-harness sensitivity` prints and writes: an overview, and a section per measure."""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cli.console import open_console
from harness.core.records import Usage
from harness.display import Content, Drawing, Entry, Quantity, Section, Table, counted, format_value, printable
from harness.display.plotting import LIGHT, PALETTE, WIDTH_IN, NewFigure, plotting, tell
from harness.extensions.meta_evaluation.figures import DrawnSection, value_map, write_folder
from harness.extensions.meta_evaluation.sensitivity import (
    PerturbationEffect,
    SensitivityResult,
    SweptValue,
    by_measure,
)
from harness.protocols import Measure
from harness.report.figures.marks import dress_rows, panel_grid, wrapped
from harness.report.terminal import WIDTH, plain, print_table
from harness.statistics.prices import Prices, usage_usd
from harness.store import RunDir

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HOW_TO_READ = (
    "AUC is how well the value separates original from changed answers, across queries: 1 perfectly, 0.5 "
    "chance. The drop is how much worse the same answers score, in points of the measure; both have 95 % "
    "intervals that take queries of one cluster together. A measure notices a change where the drop is more than "
    "chance and AUC is at least 0.9, in part from 0.7 on, hardly below; it misses one whose drop is shown to be "
    "less than 5 % of its span, or that changes no value of 30. It cannot notice an input that it does not read."
)
_MOST_MEASURES, _MOST_ROWS, _MOST_SWEEPS = 12, 45, 24
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


def draw_sensitivity(effects: Sequence[PerturbationEffect], new_figure: NewFigure) -> list[Drawing]:
    """The values of the most sensitive measures, and an overview of all."""
    groups = [
        (measure, [one for one in own if one.verdict not in {"cannot notice", "too few"}])
        for measure, own in by_measure(effects)
    ]
    shown = _in_turns([one for one in groups if one[1]])[:_MOST_MEASURES]
    if not shown:
        return []
    return [_distributions(shown, new_figure), _auc_map(groups[:_MOST_ROWS], new_figure)]


_Group = tuple[Measure, list[PerturbationEffect]]


def _in_turns(groups: Sequence[_Group]) -> list[_Group]:
    """The most sensitive first, of each evaluator in turn, so that they stand beside each other."""
    sources: dict[str, list[_Group]] = {}
    for group in sorted(groups, key=lambda one: -max(map(_auc, one[1]))):
        panel = group[0].panel
        sources.setdefault(panel.figure.stem if panel else "", []).append(group)
    return [group for turn in zip_longest(*sources.values()) for group in turn if group]


def _auc(effect: PerturbationEffect) -> float:
    return effect.auc.value or 0.0


def _distributions(groups: Sequence[_Group], new_figure: NewFigure) -> Drawing:
    most = max(len(own) for _, own in groups)
    figure, panels = panel_grid(new_figure, len(groups), min(3, len(groups)), 0.4, 0.75 + 0.24 * (most + 1))
    for axes, (measure, own) in zip(panels, groups, strict=True):
        _values_panel(axes, measure, own)
    caption = "Each dot is an answer, each line a mean: above the original, below with one change."
    first, own = groups[0]
    alt = f"{first.name}: " + "; ".join(f"{one.swap.title}, mean {one.mean_after or 0:.2f}" for one in own[:5])
    return Drawing("distributions", "Values before and after", caption, alt, figure)


def _values_panel(axes: Axes, measure: Measure, effects: Sequence[PerturbationEffect]) -> None:
    longest = max(effects, key=lambda effect: effect.n)
    rows = [("as it was", longest.before), *((effect.swap.title, effect.after) for effect in effects)]
    jitter = random.Random(0)  # noqa: S311 - the same picture every time
    for place, (_, values) in enumerate(rows):
        colour = PALETTE[2] if place == 0 else PALETTE[5]
        heights = [place + jitter.uniform(-0.28, 0.28) for _ in values]
        axes.scatter(values, heights, 3, color=colour, alpha=0.35, linewidths=0)
        mean = sum(values) / len(values)
        (line,) = axes.plot([mean, mean], [place - 0.4, place + 0.4], color="black", linewidth=1.4)
        tell(line, f"{measure.name}: mean {mean:.3f} of {len(values)}")
    axes.set_yticks(range(len(rows)), [wrapped(printable(name), 20) for name, _ in rows], fontsize=6)
    dress_rows(axes, len(rows), below=0.5)
    axes.set_title(wrapped(measure.name.replace("_", " "), 30), fontsize=7)
    axes.locator_params(axis="x", nbins=4)


def _auc_map(groups: Sequence[_Group], new_figure: NewFigure) -> Drawing:
    kept = [(measure, own) for measure, own in groups if own]
    titles = list(dict.fromkeys(effect.swap.title for _, own in kept for effect in own))
    areas = [{effect.swap.title: _auc(effect) for effect in own} for _, own in kept]
    values = [[own.get(title, math.nan) for title in titles] for own in areas]
    figure = new_figure(figsize=(WIDTH_IN, 1.4 + 0.22 * len(kept)), layout="constrained")
    axes, _ = value_map(figure, values, (0, 1), 0.35, 6)
    changes = [wrapped(title, 16) for title in titles]
    axes.set_xticks(range(len(titles)), changes, rotation=45, ha="right", fontsize=7)
    axes.set_yticks(range(len(kept)), [printable(measure.name, 48) for measure, _ in kept], fontsize=6)
    best = max((effect for _, own in kept for effect in own), key=_auc)
    area = format_value(Quantity(best.auc.value, *best.auc.interval))
    alt = f"best: {best.measure.name} on {best.swap.title}, {area}"
    caption = "AUC of each measure on each change; 0.5 is chance. Empty: too few answers, or an unread input."
    return Drawing("auc", "What each measure notices", caption, alt, figure)


def draw_sweeps(swept: Sequence[SweptValue], new_figure: NewFigure) -> list[Drawing]:
    """A panel for each metric and parameter with at least two values."""
    lines: dict[tuple[str, str], list[tuple[str, PerturbationEffect]]] = {}
    for one in swept:
        for effect in one.comparable:
            lines.setdefault((effect.measure.name, one.parameter), []).append((one.value, effect))
    drawn = [(key, points) for key, points in sorted(lines.items()) if len(points) > 1][:_MOST_SWEEPS]
    if not drawn:
        return []
    columns = min(4, len(drawn))
    figure, panels = panel_grid(new_figure, len(drawn), columns, 0.4, 1.75)
    for number, (axes, ((measure, parameter), points)) in enumerate(zip(panels, drawn, strict=True)):
        if number:
            axes.sharey(panels[0])
        axes.tick_params(labelleft=number % columns == 0)
        places = range(len(points))
        before = [effect.mean_before or 0.0 for _, effect in points]
        after = [effect.mean_after or 0.0 for _, effect in points]
        (upper,) = axes.plot(places, before, color=PALETTE[2], marker="o", markersize=3)
        (lower,) = axes.plot(places, after, color=PALETTE[5], marker="s", markersize=3, linestyle="--")
        tell(upper, "as it was")
        tell(lower, "wrong answer")
        axes.set_xticks(places, [printable(value, 8) for value, _ in points], fontsize=6)
        axes.grid(axis="y", color=LIGHT, linewidth=0.5)
        axes.set_title(wrapped(printable(measure, 60).replace("_", " "), 22), fontsize=6)
        axes.set_xlabel(printable(parameter), fontsize=7)
    caption = "Means of original answers (upper, solid) and of wrong ones (lower, dashed)."
    (measure, parameter), first = drawn[0]
    said = ", ".join(f"{value}: {effect.mean_before or 0:.2f}" for value, effect in first)
    alt = f"{measure} along {parameter}: {said}"
    return [Drawing("sweep", "A parameter moved", caption, alt, figure)]
