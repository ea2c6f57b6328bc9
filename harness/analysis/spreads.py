"""Between what values judged scores lie: a judge that gives every answer the same grade has judged nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.records import EvaluationRecord, Score

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


def judged_spreads(scores: Iterable[Score], evaluations: Iterable[EvaluationRecord]) -> Spreads:
    """Of every graded measure whose evaluator asks a judge, over what it scored.

    Imputed values are not the judge's, and what is only ever 0 or 1 may well be the same for all.
    """
    asking = [one for one in evaluations if "judge" in one.models]
    owners = {name: one.evaluator for one in asking for name in one.measures if name not in one.binary}
    found: Spreads = {}
    for score in scores:
        if score.status == "scored" and score.value is not None and score.measure in owners:
            key, own = (owners[score.measure], score.measure), Spread(1, score.value, score.value)
            found[key] = own.joined(found[key]) if key in found else own
    return found
