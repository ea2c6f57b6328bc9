"""The tables of a report, as `Table` values, and summary.csv with every number."""

from harness.report.tables.long import COLUMNS, summary_csv

__all__ = ["COLUMNS", "summary_csv"]
