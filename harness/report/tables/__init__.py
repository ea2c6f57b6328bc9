"""The tables of a report: summary.csv with every number, and what a reader is shown, as `Table` values."""

from harness.report.tables.long import COLUMNS, summary_csv

__all__ = ["COLUMNS", "summary_csv"]
