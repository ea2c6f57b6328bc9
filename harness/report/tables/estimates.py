"""Estimates made at the start of runs against what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.core.records import PhaseEstimate
from harness.display import Quantity, Table, printable
from harness.report.aggregates import plain
from harness.report.view import Group, RunView
from harness.statistics import Aggregate
from harness.statistics.cost import is_lower_bound
from harness.statistics.estimates import MeasuredCost, index_spent
from harness.statistics.estimates.remaining_cost import totals

_QUANTITIES = ("calls", "input_tokens", "output_tokens", "usd", "minutes")
_NAMES = ("calls", "tokens in", "tokens out", "USD", "minutes")
AmountByName = Mapping[str, float | None]
"""By quantity; None: not known."""


@dataclass(frozen=True)
class Compared:
    """One phase of one run."""

    label: str
    phase: str
    basis: str
    predicted: AmountByName
    actual: AmountByName

    def error(self, quantity: str) -> float | None:
        """Predicted / actual - 1; None if either is unknown, or if only the actual value is 0."""
        predicted, actual = self.predicted[quantity], self.actual[quantity]
        if predicted is None or actual is None:
            return None
        if actual == 0:
            return 0.0 if predicted == 0 else None
        return predicted / actual - 1


def estimate_tables(group: Group) -> list[Table]:
    """The errors of the estimates, and the numbers behind them; nothing without estimates."""
    compared = [phase for view in group.views for phase in _compared(view)]
    if not compared:
        return []
    return [_error_table(compared), _figure_table(compared)]


def _compared(view: RunView) -> list[Compared]:
    estimate, run = view.run.estimate(), view.run
    if estimate is None:
        return []
    index, finished = run.index(), view.n_answered >= view.n_expected
    built = _actual(index_spent(index), view.row("index_usd")) if index else _unknown()
    answered = _actual(view.spent, view.row("answer_usd_total")) if finished else _unknown()
    phases = (("index", estimate.index, built), ("answers", estimate.answer, answered))
    return [
        Compared(view.label, phase, printable(predicted.basis), _predicted(predicted), actual)
        for phase, predicted, actual in phases
    ]


def _predicted(phase: PhaseEstimate) -> AmountByName:
    values = {name: summed.value for name, summed in totals([phase]).items()}
    return {**values, "minutes": _minutes(values["seconds"])}


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


def _unknown() -> AmountByName:
    return dict.fromkeys(_QUANTITIES)


def _minutes(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 60


def _error_table(compared: list[Compared]) -> Table:
    rows = tuple(
        (one.label, one.phase, *(_percent(one.error(name)) for name in _QUANTITIES), one.basis) for one in compared
    )
    return Table(
        name="estimate_errors",
        title="Estimate against actual, error in %",
        header=("run", "phase", *_NAMES, "estimated from"),
        rows=rows,
        note="Above 0: the estimate was too high. Estimates are made at the start of a run, as if nothing were "
        "reused; input tokens are those of generator and embedder. Minutes are not compared for an index with "
        "reused calls or vectors and for unfinished runs, tokens and dollars not if they were not all counted.",
    )


def _figure_table(compared: list[Compared]) -> Table:
    rows = tuple(
        (one.label, one.phase, label, plain(one.predicted[name]), plain(one.actual[name]))
        for one in compared
        for name, label in zip(_QUANTITIES, _NAMES, strict=True)
    )
    return Table(
        name="estimates",
        title="Estimated and actual amounts",
        header=("run", "phase", "quantity", "estimated", "actual"),
        rows=rows,
    )


def _percent(error: float | None) -> Quantity | None:
    return None if error is None else Quantity(error, unit="%", signed=True)
