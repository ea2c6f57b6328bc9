"""The command `route`, which learns from recorded runs which system to use for which type of query."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import CostName, JsonOption, PricesOption, RankOption, ResultsOption, RunsArgument
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
            help="Points to subtract for 1,000 tokens (a cent, a second).",
        ),
    ] = 0.0,
    cost: Annotated[CostName, typer.Option("--cost", help="The cost that --cost-weight applies to.")] = "tokens",
    splits: Annotated[
        int, typer.Option("--splits", min=10, max=10_000, help="Number of random splits into halves.")
    ] = 100,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the first split.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for tables and a figure.")] = None,
    policy: Annotated[
        Path | None, typer.Option("--policy", help="Write the learnt table as a config, e.g. policy.yaml.")
    ] = None,
    prices: PricesOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
) -> None:
    """Learn which system to use for which type of query.

    Uses recorded runs and tests on held-out queries. Calls no model.

    A table from query types to systems is learnt on the queries of half of the documents and tested on the
    others, against the best single system. Upper bounds (the best choice known in advance) and the gain by luck
    alone are shown beside it.

    Examples:

      rag-harness route trial1 trial2 trial3

      rag-harness route results/demo--* --cost-weight 1 --cost tokens    (1,000 tokens cost a point)

      rag-harness route trial1 trial2 --out routes --policy policy.yaml
    """
    from harness.api.config_building import prices_of_runs
    from harness.extensions.routing.output import print_routes, write_policy, write_routes
    from harness.extensions.routing.study import RouteChoice, study_routes
    from harness.store import find_runs

    found = find_runs(results, runs)
    choice = RouteChoice(measure, cost, cost_weight, splits, seed)
    study = study_routes(found, prices_of_runs(found, prices), choice)
    written = {"routes": write_routes(study, out) if out else None, "policy": policy}
    if policy:
        write_policy(study, policy)
    print_routes(study, found, written, as_json=as_json)


ROUTE = CommandSpec("route", lambda _runtime: route, "understand")
