"""What would be gained by sending each query to the system that serves its type best, from recorded runs."""

from harness.report.routing.data import route_json
from harness.report.routing.policy import write_policy
from harness.report.routing.study import COST_UNITS, RouteChoice, RouteStudy, study_routes
from harness.report.routing.write import render_routes, write_routes

__all__ = [
    "COST_UNITS",
    "RouteChoice",
    "RouteStudy",
    "render_routes",
    "route_json",
    "study_routes",
    "write_policy",
    "write_routes",
]
