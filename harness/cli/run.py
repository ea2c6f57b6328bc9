"""`rag-harness run`."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.api.benchmark import Benchmark
from harness.api.running import RunOptions, run_benches
from harness.cli.child_process import run_in_child
from harness.cli.console import complain, open_console, same_command
from harness.cli.evaluate import conclude, resumable, say_stopped
from harness.config import BenchConfig
from harness.core.errors import EXIT_TOLERANCE
from harness.runner.executor import needs_own_process


def default_data_note(dataset: str) -> str:
    """What runs if no data was named."""
    return (
        f"no --docs, --dataset or --config given, so this runs the data set '{dataset}' of this package. "
        "Your documents: rag-harness run --docs FOLDER --questions FILE"
    )


def run_all(
    configs: Sequence[BenchConfig], options: RunOptions, *, out: Path | None, as_json: bool, full: bool
) -> int:
    """Run all configs, evaluate, write one report to the folder `out`. `full`: print all tables and notes.
    Returns the exit code.
    """
    if not options.records_only:
        from harness.report import check_report

        check_report()
    if needs_own_process(configs) and (code := run_in_child()) is not None:
        return code
    reported: list[str] = []

    def report(benches: Sequence[Benchmark], *, is_last: bool) -> None:
        from harness.cli.report import ReportOptions, print_report

        page = print_report(
            [run for bench in benches for run in bench.runs],
            ReportOptions(out if is_last else None, options.results, full=full, keep_current=True),
            benches[-1].spending.prices,
            open_console(stderr=as_json, quiet=options.quiet),
            reported=reported,
            is_last=is_last,
        )
        if is_last and options.quiet and not as_json:
            # The only output, so that a shell can open the page; printed unchanged.
            sys.stdout.write(f"{page}\n")

    def report_stage(stage: Benchmark) -> None:
        """Print its verdict before the next one begins, which may take minutes and a download."""
        report([stage], is_last=False)
        reported.extend(run.run_id for run in stage.runs)

    with resumable("all answers are kept"):
        benches = run_benches(configs, options, report_stage)
        if any(bench.outcome for bench in benches):
            report(benches, is_last=True)
    if as_json:
        names = ("status", "n_ok", "n_error", "n_left", "reason")
        runs = [
            {"run_id": one.run.run_id, "path": str(one.run.path), **{name: getattr(one, name) for name in names}}
            for bench in benches
            for one in bench.results
        ]
        sys.stdout.write(json.dumps({"runs": runs}) + "\n")
    code = conclude([bench.outcome for bench in benches if bench.outcome])
    if not options.quiet:
        _say_shortened(benches)
    *_, last = benches
    if last.stopped:
        return say_stopped(last.stopped, last.spending, last.progress)
    return EXIT_TOLERANCE if any(bench.failed for bench in benches) else code


def _say_shortened(benches: Sequence[Benchmark]) -> None:
    """Which limit ended interleaved runs early, and how to resume them."""
    for bench in benches:
        if ended := bench.ended_by:
            who = "every system has answered the same" if len(bench.runs) > 1 else "answered"
            # Without flags if the same command continues them.
            go_on = " ".join(filter(None, (same_command(), bench.spending.flags_for_larger(ended))))
            complain(f"budget exhausted ({ended.what}): {who} {bench.shortened}. To resume: {go_on}")
