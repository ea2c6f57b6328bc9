"""`rag-harness evaluate` and `rag-harness report`."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from harness.cli.consoles import open_console
from harness.evaluators.base import evaluate_run
from harness.identity import short_digest
from harness.registry import load_evaluator
from harness.report import render_terminal, write_report
from harness.store import RunDir, find_runs


def evaluate_runs(names: Sequence[str], evaluators: str | None, results: Path) -> None:
    """Score the named runs with the named evaluators (default: those of each run's config)."""
    runs = find_runs(results, names)
    for run in runs:
        wanted = evaluators.split(",") if evaluators else run.manifest().config["evaluators"]
        evaluate_run_dirs([run], [name.strip() for name in wanted])
    render_terminal(runs, open_console())


def report_runs(names: Sequence[str], out: Path | None, results: Path) -> None:
    """Write and print the report of the named runs."""
    print_report(find_runs(results, names), out, results, open_console())


def evaluate_run_dirs(runs: Sequence[RunDir], evaluators: Sequence[str]) -> None:
    """Score each run with each evaluator and save the scores."""
    found = [load_evaluator(name) for name in evaluators]
    for run in runs:
        with run.exclusive():
            for evaluator in found:
                evaluate_run(run, evaluator)


def print_report(runs: Sequence[RunDir], out: Path | None, results: Path, console: Console) -> None:
    """Write the report of runs to `out` (default: results/reports/<id of these runs>) and print its table."""
    folder = out or results / "reports" / short_digest(sorted(run.run_id for run in runs))
    write_report(runs, folder)
    render_terminal(runs, console)
    console.print(f"report: {folder}", markup=False, highlight=False, soft_wrap=True)
