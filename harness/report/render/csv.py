"""A table as CSV with the cells of the page. summary.csv has the numbers in full precision."""

import csv
import io

from harness.display import Entry, Table, format_value
from harness.display.text_format import csv_name


def table_csv(table: Table) -> str:
    """Header and rows; no cell is a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_cell(entry) for entry in line] for line in (table.header, *table.rows))
    return text.getvalue()


def _cell(entry: Entry) -> str:
    """Only words can be taken for a formula: numbers are ours."""
    return csv_name(entry) if isinstance(entry, str) else format_value(entry)
