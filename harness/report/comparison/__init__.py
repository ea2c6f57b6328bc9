"""Runs compared pair by pair with paired tests."""

from harness.report.comparison.compare import Choice, Comparison, compare_runs
from harness.report.comparison.csv_and_json import COLUMNS, comparison_json, comparison_rows, write_comparison
from harness.report.comparison.terminal import render_comparison

__all__ = [
    "COLUMNS",
    "Choice",
    "Comparison",
    "compare_runs",
    "comparison_json",
    "comparison_rows",
    "render_comparison",
    "write_comparison",
]
