"""Estimates made at the start of runs against what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from harness.core.records import Range
from harness.display import Quantity, Table, printable
from harness.report.quantities import plain
from harness.report.view import Group, RunView
from harness.statistics import Aggregate
from harness.statistics.cost import is_lower_bound
from harness.statistics.estimate import MeasuredCost, index_spent, totals

_NAMES = {
    "calls": "calls",
    "input_tokens": "tokens in",
    "output_tokens": "tokens out",
    "usd": "USD",
    "minutes": "minutes",
}
AmountByName = Mapping[str, float | None]
"""By quantity; None: not known."""


@dataclass(frozen=True)
class _Compared:
    label: str
    phase: str
    basis: str
    predicted: Mapping[str, Range | None]
    actual: AmountByName

    def error(self, quantity: str) -> Quantity | None:
        """Nearest bound / actual - 1, 0 within the range; None if one is unknown, or only the actual is 0."""
        predicted, actual = self.predicted[quantity], self.actual[quantity]
        if predicted is None or actual is None:
            return None
        nearest = min(max(actual, predicted.low), predicted.high)
        if actual == 0 and nearest != 0:
            return None
        return Quantity(nearest / actual - 1 if actual else 0.0, unit="%", signed=True)

    def amounts(self, quantity: str) -> tuple[Quantity | None, ...]:
        """Both bounds, and the actual value."""
        predicted = self.predicted[quantity]
        bounds = (predicted.low, predicted.high) if predicted else (None, None)
        return tuple(map(plain, (*bounds, self.actual[quantity])))


def estimate_tables(group: Group) -> list[Table]:
    compared = [phase for view in group.views for phase in _compared(view)]
    if not compared:
        return []
    errors = tuple((one.label, one.phase, *map(one.error, _NAMES), one.basis) for one in compared)
    amounts = tuple(
        (one.label, one.phase, label, *one.amounts(name)) for one in compared for name, label in _NAMES.items()
    )
    note = (
        "0: within the estimated range. Above 0: the estimate was too high. Estimates are made at the start of a "
        "run, as if nothing were reused; input tokens are those of generator and embedder. Minutes are not "
        "compared for an index with reused calls or vectors and for unfinished runs, tokens and dollars not if "
        "they were not all counted."
    )
    header, title = ("run", "phase", *_NAMES.values(), "estimated from"), "Estimate against actual, error in %"
    amounts_header = ("run", "phase", "quantity", "estimated from", "to", "actual")
    return [
        Table("estimate_errors", title, header, errors, note=note),
        Table("estimates", "Estimated and actual amounts", amounts_header, amounts),
    ]


def _compared(view: RunView) -> Iterator[_Compared]:
    estimate, index = view.run.estimate(), view.run.index()
    if estimate is None:
        return
    unknown: AmountByName = dict.fromkeys(_NAMES)
    built = _actual(index_spent(index), view.row("index_usd")) if index else unknown
    finished = view.n_answered >= view.n_expected
    answered = _actual(view.spent, view.row("answer_usd_total")) if finished else unknown
    for phase, predicted, actual in (("index", estimate.index, built), ("answers", estimate.answer, answered)):
        values = {name: summed.value for name, summed in totals([predicted]).items()}
        seconds = values["seconds"]
        values["minutes"] = None if seconds is None else seconds.times(1 / 60)
        yield _Compared(view.label, phase, printable(predicted.basis), values, actual)


def _actual(spent: MeasuredCost, usd: Aggregate | None) -> AmountByName:
    """None for what is only a lower bound. Dollars are not compared if vectors were paid once for several
    answers.
    """
    counted = spent.is_metered
    return {
        "calls": spent.generator.calls,
        "input_tokens": sum(usage.input_tokens for usage in spent.usage.values()) if counted else None,
        "output_tokens": spent.generator.output_tokens if counted else None,
        "usd": None if usd is None or is_lower_bound(usd) or spent.shares_vectors else usd.mean,
        "minutes": _minutes(spent.seconds),
    }


def _minutes(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 60
