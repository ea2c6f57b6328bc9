"""The command `gate`, which checks a run against conditions, such as in CI."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import JsonOption, PricesOption, QuietOption, ResultsOption
from harness.protocols import CommandSpec


def gate(
    run: Annotated[str, typer.Argument(help="A run id, name, unique part of one, or path.", metavar="RUN")],
    baseline: Annotated[
        str | None, typer.Option("--baseline", "-b", metavar="RUN", help="The run to compare with.")
    ] = None,
    least: Annotated[
        list[str] | None,
        typer.Option("--min", metavar="METRIC=VALUE", help="The mean is at least this, e.g. accuracy=0.7."),
    ] = None,
    most: Annotated[
        list[str] | None,
        typer.Option("--max", metavar="METRIC=VALUE", help="The mean is at most this, e.g. latency_s=5."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option("--max-drop", metavar="METRIC=VALUE", help="At most this much worse than the baseline."),
    ] = None,
    holdout: Annotated[
        bool, typer.Option("--holdout", help="Ask the held-out queries, check over those, and log it.")
    ] = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="With --holdout: use the servers, keys, code and files of the runs.")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Also write the result as JUnit XML, for CI.")
    ] = None,
    prices: PricesOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Check a run against conditions and a baseline: pass, fail or underpowered.

    A condition passes or fails only if its whole interval is on one side of the limit. Otherwise it is
    underpowered, and the number of queries that would decide it is named. Failed queries count as wrong.

    Metrics are those of `rag-harness list measures`, latency_s, tokens, usd and usd_per_1000 (for 1,000 queries).
    Exit codes: 0 pass, 5 fail, 6 underpowered.

    Examples:

      rag-harness gate new --baseline old --max-drop accuracy=0.03

      rag-harness gate new --min accuracy=0.7 --max usd_per_1000=2

      rag-harness gate new -b old --max-drop accuracy=0.03 --junit gate.xml

      rag-harness gate new -b old --max-drop accuracy=0.05 --holdout
    """
    from harness.api.config_building import prices_of_runs
    from harness.cli.console import same_command
    from harness.extensions.gate.conditions import (
        EXITS,
        check_conditions,
        junit_text,
        print_result,
        read_conditions,
    )
    from harness.extensions.gate.holdout import Opening, open_holdout, put_away
    from harness.store import find_runs
    from harness.store.atomic_files import write_atomic

    conditions = read_conditions({"min": least or (), "max": most or (), "max-drop": drop or ()})
    if holdout:
        put_away(results)
    runs = [find_runs(results, [one])[0] for one in (run, baseline) if one is not None]
    priced = prices_of_runs(runs, prices)
    # Before the holdout is opened: a mistake must not cost a look.
    result = check_conditions(runs, conditions, priced)
    openings: tuple[Opening, ...] = ()
    if holdout:
        runs, openings = open_holdout(runs, same_command(), trust=trust, quiet=quiet)
        result = check_conditions(runs, conditions, priced)
    if junit:
        write_atomic(junit, junit_text(result))
    print_result(result, openings, as_json=as_json)
    raise typer.Exit(EXITS[result.outcome])


GATE = CommandSpec("gate", lambda _runtime: gate, "keep")
