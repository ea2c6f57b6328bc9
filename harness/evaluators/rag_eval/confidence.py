"""Computes a confidence from five grades, and its band."""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from harness.evaluators.context_windows import ContextReading
from harness.evaluators.rag_eval.criteria import METRICS, GradeName
from harness.evaluators.rag_eval.grades import HIGHEST

Band = Literal["trustworthy", "grounded but partial", "misaligned"]
TRUSTWORTHY_FROM = 0.75
MISALIGNED_BELOW = 0.50

_TOLERANCE = 1e-9
_DECIMALS = 9
"""Far coarser than float errors, far finer than the difference of two weighted sums."""

Weight = Annotated[float, Field(ge=0)]


def _sum_to_one(weights: tuple[float, ...]) -> tuple[float, ...]:
    if len(weights) != len(METRICS):
        raise ValueError(f"must be five numbers that sum to 1 ({len(weights)} given)")
    if abs(fsum(weights) - 1) > _TOLERANCE:
        raise ValueError(f"must be five numbers that sum to 1 (the sum is {fsum(weights):.10g})")
    return weights


Weights = Annotated[tuple[Weight, ...], AfterValidator(_sum_to_one)]
"""In the order of METRICS, none negative; they sum to 1."""


def normalised(grade: float) -> float:
    """From 0.2 to 1."""
    return grade / HIGHEST


def combined(name: GradeName, grades: Sequence[int], reading: ContextReading) -> float:
    """One grade from those of each window.

    Factual accuracy is the highest one: a fact stated in any window is supported. The others are the mean,
    weighted by length. So a long prompt has more chances at factual accuracy, and a fact that is split between two
    windows is supported by neither.
    """
    return max(grades) if name == "factual_accuracy" else reading.mean(grades)


def confidence_of(grades: Mapping[GradeName, float], weights: tuple[float, ...]) -> float:
    """The weighted sum of all five normalised grades, from 0.2 to 1, to nine decimals."""
    weighted = (weight * grades[name] for name, weight in zip(METRICS, weights, strict=True))
    return round(fsum(weighted) / HIGHEST, _DECIMALS)


def band_of(confidence: float) -> Band:
    """The band of a confidence; its lower edge belongs to it."""
    if confidence >= TRUSTWORTHY_FROM:
        return "trustworthy"
    return "misaligned" if confidence < MISALIGNED_BELOW else "grounded but partial"
