"""What evaluators measured, a table for each, over how many queries, and what stands in for what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from harness.display import Entry, Quantity, Table, counted, file_name, number, printable
from harness.report.aggregates import count, part, share
from harness.report.measures import ranged
from harness.report.refusals import Refusals, refusals_of
from harness.report.verdict.baselines import means_over
from harness.report.view import Group, RunView
from harness.statistics import OVERALL
from harness.statistics.correlation import Coefficient

_MOST_NAMED = 4
_OTHERWISE = (
    "Scored otherwise: by another judge or version, with other parameters or weights than most; such a value is "
    "compared with no other."
)
_REFUSED = (
    "A measure that says nothing of a refused answer has a mean over other queries in every run: compare the rows "
    "over the queries of all, and those in which an answerable query that was refused counts as the worst, "
    "which are shown and not tested: tests are over the queries of all."
)


def measure_table(group: Group, name: str, title: str, measures: Sequence[str]) -> Table:
    """Overall means of measures, a column for each run.

    A measure that says nothing of some answers has three rows: over what each run has, with how many of how many
    that is; over what all finished runs have; and with the worst value for each answerable query that was refused.
    What was scored otherwise than most stands in a row of its own.
    """
    header = ("measure", *[printable(view.shown) for view in group.views])
    others = {measure: group.scored_otherwise(measure) for measure in measures}
    refusals = refusals_of(group, measures)
    rows: list[tuple[Entry, ...]] = []
    for measure in measures:
        found = refusals.get(measure)
        own = [_own(view, measure, found) for view in group.views]
        apart = [view.run.run_id in others[measure] for view in group.views]
        alike = [None if other else entry for entry, other in zip(own, apart, strict=True)]
        rows.append((printable(measure), *alike))
        rows += _on_alike_queries(group, found) if found else []
        if any(apart):
            left = [entry if other else None for entry, other in zip(own, apart, strict=True)]
            rows.append((f"{printable(measure)}, scored otherwise", *left))
    notes = [_REFUSED] if refusals else []
    notes += [_OTHERWISE] if any(others.values()) else []
    return Table(f"measures-{_stem(name)}", title, header, tuple(rows), note=" ".join(notes), is_long=True)


def _own(view: RunView, measure: str, found: Refusals | None) -> Quantity | None:
    """A mean over what a run has, and how many of the queries that the measure is about that are."""
    shown = share(view.row(measure), with_n=True)
    if shown is None or found is None:
        return shown
    return replace(shown, of=max(len(found.applies) * view.frame.repeats, shown.n or 0))


def _on_alike_queries(group: Group, found: Refusals) -> Iterable[tuple[Entry, ...]]:
    """The rows that may be compared."""
    name = printable(found.measure.name)
    common = [_mean(view, found, found.on_common(view)) if view in found.views else None for view in group.views]
    yield f"{name}, on the {counted(len(found.common), 'query', 'queries')} of all", *common
    if any(found.refused.values()):
        counting = [
            _mean(view, found, found.counting_refused(view)) if view in found.views else None
            for view in group.views
        ]
        yield f"{name}, refused counts {number(found.measure.failure_value)}", *counting


def _mean(view: RunView, found: Refusals, values: Mapping[str, float]) -> Quantity | None:
    rows = means_over(view.frame, ranged(found.measure), values, frozenset(values))
    return share(next((row for row in rows if row.query_type == OVERALL), None), with_n=True)


def coverage_table(group: Group, evaluator: str) -> Table | None:
    """How many answers have a value of each measure, and why the others have none; None where nothing was scored.

    Measures with the same counts share a row, as those of one judgement do.
    """
    header = ("system", "measures", "scored", "imputed", "failed", "not applicable", "with a value")
    rows = tuple(row for view in group.views for row in _covered(view, evaluator))
    if not rows:
        return None
    note = (
        "Imputed: the system failed, so that the worst value counts. Failed: the score could not be computed; it "
        "is in no mean. Not applicable: the measure says nothing about such a query or answer."
    )
    title = f"{printable(evaluator)}: coverage"
    return Table(f"coverage-{_stem(evaluator)}", title, header, rows, note=note, is_detail=True)


def twin_table(group: Group) -> Table | None:
    """How a measure and the cheaper one that stands in for it go together; None where no run has both."""
    header = ("system", "measure", "stands in for", "queries", "Spearman", "Kendall", "Pearson")
    rows = tuple(
        (
            printable(view.label),
            printable(one.twin),
            printable(one.measure),
            count(one.correlation.n),
            *map(_coefficient, (one.correlation.spearman, one.correlation.kendall, one.correlation.pearson)),
        )
        for view in group.views
        for one in view.twins
    )
    return Table("twins", "Measures and what stands in for them", header, rows) if rows else None


def _covered(view: RunView, evaluator: str) -> Iterable[tuple[Entry, ...]]:
    alike: dict[tuple[int, int, int, int], list[str]] = {}
    for evaluation in view.evaluations:
        if evaluation.evaluator != evaluator:
            continue
        for name in evaluation.measures:
            row = view.row(name)
            expected = row.n_expected if row else 0
            own = (row.n_scored, row.n_imputed, row.n_failed) if row else (0, 0, 0)
            alike.setdefault((*own, view.n_expected - expected), []).append(printable(name))
    for (scored, imputed, failed, not_applicable), names in alike.items():
        counts = [count(one) for one in (scored, imputed, failed, not_applicable)]
        with_value = part(scored + imputed, scored + imputed + failed)
        yield (printable(view.label), _listed(names), *counts, with_value)


def _listed(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMED - 1])} and {len(names) - _MOST_NAMED + 1:,} more"


def _coefficient(found: Coefficient) -> Quantity | None:
    if found.value is None:
        return None
    return Quantity(found.value, found.interval.low, found.interval.high, unit="coefficient")


def _stem(name: str) -> str:
    return file_name(printable(name, 40))
