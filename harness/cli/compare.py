"""`rag-harness compare`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from harness.api.config_building import prices_of_runs
from harness.cli.console import open_console
from harness.core.errors import ConfigError
from harness.report.comparison.compare import ComparisonChoice, compare_runs
from harness.report.comparison.output import (
    VoteCount,
    comparison_json,
    render_comparison,
    votes_between,
    write_comparison,
)
from harness.report.terminal import plain
from harness.report.verdict.findings import evidence_that_ranks
from harness.store import RunDir, find_runs
from harness.store.annotations import read_preferences
from harness.store.run_lookup import is_being_written


@dataclass(frozen=True)
class CompareOptions:
    """The options of the command."""

    measures: tuple[str, ...]
    query_type: str | None
    against: str | None
    out: Path | None
    results: Path
    as_json: bool
    prices: Path | None = None
    """A price table of the user."""
    margin: float | None = None
    """In points. None: from the configs of the runs."""
    full: bool = False
    """Print every metric and note."""


def compare(names: Sequence[str], options: CompareOptions) -> None:
    """Compare the named runs, print the comparison, and write it to the folder `out` if given. The votes of
    people on their answers, from `try`, are printed beside it; alone for runs without answers of their own.
    """
    against = find_runs(options.results, [options.against]) if options.against is not None else []
    choice = ComparisonChoice(options.measures, options.query_type, next(iter(against), None), options.margin)
    runs = find_runs(options.results, names)
    console, votes = open_console(), votes_between([*runs, *against], read_preferences(options.results))
    if votes and not any(run.is_closed() or is_being_written(run) for run in (*runs, *against)):
        _print_votes(console, votes, as_json=options.as_json)
        return
    _refuse_running(runs, against)
    prices = prices_of_runs([*runs, *against], options.prices)
    comparison = compare_runs(runs, prices, choice, evidence_that_ranks)
    written = write_comparison(comparison, options.out) if options.out else None
    if options.as_json:
        value = {**comparison_json(comparison), "votes": [one.as_value() for one in votes]}
        console.print(json.dumps(value, indent=2), soft_wrap=True)
        return
    render_comparison(comparison, console, full=options.full)
    _print_votes(console, votes)
    if written:
        console.print(f"comparison: {written}", soft_wrap=True)


def _print_votes(console: Console, votes: Sequence[VoteCount], *, as_json: bool = False) -> None:
    if as_json:
        console.print(json.dumps({"votes": [one.as_value() for one in votes]}, indent=2), soft_wrap=True)
        return
    for one in votes:
        console.print(plain(one.line()), soft_wrap=True)


def _refuse_running(runs: Sequence[RunDir], against: Sequence[RunDir]) -> None:
    """Reject a comparison that lacks a run which is still being answered: there is nothing to resume."""
    unfinished = [run for run in (*against, *runs) if not run.is_closed()]
    running = [run for run in unfinished if is_being_written(run)]
    if running and (len(runs) - len(unfinished) < 2 or any(run in against for run in running)):
        raise ConfigError(
            f"{running[0].run_id} is still running, and a comparison takes finished runs",
            "wait until it ends, then compare again",
        )
