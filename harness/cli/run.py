"""`rag-harness run`."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.api.running import Benchmark, RunOptions, run_benches
from harness.cli.child_process import run_in_child
from harness.cli.console import complain, open_console, same_command
from harness.cli.evaluate import conclude, resumable, say_stopped
from harness.config import BenchConfig
from harness.core.errors import EXIT_TOLERANCE
from harness.runner.executing.execute import CellResult
from harness.runner.executor import needs_own_process


@dataclass(frozen=True)
class RunOutput:
    """What the command prints, and the folder for its report."""

    out: Path | None
    as_json: bool
    full: bool = False
    """Print all tables and notes."""


def run_all(configs: Sequence[BenchConfig], options: RunOptions, shown: RunOutput) -> int:
    """Run all configs, evaluate, write one report. Returns the exit code."""
    if not options.records_only:
        from harness.report import check_report

        check_report()
    if needs_own_process(configs) and (code := run_in_child()) is not None:
        return code
    with resumable("all answers are kept"):
        benches = run_benches(configs, options)
        if any(bench.outcome for bench in benches):
            _report(benches, options, shown)
    if shown.as_json:
        runs = [_as_json(result) for bench in benches for result in bench.results]
        sys.stdout.write(json.dumps({"runs": runs}) + "\n")
    code = conclude([(bench.outcome, bench.config) for bench in benches if bench.outcome])
    for bench in benches:
        if bench.shortened and not options.quiet:
            who = "every system has answered the same" if len(bench.runs) > 1 else "answered"
            complain(
                f"budget exhausted ({bench.shortened_by}): {who} {bench.shortened}. To resume: {same_command()}"
            )
    *_, last = benches
    if last.stopped:
        return say_stopped(last.stopped, last.spending, last.progress)
    return EXIT_TOLERANCE if any(bench.failed for bench in benches) else code


def _report(benches: Sequence[Benchmark], options: RunOptions, shown: RunOutput) -> None:
    from harness.cli.report import ReportOptions, print_report

    console = open_console(stderr=shown.as_json, quiet=options.quiet)
    runs = [run for bench in benches for run in bench.runs]
    page = print_report(
        runs,
        ReportOptions(shown.out, options.results, full=shown.full, keep_current=True),
        benches[-1].spending.prices,
        console,
    )
    if options.quiet and not shown.as_json:
        # The only output, so that a shell can open the page; printed unchanged.
        sys.stdout.write(f"{page}\n")


def _as_json(result: CellResult) -> dict[str, object]:
    return {
        "run_id": result.run.run_id,
        "path": str(result.run.path),
        "status": result.status,
        "n_ok": result.n_ok,
        "n_error": result.n_error,
        "n_left": result.n_left,
        "reason": result.reason,
    }
