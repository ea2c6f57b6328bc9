"""From run directories to something a person reads: files (`write_report`) or a terminal (`render_terminal`)."""

from harness.report.chapter import load_chapters
from harness.report.terminal import render_terminal
from harness.report.write import write_report

__all__ = ["load_chapters", "render_terminal", "write_report"]
