"""report.html: everything a report says as one file that opens from disk and asks nothing of the network."""

from harness.report.page.page import page_html

__all__ = ["page_html"]
