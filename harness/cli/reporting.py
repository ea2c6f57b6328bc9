"""`rag-harness report`."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from harness.cli.consoles import open_console
from harness.identity import short_digest
from harness.report import load_chapters, render_terminal, write_report
from harness.store import RunDir, find_runs


def report_runs(names: Sequence[str], out: Path | None, results: Path) -> None:
    """Write and print the report of the named runs."""
    print_report(find_runs(results, names), out, results, open_console())


def print_report(runs: Sequence[RunDir], out: Path | None, results: Path, console: Console) -> None:
    """Write the report of runs to `out` (default: results/reports/<id of these runs>) and print its table."""
    folder = out or results / "reports" / short_digest(sorted(run.run_id for run in runs))
    chapters = load_chapters(runs)
    page = write_report(chapters, folder)
    render_terminal(chapters, console)
    console.print(f"report: {page}", markup=False, highlight=False, soft_wrap=True)
