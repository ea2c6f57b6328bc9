"""How well metrics agree with human labels on one set, computed from every label and every score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from harness.core.records import Record
from harness.statistics.correlation import (
    FEWEST_CLUSTERS,
    Auc,
    Coefficient,
    Correlation,
    QueryScores,
    auc,
    correlate,
)

SHOWN = 12
"""Rows of a table in a terminal and of a figure; the files have all."""
FileWord = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,80}$")]
"""A name that becomes part of a file name."""


class MeasuredBy(Record):
    name: str
    title: str = ""
    evaluator: str = ""
    """Empty: the scores came with the set."""
    is_judged: bool = False
    worst: float | None = None
    """The value of items to which the metric does not apply, if they should count."""
    n_items: int = Field(0, ge=0)
    n_failed: int = Field(0, ge=0)
    evaluator_wall_s: float | None = Field(None, ge=0)
    """Seconds for all metrics of its evaluator over all items."""
    evaluator_tokens: int = Field(0, ge=0)
    evaluator_usd: float | None = None


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
    name: FileWord
    title: str
    notes: tuple[str, ...]
    dimensions: dict[FileWord, str]
    """Name -> the question that people answered."""
    binary: tuple[str, ...]
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
            if twice := [name for name, count in Counter[Hashable](names).items() if count > 1]:
                raise ValueError(f"a {what} occurs twice: {twice[0]}")
        if unknown := {row.dimension for row in self.rows} - self.dimensions.keys():
            raise ValueError(f"rows of no dimension: {sorted(unknown)}")
        return self

    def of(self, dimension: str) -> list[LabelledRow]:
        return [row for row in self.rows if row.dimension == dimension]


@dataclass(frozen=True)
class MeasureValidity:
    measure: MeasuredBy
    n: int
    """Rows with a score, of `of`."""
    of: int
    is_constant: bool
    """Whether every row has the same score, so that there is no correlation."""
    mean: Correlation
    one: Coefficient
    """Pearson's with one person at a time, one row each: comparable with the agreement of people, and what
    RAGChecker publishes."""
    filled: Coefficient
    """Pearson's with the mean of the people over all rows; rows without a score count as the worst."""
    auc: Auc | None = None

    @property
    def strength(self) -> float:
        """The sort key of a card: the absolute Pearson correlation with the mean; -1 without one."""
        return -1.0 if self.mean.pearson.value is None else abs(self.mean.pearson.value)


@dataclass(frozen=True)
class DimensionCard:
    name: str
    asked: str
    n: int
    questions: int
    people: Correlation
    """Agreement of people on the same rows; no value for a single person."""
    measures: tuple[MeasureValidity, ...]
    """Those with a score, the strongest first."""

    @property
    def has_people(self) -> bool:
        return self.people.n > 0


@dataclass(frozen=True)
class Card:
    values: CardValues
    dimensions: tuple[DimensionCard, ...]


def build_card(values: CardValues) -> Card:
    dimensions = []
    for name, asked in values.dimensions.items():
        rows = values.of(name)
        questions = len({row.question_id for row in rows})
        # All pairs of people who labelled the same row, the rows of all pairs together.
        people = agreement([(*two, row.question_id) for row in rows for two in combinations(row.labels, 2)])
        worths = [_worth(rows, measure, is_binary=name in values.binary) for measure in values.measures]
        heard = sorted((one for one in worths if one.n), key=lambda one: (-one.strength, one.measure.name))
        dimensions.append(DimensionCard(name, asked, len(rows), questions, people, tuple(heard)))
    return Card(values, tuple(dimensions))


def _worth(rows: Sequence[LabelledRow], measure: MeasuredBy, *, is_binary: bool) -> MeasureValidity:
    name = measure.name
    scored = [row for row in rows if name in row.scores]
    means = [(row.scores[name], fmean(row.labels), row.question_id) for row in scored]
    each = [(row.scores[name], label, row.question_id) for row in scored for label in row.labels]
    filled = [
        (known[name], fmean(row.labels), row.question_id)
        for row in rows
        if name in (known := {**row.filled, **row.scores})
    ]
    return MeasureValidity(
        measure=measure,
        n=len(scored),
        of=len(rows),
        is_constant=len({row.scores[name] for row in scored}) == 1,
        mean=agreement(means),
        one=agreement(each).pearson,
        filled=agreement(filled).pearson if len(filled) == len(rows) else Coefficient(),
        auc=_auc(scored, name) if is_binary else None,
    )


def agreement(rows: Sequence[tuple[float, float, str]]) -> Correlation:
    """The coefficients of pairs of numbers, each with its question; rows of one question may be dependent. No
    coefficient for fewer than 10 questions or if all numbers of one side are equal.
    """
    if len({question for *_, question in rows}) < FEWEST_CLUSTERS:
        return Correlation(len(rows), Coefficient(), Coefficient(), Coefficient())
    return correlate(*zip(*rows, strict=True))


def _auc(rows: Sequence[LabelledRow], name: str) -> Auc:
    by_question: dict[str, tuple[list[float], list[float]]] = {}
    for row in rows:
        positives, negatives = by_question.setdefault(row.question_id, ([], []))
        (positives if fmean(row.labels) >= 0.5 else negatives).append(row.scores[name])
    return auc(QueryScores(*both) for both in by_question.values())
