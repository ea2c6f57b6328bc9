"""From scores, records and measurements to numbers with intervals; reads a run, changes nothing in it."""

from harness.analysis.aggregate import NATURAL, OVERALL, Aggregate, Frame, aggregate_quantiles, aggregate_scores
from harness.analysis.cost import index_costs, query_costs, resource_use, run_costs
from harness.analysis.prices import Prices, default_prices_path, load_prices
from harness.analysis.resources import Resources, load_resources

__all__ = [
    "NATURAL",
    "OVERALL",
    "Aggregate",
    "Frame",
    "Prices",
    "Resources",
    "aggregate_quantiles",
    "aggregate_scores",
    "default_prices_path",
    "index_costs",
    "load_prices",
    "load_resources",
    "query_costs",
    "resource_use",
    "run_costs",
]
