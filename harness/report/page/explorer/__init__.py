"""The per-query explorer of report.html: every query, what each system made of it, and why it scored as it did."""

from harness.report.page.explorer.build import BUDGET_BYTES, Explorer, build_explorer

__all__ = ["BUDGET_BYTES", "Explorer", "build_explorer"]
