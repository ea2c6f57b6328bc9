"""A comparison as sections, for whatever renders them: for the runs, for each measure, and for baselines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from harness.display import Content, Section, Table, counted, file_name, printable
from harness.report.comparison.compare import Comparison
from harness.report.comparison.tables import pair_table, ranking_table

LEGEND = (
    "> better, < worse: p (Holm) of all pairs of the table is at most 0.05; ~ is a tie, which is no proof of "
    "equality. A - B with an interval that excludes 0 exactly then (at least 95 %). better/equal/worse: queries "
    "on which A is that. detectable: the true difference that so many queries would show four times out of five."
)


BESIDES = " (looked at besides)"
"""Behind every measure but the first, which decides, if it says who is better: each is a family of its own."""


def title_of(comparison: Comparison) -> str:
    """`4 runs compared over demo, queries of type inference, each against naive`."""
    kind = f", queries of type {comparison.query_type}" if comparison.query_type else ""
    against = "" if comparison.against is None else f", each against {comparison.label(comparison.against)}"
    return f"{counted(len(comparison.runs), 'run')} compared over {comparison.title}{kind}{against}"


def comparison_sections(comparison: Comparison) -> Iterator[Section]:
    """What was compared, what to know before believing it, and what was found by each measure."""
    rows = tuple((one.label, printable(one.run.run_id, 200)) for one in comparison.runs)
    runs = Table("compared", "Runs", ("system", "run"), rows)
    yield Section("runs", "Runs", Content(tables=[runs]))
    if comparison.notes:
        yield Section("notes", "To know before comparing", Content(items=comparison.notes))
    names = [one.label for one in comparison.runs]
    for place, compared in enumerate(comparison.measures):
        name = printable(compared.measure.name)
        besides = BESIDES if place or compared.measure.higher_is_better is None else ""
        tables = [ranking_table(names, compared), pair_table(names, compared, comparison.margin)]
        shown = [replace(table, title=f"{table.title}{besides}") for table in tables]
        yield Section(file_name(name), f"{name}{besides}", Content(tables=shown))
    if comparison.apart:
        apart = [_apart(pair_table(names, compared)) for compared in comparison.apart]
        yield Section("baselines", "With a baseline", Content(tables=apart))


def _apart(table: Table) -> Table:
    return replace(table, name=f"apart-{table.name}", title=f"{table.title} (with a baseline, apart)")
