"""Which costs may be compared. A run that fails, abstains or was not metered in full only looks cheap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.core.records import OWN_MODELS, Usage
from harness.display.text_format import printable
from harness.report.view import RunView
from harness.statistics import Aggregate
from harness.statistics.cost import is_lower_bound

AS_REPORTED = "as reported"
_TOLD = frozenset({"tokens", "input_tokens", "output_tokens", "cached_tokens", "model_calls"})
"""The costs of a query that a pipeline with models of its own may report."""


def self_reported_mark(view: RunView, measure: str) -> str:
    """The mark after a number that the pipeline reported itself; empty if it was metered or is unknown."""
    own = view.spent.usage.get(OWN_MODELS, Usage())
    said = own.calls or own.input_tokens or own.output_tokens
    return AS_REPORTED if measure in _TOLD and said else ""


def self_reported_note(views: Iterable[RunView]) -> str:
    """A sentence, preceded by a space, that names the runs whose tokens are self-reported; empty if there are
    none.
    """
    names = [view.label for view in views if self_reported_mark(view, "tokens")]
    return f" As reported by the pipeline itself, not metered: {', '.join(names)}." if names else ""


def why_no_price(view: RunView, measure: str, *rows: Aggregate | None) -> str:
    """Why a run is not compared by a cost, in a few words; empty if it is. `rows`: the means to compare, which
    must not be lower bounds.
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
