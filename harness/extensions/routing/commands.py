"""The command that learns from recorded runs which system serves which type of query."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.choices import CostName
from harness.cli.options import JsonOption, PricesOption, RankOption, ResultsOption, RunsArgument
from harness.protocols import CommandSpec


def route(
    runs: RunsArgument,
    measure: RankOption = None,
    cost_weight: Annotated[
        float,
        typer.Option(
            "--cost-weight",
            min=0,
            max=1e6,
            help="Points that 1,000 tokens (a cent, a second) of a query are worth.",
        ),
    ] = 0.0,
    cost: Annotated[CostName, typer.Option("--cost", help="Which cost that is.")] = CostName.tokens,
    splits: Annotated[
        int, typer.Option("--splits", min=10, max=10_000, help="So many ways to halve the queries.")
    ] = 100,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The number of the first split.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for tables and a figure.")] = None,
    policy: Annotated[
        Path | None, typer.Option("--policy", help="Write the learnt table as a config, e.g. policy.yaml.")
    ] = None,
    prices: PricesOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
) -> None:
    """Learn which system to use for which type of query.

    From recorded runs, tested on queries that were not learned from. Calls no model.

    A table from query types to systems is learnt on the queries of half of the documents and measured on the
    others, against the best single system; beside it what the best choice would gain, had it been known, and by
    luck alone.

    Examples:

      rag-harness route demo--naive demo--kg demo--community

      rag-harness route results/demo--* --cost-weight 1 --cost tokens    (1,000 tokens are worth a point)

      rag-harness route demo--naive demo--kg --out routes --policy policy.yaml
    """
    from harness.extensions.routing.terminal import RouteOptions, print_routes

    options = RouteOptions(measure, cost.value, cost_weight, splits, seed, out, policy, prices, results, as_json)
    print_routes(runs, options)


ROUTE = CommandSpec("route", lambda _runtime: route, "understand")
