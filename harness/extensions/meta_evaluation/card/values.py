"""The data of a card: every label with every score, in one file, values.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from harness.core.records import Record

FileWord = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,80}$")]
"""A name that becomes part of a file name."""


def _refuse_twice(what: str, names: Iterable[Hashable]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"a {what} occurs twice: {twice[0]}")


class MeasuredBy(Record):
    """A metric, and the cost of its scores."""

    name: str
    title: str = ""
    """Empty: its name."""
    evaluator: str = ""
    """Empty: the scores came with the set."""
    is_judged: bool = False
    """Whether a model gave the scores."""
    worst: float | None = None
    """The value of items to which the metric does not apply, if they should count."""
    n_items: int = Field(0, ge=0)
    n_failed: int = Field(0, ge=0)
    """Items whose score failed."""
    evaluator_wall_s: float | None = Field(None, ge=0)
    """Seconds for all metrics of its evaluator over all items."""
    evaluator_tokens: int = Field(0, ge=0)
    evaluator_usd: float | None = None
    """None: the price is unknown."""

    @property
    def spoken(self) -> str:
        """Its title in tables."""
        return self.title or self.name


class LabelledRow(Record):
    """Labels of one item or pair, with the scores of metrics."""

    dimension: str
    row_id: str
    question_id: str
    labels: tuple[float, ...] = Field(min_length=1)
    """One per person."""
    scores: dict[str, float]
    """Measure -> score of the item, or of the pair's second item minus the first; no entry: no score."""
    filled: dict[str, float]
    """The same with the worst value for items without a score, for measures that leave items out."""


class CardValues(Record):
    """The content of values.json."""

    name: FileWord
    title: str
    notes: tuple[str, ...]
    dimensions: dict[FileWord, str]
    """Name -> the question that people answered."""
    binary: tuple[str, ...]
    """Dimensions whose labels are 0 or 1."""
    measures: tuple[MeasuredBy, ...]
    rows: tuple[LabelledRow, ...]
    models: dict[str, dict[str, Any]]
    """Role -> the model: judge or embedder."""

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        for what, names in (
            ("measure", [one.name for one in self.measures]),
            ("row", [(row.dimension, row.row_id) for row in self.rows]),
        ):
            _refuse_twice(what, names)
        if unknown := {row.dimension for row in self.rows} - self.dimensions.keys():
            raise ValueError(f"rows of no dimension: {sorted(unknown)}")
        return self

    def of(self, dimension: str) -> list[LabelledRow]:
        """The rows of one dimension."""
        return [row for row in self.rows if row.dimension == dimension]
