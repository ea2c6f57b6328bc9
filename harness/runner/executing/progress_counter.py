"""Counts for the progress bar while queries are answered."""

from harness.models.budget import Amount
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.executing.messages import Event
from harness.runner.progress import Bar, Priced


class ProgressCounter:
    """Counts finished queries and dollars for the progress bar."""

    def __init__(self, bar: Bar, spending: BudgetTracker, done: int, expected: int) -> None:
        self._bar, self._spending = bar, spending
        self._done, self._expected = done, expected
        self._usd, self._failed = 0.0, 0
        self._show(Amount())

    def take(self, event: Event, priced: Priced) -> None:
        """Count one event of a worker."""
        if event.kind == "finished":
            self._done += 1
            self._failed += event.status != "ok"
            # The bar shows known dollars; the report says where a price is unknown.
            self._usd += priced(event.usage) or 0.0
            self._show(event.spent)

    def _show(self, spent: Amount) -> None:
        failed = f", {self._failed} failed" if self._failed else ""
        note = self._spending.note(spent) or f"${self._usd:.4f}"
        self._bar.update(self._done, self._expected, f"{note}{failed}")
