"""The range of judged scores: a judge that gives every answer the same grade has judged nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.core.records import EvaluationRecord
from harness.statistics.columnar_scores import SCORED, ScoresOrColumns, in_columns

Spreads = dict[tuple[str, str], "Spread"]
"""(evaluator, measure) -> spread."""


@dataclass(frozen=True)
class Spread:
    """The lowest and highest of `n` values."""

    n: int
    low: float
    high: float

    def joined(self, other: Spread) -> Spread:
        """The spread of both."""
        return Spread(self.n + other.n, min(self.low, other.low), max(self.high, other.high))


def judged_spreads(scores: ScoresOrColumns, evaluations: Iterable[EvaluationRecord]) -> Spreads:
    """For every graded metric whose evaluator uses a judge, the spread of its scores.

    Imputed values are not the judge's, and binary metrics may well be constant.
    """
    asking = [one for one in evaluations if "judge" in one.models]
    owners = {name: one.evaluator for one in asking for name in one.measures if name not in one.binary}
    found: Spreads = {}
    for measure, column in in_columns(scores).only(owners).by_measure.items():
        values = column.values[column.states == SCORED]
        if len(values):
            found[owners[measure], measure] = Spread(len(values), float(values.min()), float(values.max()))
    return found
