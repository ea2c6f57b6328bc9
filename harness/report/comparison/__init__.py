"""Runs compared pair by pair: what is more than chance, what is a tie, and how to read it."""

from harness.report.comparison.compare import Choice, Comparison, compare_runs
from harness.report.comparison.markdown import write_comparison
from harness.report.comparison.tables import comparison_json
from harness.report.comparison.terminal import render_comparison

__all__ = ["Choice", "Comparison", "compare_runs", "comparison_json", "render_comparison", "write_comparison"]
