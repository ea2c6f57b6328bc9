"""Runs `rag-harness route` and prints the result."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.api.config_building import prices_of_runs
from harness.cli.console import open_console
from harness.extensions.routing.data import route_json
from harness.extensions.routing.eligible_systems import RouteChoice, study_routes
from harness.extensions.routing.policy import write_policy
from harness.extensions.routing.write import render_routes, write_routes
from harness.store import find_runs


@dataclass(frozen=True)
class RouteOptions:
    """The flags of the command."""

    measure: str | None
    cost: str
    cost_weight: float
    splits: int
    seed: int
    out: Path | None
    policy: Path | None
    """File for the learnt table."""
    prices: Path | None
    results: Path
    as_json: bool


def print_routes(names: Sequence[str], options: RouteOptions) -> None:
    """Study the named runs, print the result, and write it to `out` and `policy` if given."""
    runs = find_runs(options.results, names)
    choice = RouteChoice(options.measure, options.cost, options.cost_weight, options.splits, options.seed)
    study = study_routes(runs, prices_of_runs(runs, options.prices), choice)
    written = write_routes(study, options.out) if options.out else None
    policy = write_policy(study, options.policy) if options.policy else None
    console = open_console()
    if options.as_json:
        console.print(json.dumps(route_json(study), indent=2), soft_wrap=True)
        return
    render_routes(study, console)
    if written:
        console.print(f"routes: {written}", soft_wrap=True)
    if policy:
        console.print(f"policy: {policy}", soft_wrap=True)
