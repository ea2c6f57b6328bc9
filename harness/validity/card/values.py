"""What a card is counted from: every label, and every score beside it. One file holds it all, values.json."""

from __future__ import annotations

from typing import Any

from harness.records import Record


class MeasuredBy(Record):
    """A measure, and what its scores took."""

    name: str
    title: str = ""
    """Empty: its name."""
    evaluator: str = ""
    """Empty: the scores came with the set."""
    is_judged: bool = False
    """A model gave them."""
    worst: float | None = None
    """What an item counts as that the measure says nothing of, where it is to count at all."""
    n_items: int = 0
    n_failed: int = 0
    """Items whose score failed."""
    evaluator_wall_s: float | None = None
    """What all measures of its evaluator took together, over all items."""
    evaluator_tokens: int = 0
    evaluator_usd: float | None = None
    """None: no price is known."""

    @property
    def spoken(self) -> str:
        """What a table calls it."""
        return self.title or self.name


class LabelledRow(Record):
    """What people said of one item or pair, and what measures say of it."""

    dimension: str
    row_id: str
    question_id: str
    labels: tuple[float, ...]
    """One a person."""
    scores: dict[str, float]
    """By measure: the score of an item, or of the second of a pair minus the first; no entry: it has none."""
    filled: dict[str, float]
    """The same where an item without a score counts as the worst, of measures that leave an item out."""


class CardValues(Record):
    """See the module."""

    name: str
    title: str
    notes: tuple[str, ...]
    dimensions: dict[str, str]
    """Name -> what people were asked."""
    binary: tuple[str, ...]
    """Dimensions whose labels are 0 or 1."""
    measures: tuple[MeasuredBy, ...]
    rows: tuple[LabelledRow, ...]
    models: dict[str, dict[str, Any]]
    """Role -> which judge, which embedder."""

    def of(self, dimension: str) -> list[LabelledRow]:
        """The rows of one dimension."""
        return [row for row in self.rows if row.dimension == dimension]
