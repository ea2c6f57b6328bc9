"""Answers, or pairs of answers, with human labels; and reading labels and scores from files."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.core.errors import ConfigError, DataError
from harness.core.hashing import digest
from harness.datasets.local_files import ENV, find
from harness.datasets.row_fields import FIX

FEWEST = 10
"""Minimum number of questions for a correlation."""


@dataclass(frozen=True)
class Item:
    """One text that a measure scores."""

    item_id: str
    question_id: str
    """Items of one question are not independent."""
    query: str
    answer: str | None
    """None: a passage without an answer."""
    reference: str = ""
    """Empty: none."""
    contexts: tuple[str, ...] = ()


@dataclass(frozen=True)
class LabelledItems:
    """Labels of one item, or of two: then a positive label prefers the second, like a metric whose score of the
    second is higher.
    """

    item_ids: tuple[str, ...]
    question_id: str
    labels: tuple[float, ...]
    """One per person, at least one."""


@dataclass(frozen=True)
class LabelledDimension:
    """The question that people answered."""

    name: str
    title: str
    rows: tuple[LabelledItems, ...]
    is_binary: bool = False
    """Labels are 0 or 1: the metric's AUC is computed too."""
    stored: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Scores that came with the set, shown beside ours: name -> item_id -> value."""


@dataclass(frozen=True)
class LabelledSet:
    """Items with their labels."""

    name: str
    title: str
    items: tuple[Item, ...]
    dimensions: tuple[LabelledDimension, ...]
    notes: tuple[str, ...] = ()

    @property
    def question_ids(self) -> list[str]:
        """Each once, in order."""
        return list(dict.fromkeys(item.question_id for item in self.items))

    @property
    def digest(self) -> str:
        """Digest of what is scored, without labels."""
        said = [[one.item_id, one.query, one.answer, one.reference, list(one.contexts)] for one in self.items]
        return digest(said)

    def drawn(self, n: int | None, seed: int = 0) -> LabelledSet:
        """`n` of its questions with all their items, sampled with `seed`; raises ConfigError for fewer than 10,
        DataError if the set has fewer.
        """
        questions = self.question_ids
        if len(questions) < FEWEST:
            what = f"{self.name} has {len(questions)} labelled questions, and fewer than {FEWEST} say nothing"
            raise DataError(what, "replace the file by the complete one")
        if n is None or n >= len(questions):
            return self
        if n < FEWEST:
            why = f"a correlation over fewer than {FEWEST} questions is meaningless"
            raise ConfigError(f"-n {n}: {why}", f"take at least -n {FEWEST}")
        kept = set(random.Random(seed).sample(questions, n))  # noqa: S311 - a sample, no secret
        dimensions = (
            replace(one, rows=tuple(row for row in one.rows if row.question_id in kept)) for one in self.dimensions
        )
        return replace(
            self,
            items=tuple(item for item in self.items if item.question_id in kept),
            dimensions=tuple(dimensions),
            notes=(*self.notes, f"{n} of {len(questions)} questions, drawn with seed {seed}"),
        )


class MissingLabels:
    """Number of missing labels."""

    def __init__(self) -> None:
        self._found: Counter[str] = Counter()

    def count(self, what: str) -> None:
        """Count one more of this kind."""
        self._found[what] += 1

    @property
    def notes(self) -> tuple[str, ...]:
        """A line per kind."""
        return tuple(f"{n:,} {what}" for what, n in sorted(self._found.items()))


def labelled_file(relative: str) -> Path:
    """Path of the file, compressed or not; raises DataError, one line, if it is missing."""
    if path := find(relative):
        return path
    what = f"the labelled set is not there: {relative} (or {relative}.gz)"
    raise DataError(what, f"put it into the data folder, and set {ENV} to that folder (docs/validity.md)")


def label_of(value: object, low: float, high: float, where: str) -> float | None:
    """A label within its scale, or None if it is missing; raises DataError, one line, for anything else."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        number = math.nan
    if not low <= number <= high:
        raise DataError(f"{where}: the label {str(value)[:40]!r} is not from {low:g} to {high:g}", FIX)
    return number


def score_of(value: object) -> float | None:
    """A stored score; None if the file has none."""
    try:
        number = math.nan if isinstance(value, bool) or value is None else float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
