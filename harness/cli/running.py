"""`rag-harness run`."""

import json
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from harness.api.running import Benchmark, RunOptions, run_bench
from harness.cli.consoles import complain, open_console, same_command
from harness.cli.evaluating import conclude, resumable, say_stopped
from harness.config import BenchConfig
from harness.errors import EXIT_DONE, EXIT_TOLERANCE
from harness.runner.executing.execute import CellResult


@dataclass(frozen=True)
class RunOutput:
    """What the command prints, and where its report goes."""

    out: Path | None
    as_json: bool


def run_all(config: BenchConfig, options: RunOptions, shown: RunOutput) -> int:
    """Run every cell, evaluate, report; returns the exit code."""
    if not options.records_only:
        from harness.report import check_report

        check_report()
    signal.signal(signal.SIGTERM, _interrupt)
    with resumable("nothing answered is lost"):
        bench = run_bench(config, options)
        if bench.outcome:
            _report(bench, options, shown)
    if shown.as_json:
        sys.stdout.write(json.dumps({"runs": [_as_json(result) for result in bench.results]}) + "\n")
    code = conclude([(bench.outcome, config)]) if bench.outcome else EXIT_DONE
    if bench.shortened and not options.quiet:
        complain(
            f"the budget ended the turns ({bench.shortened_by}): every system has answered the same "
            f"{bench.shortened}. To go on: {same_command()}"
        )
    if bench.stopped:
        return say_stopped(bench.stopped, bench.spending, bench.progress)
    return EXIT_TOLERANCE if bench.failed else code


def _report(bench: Benchmark, options: RunOptions, shown: RunOutput) -> None:
    from harness.cli.reporting import ReportOptions, print_report

    console = open_console(stderr=shown.as_json, quiet=options.quiet)
    print_report(bench.runs, ReportOptions(shown.out, options.results), bench.spending.prices, console)


def _as_json(result: CellResult) -> dict[str, object]:
    return {
        "run_id": result.run.run_id,
        "path": str(result.run.path),
        "status": result.status,
        "n_ok": result.n_ok,
        "n_error": result.n_error,
        "n_left": result.n_left,
    }


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
