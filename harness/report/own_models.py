"""What a run is said to have taken, and nobody metered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from harness.core.records import OWN_MODELS, Usage

if TYPE_CHECKING:
    from harness.report.view import RunView

AS_REPORTED = "as reported"
_TOLD = frozenset({"tokens", "input_tokens", "output_tokens", "cached_tokens", "model_calls"})
"""Of a query: what a pipeline that calls models of its own may say."""


def self_reported_mark(view: RunView, measure: str) -> str:
    """What stands behind a number that is the pipeline's own word. Empty: it was metered, or not said at all."""
    own = view.spent.usage.get(OWN_MODELS, Usage())
    said = own.calls or own.input_tokens or own.output_tokens
    return AS_REPORTED if measure in _TOLD and said else ""


def self_reported_note(views: Iterable[RunView]) -> str:
    """Whose tokens are its own word, as a sentence behind a caption; empty: nobody's. With a space."""
    names = [view.label for view in views if self_reported_mark(view, "tokens")]
    return f" As reported by the pipeline itself, not metered: {', '.join(names)}." if names else ""
