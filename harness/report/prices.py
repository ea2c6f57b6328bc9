"""Of which runs it may be said that they are cheap: what fails or was not counted in full only looks it."""

from __future__ import annotations

from collections.abc import Mapping

from harness.display.text_format import printable
from harness.report.own_models import AS_REPORTED, self_reported_mark
from harness.report.view import RunView
from harness.statistics import Aggregate
from harness.statistics.cost import is_lower_bound


def why_no_price(view: RunView, measure: str, *rows: Aggregate | None) -> str:
    """Why a run is not compared by what it took of `measure`, in a few words; empty: it may be called cheap.
    `rows`: the numbers that would be compared, which must be no lower bounds.
    """
    left_after = view.left_race_after
    reasons = (
        ("not finished", not view.is_complete),
        (f"left the race after {left_after or 0:,} queries", left_after is not None),
        ("fails too often", view.fails_too_often),
        ("refuses most that have an answer", view.refuses_most),
        ("a baseline", view.is_baseline),
        (f"counted {AS_REPORTED} by itself", self_reported_mark(view, measure)),
        ("not counted in full", any(row is not None and is_lower_bound(row) for row in rows)),
    )
    return next((why for why, is_so in reasons if is_so), "")


def listed_apart(reasons: Mapping[str, str]) -> str:
    """`kg (fails too often), naive (a baseline)`: label -> why it is not compared."""
    return ", ".join(f"{printable(label, 100)} ({why})" for label, why in reasons.items())
