"""Of measures that sort answers: how many of each kind every run has, and what to try against it."""

from __future__ import annotations

from collections.abc import Sequence

from harness.display import Entry, Table, printable
from harness.display.types import ValueGroup
from harness.protocols import Measure, ScoreLabel
from harness.report.aggregates import part, share, values_in
from harness.report.view import Group, RunView


def kinds_table(group: Group, measure: Measure) -> Table:
    """A row for all of them, and one for each kind that any run has, in the measure's order."""
    names = [printable(view.shown) for view in group.views]
    every = [share(view.row(measure.name), with_n=True) for view in group.views]
    rows: list[tuple[Entry, ...]] = [(f"{printable(measure.spoken)}, all", *every)]
    for label in found_labels(group, measure):
        counts = [_count(view, measure, label) for view in group.views]
        rows.append((printable(label.title), *counts))
    title = printable(f"{measure.spoken[:1].upper()}{measure.spoken[1:]}, by kind")
    note = "Each has exactly one kind. In how many of the answers that were judged."
    return Table(f"kinds-{measure.name}", title, ("kind", *names), tuple(rows), note=note)


def advice(group: Group, measures: Sequence[Measure]) -> list[str]:
    """What to try against each kind that any run has: what most answers suffer from comes first."""
    found: dict[tuple[str, str], int] = {}
    for measure in measures:
        for label in found_labels(group, measure):
            answers = sum(count_of(view, measure, label) for view in group.views)
            key = (printable(label.title), printable(label.advice, 400))
            found[key] = max(found.get(key, 0), answers)
    ordered = sorted(found, key=lambda key: -found[key])
    return [f"{title[:1].upper()}{title[1:]}: {tried}" for title, tried in ordered if tried]


def found_labels(group: Group, measure: Measure) -> list[ScoreLabel]:
    """The labels that any run has, in the measure's order; then what nobody here knows, by name."""
    given = {name for view in group.views for name in view.labelled.get(measure.name, {})}
    known = [label for label in measure.labels if label.name in given]
    unknown = sorted(given - {label.name for label in known})
    return [*known, *(ScoreLabel(name, name, "") for name in unknown)]


def count_of(view: RunView, measure: Measure, label: ScoreLabel) -> int:
    """How many answers of a run are of that kind."""
    return view.labelled.get(measure.name, {}).get(label.name, 0)


def _count(view: RunView, measure: Measure, label: ScoreLabel) -> ValueGroup | None:
    row = view.row(measure.name)
    if row is None or row.mean is None:
        return None
    return part(count_of(view, measure, label), values_in(row))
