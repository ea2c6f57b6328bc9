"""`rag-harness compare`."""

import json
from collections.abc import Sequence
from pathlib import Path

from harness.api.config_building import prices_of_runs
from harness.cli.console import open_console
from harness.core.errors import ConfigError
from harness.report.comparison.compare import ComparisonChoice, compare_runs
from harness.report.comparison.output import comparison_json, render_comparison, votes_between, write_comparison
from harness.report.terminal import plain
from harness.report.verdict.findings import evidence_that_ranks
from harness.store import RunDir, find_runs
from harness.store.annotations import read_preferences
from harness.store.run_lookup import is_being_written


def compare(
    names: Sequence[str],
    measures: Sequence[str],
    *,
    query_type: str | None,
    against: str | None,
    margin: float | None,
    out: Path | None,
    prices: Path | None,
    results: Path,
    as_json: bool,
    full: bool,
) -> None:
    """Compare the named runs, print the comparison, and write it to the folder `out` if given. The votes of
    people on their answers, from `try`, are printed beside it; alone for runs without answers of their own.

    `margin`: in points; None: from the configs of the runs. `full`: print every metric and note.
    """
    other = find_runs(results, [against]) if against is not None else []
    choice = ComparisonChoice(tuple(measures), query_type, next(iter(other), None), margin)
    runs = find_runs(results, names)
    every, console = [*runs, *other], open_console()
    votes = votes_between(every, read_preferences(results))
    has_only_votes = bool(votes) and not any(run.is_closed() or is_being_written(run) for run in every)
    value: dict[str, object] = {}
    written = None
    if not has_only_votes:
        _refuse_running(runs, other)
        comparison = compare_runs(runs, prices_of_runs(every, prices), choice, evidence_that_ranks)
        written = write_comparison(comparison, out) if out else None
        if as_json:
            value = comparison_json(comparison)
        else:
            render_comparison(comparison, console, full=full)
    if as_json:
        value["votes"] = [one.as_value() for one in votes]
        console.print(json.dumps(value, indent=2), soft_wrap=True)
        return
    for one in votes:
        console.print(plain(one.line()), soft_wrap=True)
    if written:
        console.print(f"comparison: {written}", soft_wrap=True)


def _refuse_running(runs: Sequence[RunDir], against: Sequence[RunDir]) -> None:
    """Reject a comparison that lacks a run which is still being answered: there is nothing to resume."""
    unfinished = [run for run in (*against, *runs) if not run.is_closed()]
    running = [run for run in unfinished if is_being_written(run)]
    if running and (len(runs) - len(unfinished) < 2 or any(run in against for run in running)):
        raise ConfigError(
            f"{running[0].run_id} is still running, and a comparison takes finished runs",
            "wait until it ends, then compare again",
        )
