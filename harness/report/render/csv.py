"""CSV: a table with the cells of the page, and summary.csv with every number in full precision."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields, replace

from harness.display import Table, format_value
from harness.display.text_format import csv_name
from harness.report.view import Group
from harness.statistics import Aggregate

COLUMNS = tuple(field.name for field in fields(Aggregate))


def table_csv(table: Table) -> str:
    """Header and rows; no cell is a formula, for which only words can be taken: numbers are ours."""
    lines = (table.header, *table.rows)
    return csv_text(
        [csv_name(entry) if isinstance(entry, str) else format_value(entry) for entry in line] for line in lines
    )


def summary_csv(groups: Sequence[Group]) -> str:
    """Every aggregate of every run in long format; `system` is the run's label. Empty cells were not measured."""
    rows = (
        replace(
            row,
            run_id=csv_name(row.run_id),
            system=csv_name(view.label),
            dataset=csv_name(row.dataset),
            query_type=csv_name(row.query_type),
            measure=csv_name(row.measure),
        )
        for group in groups
        for view in group.views
        for row in view.rows
    )
    return csv_text([COLUMNS, *([exact(value) for value in astuple(row)] for row in rows)])


def csv_text(lines: Iterable[Iterable[str]]) -> str:
    """Lines of cells that are no formulas."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def exact(value: object) -> str:
    """A number with ten digits; empty: None."""
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)
