"""The best answer that never looks at the question: a floor for what answers are worth."""

from collections.abc import Callable, Sequence

from harness.evaluators.normalise import canonical
from harness.evaluators.sides import said
from harness.protocols import ConstantAnswer
from harness.records import Reference

TRIED = 5
"""So many of the reference answers, those that are right most often, are given to every query."""


def best_constant(
    value: Callable[[str, Sequence[str]], float], references: Sequence[Reference], weights: Sequence[float]
) -> ConstantAnswer | None:
    """The answer with the highest weighted mean of `value(answer, reference answers)` among the `TRIED` most
    frequent reference answers, by weight; None without any reference answer. Ties: the first by spelling.

    For a measure that gives credit to the whole answer only, no other constant is better.
    """
    weight_of: dict[str, float] = {}
    wording: dict[str, str] = {}
    for reference, weight in zip(references, weights, strict=True):
        for form, answer in {canonical(answer): answer for answer in said(reference)}.items():
            weight_of[form] = weight_of.get(form, 0.0) + weight
            wording.setdefault(form, answer)
    tried = sorted(weight_of, key=lambda form: (-weight_of[form], form))[:TRIED]
    found = [ConstantAnswer(wording[form], _values(value, wording[form], references)) for form in tried]
    return max(found, key=lambda one: _mean(one, weights), default=None)


def _values(
    value: Callable[[str, Sequence[str]], float], answer: str, references: Sequence[Reference]
) -> tuple[float, ...]:
    """Many queries have the same reference answers: each of those is compared once."""
    known: dict[tuple[str, ...], float] = {}
    for reference in references:
        if reference.answers not in known:
            known[reference.answers] = float(value(answer, said(reference)))
    return tuple(known[reference.answers] for reference in references)


def _mean(one: ConstantAnswer, weights: Sequence[float]) -> float:
    return sum(weight * value for weight, value in zip(weights, one.values, strict=True))
