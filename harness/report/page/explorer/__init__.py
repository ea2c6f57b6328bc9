"""The per-query explorer of report.html: every query, each system's answer, and the reasons for its scores."""

from harness.report.page.explorer.build import BUDGET_BYTES, Explorer, build_explorer

__all__ = ["BUDGET_BYTES", "Explorer", "build_explorer"]
