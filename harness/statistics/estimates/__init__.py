"""Cost estimates for runs, from what systems expect and what earlier runs cost; reads and writes no files."""

from harness.statistics.estimates.measured_cost import MeasuredCost, answers_spent, index_spent, live_span
from harness.statistics.estimates.phase_estimate import Amounts, Earlier, Task, predict
from harness.statistics.estimates.rates import Rates, rates_of
from harness.statistics.estimates.timing import Allowed, SecondsFit, covered_seconds, own_seconds

__all__ = [
    "Allowed",
    "Amounts",
    "Earlier",
    "MeasuredCost",
    "Rates",
    "SecondsFit",
    "Task",
    "answers_spent",
    "covered_seconds",
    "index_spent",
    "live_span",
    "own_seconds",
    "predict",
    "rates_of",
]
