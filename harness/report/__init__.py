"""From run directories to something a person reads: files (`write_report`) or a terminal (`render_terminal`)."""

from harness.core.errors import need
from harness.report.chapter import load_chapters
from harness.report.terminal import render_terminal
from harness.report.write import write_report

__all__ = ["check_report", "load_chapters", "render_terminal", "write_report"]


def check_report() -> None:
    """Raise MissingDependency if a package that reports need is not installed."""
    need("report", "jinja2", "matplotlib", "scipy")
