"""report.html: the whole report as one file that needs no network."""

from harness.report.page.page import page_html

__all__ = ["page_html"]
