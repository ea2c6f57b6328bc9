"""summary.csv."""

import csv
import io
from collections.abc import Sequence
from dataclasses import astuple, fields, replace

from harness.display.text_format import csv_name
from harness.report.view import Group
from harness.statistics import Aggregate

COLUMNS = tuple(field.name for field in fields(Aggregate))


def summary_csv(groups: Sequence[Group]) -> str:
    """Every aggregate of every run in long format; `system` is the run's label. Empty cells were not measured."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for group in groups:
        for view in group.views:
            for row in view.rows:
                named = replace(
                    row,
                    run_id=csv_name(row.run_id),
                    system=csv_name(view.label),
                    dataset=csv_name(row.dataset),
                    query_type=csv_name(row.query_type),
                    measure=csv_name(row.measure),
                )
                writer.writerow([_cell(value) for value in astuple(named)])
    return text.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)
