"""`rag-harness compare`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options
from harness.cli.console import open_console
from harness.core.errors import ConfigError

if TYPE_CHECKING:
    from harness.store import RunDir


def compare(
    runs: options.RunsArgument,
    measures: options.MeasuresOption = None,
    query_type: Annotated[str | None, typer.Option("--query-type", help="Only queries of this type.")] = None,
    against: options.AgainstOption = None,
    margin: options.MarginOption = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for tables and query ids.")] = None,
    prices: options.PricesOption = None,
    results: options.ResultsOption = Path("results"),
    as_json: options.JsonOption = False,
    full: options.FullOption = False,
) -> None:
    """Compare runs query by query, with intervals and tests.

    A difference that could be chance is reported as a statistical tie.

    Example: rag-harness compare trial1 trial2 --measures accuracy,latency_s
    """
    from harness.api.config_building import prices_of_runs
    from harness.report.comparison import output
    from harness.report.comparison.compare import ComparisonChoice
    from harness.report.terminal import plain
    from harness.report.verdict.findings import compare_runs
    from harness.store import find_runs
    from harness.store.annotations import read_preferences
    from harness.store.run_lookup import is_being_written

    other = find_runs(results, [against]) if against is not None else []
    choice = ComparisonChoice(options.words(measures), query_type, next(iter(other), None), margin)
    named = find_runs(results, runs)
    every, console = [*named, *other], open_console()
    # Votes of people on answers, from `try`: all that runs without answers of their own have.
    votes = output.votes_between(every, read_preferences(results))
    has_only_votes = bool(votes) and not any(run.is_closed() or is_being_written(run) for run in every)
    value: dict[str, object] = {}
    written = None
    if not has_only_votes:
        _refuse_running(named, other)
        comparison = compare_runs(named, prices_of_runs(every, prices), choice)
        written = output.write_comparison(comparison, out) if out else None
        if as_json:
            value = output.comparison_json(comparison)
        else:
            output.render_comparison(comparison, console, full=full)
    if as_json:
        value["votes"] = [one.as_value() for one in votes]
        console.print(json.dumps(value, indent=2), soft_wrap=True)
        return
    for one in votes:
        console.print(plain(one.line()), soft_wrap=True)
    if written:
        console.print(f"comparison: {written}", soft_wrap=True)


def _refuse_running(runs: "Sequence[RunDir]", against: "Sequence[RunDir]") -> None:
    """Reject a comparison that lacks a run which is still being answered: there is nothing to resume."""
    from harness.store.run_lookup import is_being_written

    unfinished = [run for run in (*against, *runs) if not run.is_closed()]
    running = [run for run in unfinished if is_being_written(run)]
    if running and (len(runs) - len(unfinished) < 2 or any(run in against for run in running)):
        raise ConfigError(
            f"{running[0].run_id} is still running, and a comparison takes finished runs",
            "wait until it ends, then compare again",
        )
