"""Means, costs and counts as table entries, and which costs may be compared: a run that fails, abstains or was not
metered in full only looks cheap."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from harness.core.records import OWN_MODELS, Usage
from harness.display import Quantity, ValueGroup, printable
from harness.report.verdict.types import SCORED_OTHERWISE
from harness.report.view import RunView
from harness.statistics.cost import MOST_FAILED, is_lower_bound
from harness.statistics.run_frame import Aggregate

AS_REPORTED = "as reported"
BASELINE = "a baseline"
FAILING = (
    f"A run that fails on over {100 * MOST_FAILED:g} % of its queries is called neither cheapest nor fastest."
)
_TOLD = frozenset({"tokens", "input_tokens", "output_tokens", "cached_tokens", "model_calls"})
"""The costs of a query that a pipeline with models of its own may report."""


def share(row: Aggregate | None, *, with_n: bool = False) -> Quantity | None:
    """A mean between -1 and 1 with its interval; `with_n`: and over how many values."""
    if row is None:
        return None
    n, of = (values_in(row), row.n_expected) if with_n else (None, None)
    return Quantity(row.mean, row.ci_low, row.ci_high, n=n, of=of, unit="share")


def amount(row: Aggregate | None) -> Quantity | None:
    return None if row is None else Quantity(row.mean, row.ci_low, row.ci_high)


def cost_quantity(row: Aggregate | None, *, interval: bool = False, mark: str = "") -> Quantity | None:
    """The cost of a query, an index or a run; marked `≥` if it is only a lower bound."""
    if row is None or row.mean is None:
        return None
    low, high = (row.ci_low, row.ci_high) if interval else (None, None)
    return Quantity(row.mean, low, high, at_least=is_lower_bound(row), mark=mark)


def cost_of(view: RunView, measure: str) -> Quantity | None:
    """A cost of a run, marked if the pipeline reported it itself."""
    return cost_quantity(view.row(measure), mark=self_reported_mark(view, measure))


def quantity_of(value: float | None, scale: float = 1.0) -> Quantity | None:
    return None if value is None else Quantity(value * scale)


def rare(part: float) -> Quantity:
    """A share in per cent with three significant digits, so that rare events are not shown as 0."""
    return Quantity(round(100 * part, 9))


def count(n: int) -> Quantity:
    return Quantity(n, unit="count")


def part(n: int, of: int) -> ValueGroup:
    return ValueGroup((count(n), count(of)), " of ")


def population(row: Aggregate | None) -> Quantity:
    """How many values the mean is over: `200`, or `170 of 200` where scores are missing."""
    return count(0) if row is None else Quantity(values_in(row), of=row.n_expected, unit="count")


def values_in(row: Aggregate) -> int:
    return row.n_scored + row.n_imputed


def self_reported_mark(view: RunView, measure: str) -> str:
    """The mark after a number that the pipeline reported itself; empty if it was metered or is unknown."""
    own = view.spent.usage.get(OWN_MODELS, Usage())
    said = own.calls or own.input_tokens or own.output_tokens
    return AS_REPORTED if measure in _TOLD and said else ""


def self_reported_note(views: Iterable[RunView]) -> str:
    """A sentence, preceded by a space, that names the runs whose tokens are self-reported; empty if none are."""
    names = [view.label for view in views if self_reported_mark(view, "tokens")]
    return f" As reported by the pipeline itself, not metered: {', '.join(names)}." if names else ""


def why_apart(
    view: RunView, otherwise: Collection[str] = (), *, cost: str = "", means: Iterable[Aggregate | None] = ()
) -> str:
    """Why a run is not compared with the others, as words in brackets behind its name; empty if it is.

    `otherwise`: ids of the runs that were scored in another way. `cost`: the cost by which runs are compared; its
    `means` must not be lower bounds.
    """
    left_after, abstained = view.left_race_after, view.abstains_on if cost else ""
    reasons = (
        ("not finished", not view.is_complete),
        (f"left the race after {left_after or 0:,} queries", left_after is not None),
        ("fails too often", cost and view.fails_too_often),
        (f"abstained on {abstained}", abstained),
        (BASELINE, view.is_baseline),
        (f"counted {AS_REPORTED} by itself", cost and self_reported_mark(view, cost)),
        ("not counted in full", any(row is not None and is_lower_bound(row) for row in means)),
        (SCORED_OTHERWISE, view.run.run_id in otherwise),
    )
    return next((why for why, is_so in reasons if is_so), "")


def listed_apart(reasons: Mapping[str, str]) -> str:
    """`kg (fails too often), naive (a baseline)`: label -> why it is not compared."""
    return ", ".join(f"{printable(label, 100)} ({why})" for label, why in reasons.items())


def not_compared(reasons: Mapping[str, str]) -> str:
    """A sentence, preceded by a space, about the runs that are in no comparison of costs; empty if all are."""
    return f" {FAILING} Not compared: {listed_apart(reasons)}." if reasons else ""
