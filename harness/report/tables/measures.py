"""What evaluators measured, a table for each, over how many queries, and what stands in for what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.analysis import Aggregate
from harness.analysis.correlation import Coefficient
from harness.analysis.derived import DERIVED
from harness.analysis.judging import PREFIX
from harness.report.nouns import Table
from harness.report.tables.answers import ANSWER_MEASURES
from harness.report.text import NOTHING, file_name, population, printable, ratio
from harness.report.view import Group, RunView

OTHERS = "other"
_COST_PREFIXES = ("generator_", "index_", "answer_", "stage_", "latency_s", PREFIX)
_COST_MEASURES = {
    *("tokens", "input_tokens", "output_tokens", "cached_tokens", "model_calls", "usd", "throttled_s", "cpu_s"),
}
_MOST_NAMED = 4


def is_cost(name: str) -> bool:
    """Whether a measure says what something took, not how good it is."""
    return name in _COST_MEASURES or name.startswith(_COST_PREFIXES)


def measures_by_evaluator(group: Group) -> dict[str, list[str]]:
    """Evaluator -> its measures that have a row in any run, in the evaluator's own order, the main ones first."""
    present = [name for name in group.measures if name not in ANSWER_MEASURES and not is_cost(name)]
    found: dict[str, list[str]] = {}
    for view in group.views:
        for evaluation in view.evaluations:
            own = found.setdefault(evaluation.evaluator, [])
            names = [name for measure in evaluation.measures for name in (measure, DERIVED.get(measure))]
            own += [name for name in names if name in present and name not in own]
    owned = {name for names in found.values() for name in names}
    found[OTHERS] = [*found.get(OTHERS, ()), *[name for name in present if name not in owned]]
    return {evaluator: names for evaluator, names in found.items() if names}


def measure_table(group: Group, evaluator: str, measures: Sequence[str]) -> Table:
    """Overall means of an evaluator's measures, a column for each run."""
    header = ("measure", *[printable(view.label) for view in group.views])
    rows = tuple((printable(name), *[_with_counts(view.row(name)) for view in group.views]) for name in measures)
    return Table(f"measures-{_stem(evaluator)}", f"{printable(evaluator)}: measures", header, rows)


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
    return Table(f"coverage-{_stem(evaluator)}", f"{printable(evaluator)}: coverage", header, rows, note=note)


def twin_table(group: Group) -> Table | None:
    """How a measure and the cheaper one that stands in for it go together; None where no run has both."""
    header = ("system", "measure", "stands in for", "queries", "Spearman", "Kendall", "Pearson")
    rows = tuple(
        (
            printable(view.label),
            printable(one.twin),
            printable(one.measure),
            f"{one.correlation.n:,}",
            *map(_coefficient, (one.correlation.spearman, one.correlation.kendall, one.correlation.pearson)),
        )
        for view in group.views
        for one in view.twins
    )
    return Table("twins", "Measures and what stands in for them", header, rows) if rows else None


def _covered(view: RunView, evaluator: str) -> Iterable[tuple[str, ...]]:
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
        counts = [f"{count:,}" for count in (scored, imputed, failed, not_applicable)]
        with_value = f"{scored + imputed:,} of {scored + imputed + failed:,}"
        yield (printable(view.label), _listed(names), *counts, with_value)


def _listed(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMED - 1])} and {len(names) - _MOST_NAMED + 1:,} more"


def _with_counts(row: Aggregate | None) -> str:
    return f"{ratio(row)} (n = {population(row)})" if row else NOTHING


def _coefficient(found: Coefficient) -> str:
    if found.value is None:
        return NOTHING
    return f"{found.value:.2f} [{found.interval.low:.2f}, {found.interval.high:.2f}]"


def _stem(evaluator: str) -> str:
    return file_name(printable(evaluator, 40))
