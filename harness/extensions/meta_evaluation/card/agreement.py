"""Correlation of scores with labels if rows share a question."""

from __future__ import annotations

from collections.abc import Sequence

from harness.statistics.correlation import FEWEST_CLUSTERS, Coefficient, Correlation, correlate


def agreement(one: Sequence[float], other: Sequence[float], questions: Sequence[str]) -> Correlation:
    """The coefficients of two columns of equal length, with the intervals of `analysis.correlation`: rows of one
    question may be dependent.

    No coefficient for fewer than 10 questions or for a constant column.
    """
    if len(set(questions)) < FEWEST_CLUSTERS:
        return Correlation(len(one), Coefficient(), Coefficient(), Coefficient())
    return correlate(one, other, questions)
