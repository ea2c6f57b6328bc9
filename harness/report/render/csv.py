"""A table as CSV, for a spreadsheet: the cells of the page. Every number in full stands in summary.csv."""

import csv
import io

from harness.report.nouns import Table
from harness.report.text import csv_name, is_figure


def table_csv(table: Table) -> str:
    """Header and rows; no cell is a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_cell(cell) for cell in line] for line in (table.header, *table.rows))
    return text.getvalue()


def _cell(text: str) -> str:
    return text if is_figure(text) else csv_name(text)
