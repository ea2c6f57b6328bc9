"""The command `load`, which measures the system of a run under load."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import JsonOption, PricesOption, QuietOption, ResultsOption, TrustOption
from harness.protocols import CommandSpec


def load(
    run: Annotated[str, typer.Argument(help="A run id, name, unique part of one, or path.", metavar="RUN")],
    concurrency: Annotated[
        str | None,
        typer.Option("--concurrency", "-n", metavar="USERS", help="Users at once. Without --rate: 1,2,4,8."),
    ] = None,
    rate: Annotated[
        str | None, typer.Option("--rate", "-r", metavar="RATES", help="Arrivals a second, e.g. 0.5,1,2.")
    ] = None,
    queries: Annotated[
        int | None,
        typer.Option("--queries", min=2, max=100_000, help="Measured at each level. Without --seconds: 20."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=1, max=86_400, help="Measured at each level, at most.")
    ] = None,
    trust: TrustOption = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="The budget, e.g. budget.usd=1 or budget.minutes=10."),
    ] = None,
    prices: PricesOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure a run's system under load: throughput, latency, where time goes, saturation.

    --concurrency: so many users, each of whom asks again as soon as the answer is there. --rate: queries arrive at
    fixed times, answered or not, and waiting counts. The queries are those of the run, and every model call is
    made and paid. Each level begins with queries that do not count.

    The run is not changed. The result is kept in its load.json, and reports show it.

    Examples:

      rag-harness load trial1

      rag-harness load trial1 --concurrency 1,2,4,8,16 --queries 50

      rag-harness load trial1 --rate 0.5,1,2 --seconds 60

      rag-harness load trial1 --set budget.usd=1
    """
    from harness.core.current_process import count_stops
    from harness.extensions.load.levels import MOST_AT_ONCE
    from harness.extensions.load.output import measure_and_print, parse_loads
    from harness.extensions.load.session import LoadSession

    users = parse_loads("--concurrency", concurrency or ("" if rate else "1,2,4,8"), MOST_AT_ONCE, whole=True)
    rates = parse_loads("--rate", rate or "", 10_000)
    count_stops()
    session = LoadSession(
        run,
        users=tuple(map(int, users)),
        rates=rates,
        queries=20 if queries is None and seconds is None else queries,
        seconds=seconds,
        trust=trust,
        settings=settings or (),
        prices=prices,
        results=results,
        quiet=quiet,
    )
    raise typer.Exit(measure_and_print(session, as_json=as_json))


LOAD = CommandSpec("load", lambda _runtime: load, "decide")
