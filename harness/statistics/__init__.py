"""Turns scores, records and measurements into numbers with intervals. Reads runs, never changes them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.statistics.aggregate import aggregate_quantiles, aggregate_scores
    from harness.statistics.cost import index_costs, query_costs, resource_use, run_costs
    from harness.statistics.prices import Prices, load_prices
    from harness.statistics.resource_usage import Resources, load_resources
    from harness.statistics.run_frame import NATURAL, OVERALL, Aggregate, Frame

__all__ = [
    "NATURAL",
    "OVERALL",
    "Aggregate",
    "Frame",
    "Prices",
    "Resources",
    "aggregate_quantiles",
    "aggregate_scores",
    "index_costs",
    "load_prices",
    "load_resources",
    "query_costs",
    "resource_use",
    "run_costs",
]

# Imported lazily, so that a command that only needs a price does not load numpy.
_HOMES = {
    name: home
    for home, names in {
        "aggregate": "aggregate_quantiles aggregate_scores",
        "cost": "index_costs query_costs resource_use run_costs",
        "prices": "Prices default_prices_path load_prices",
        "resource_usage": "Resources load_resources",
        "run_frame": "NATURAL OVERALL Aggregate Frame",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
