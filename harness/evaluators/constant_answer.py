"""The best constant answer: a lower baseline for answer metrics."""

from collections.abc import Callable, Sequence

from harness.core.records import Reference
from harness.protocols import ConstantAnswer

TRIED = 3
"""Number of the most frequent reference answers that are tried on every query."""

Read = Callable[[str], str]
"""Normalises an answer for comparison."""
Worth = Callable[[str, Sequence[str]], float]
"""worth(answer, reference answers), all normalised."""


def best_constant(
    read: Read, worth: Worth, references: Sequence[Reference], weights: Sequence[float]
) -> ConstantAnswer | None:
    """The answer with the highest weighted mean among the `TRIED` most frequent reference answers, by weight; None
    without any reference answer. Ties: the first by spelling.

    For binary metrics no other constant is better.
    """
    forms: dict[str, str] = {}
    weight_of: dict[str, float] = {}
    wording: dict[str, str] = {}
    read_of: list[tuple[str, ...]] = []
    for reference, weight in zip(references, weights, strict=True):
        for answer in reference.answers:
            if answer not in forms:
                forms[answer] = read(answer)
        own = {forms[answer]: answer for answer in reference.answers if forms[answer]}
        read_of.append(tuple(own))
        for form, answer in own.items():
            weight_of[form] = weight_of.get(form, 0.0) + weight
            wording.setdefault(form, answer)
    tried = sorted(weight_of, key=lambda form: (-weight_of[form], form))[:TRIED]
    found = [ConstantAnswer(wording[form], _values(worth, form, read_of)) for form in tried]
    return max(found, key=lambda one: _mean(one, weights), default=None)


def _values(worth: Worth, answer: str, references: Sequence[tuple[str, ...]]) -> tuple[float, ...]:
    """Values per query; equal sets of reference answers are compared once."""
    known = {answers: float(worth(answer, answers)) for answers in dict.fromkeys(references)}
    return tuple(known[answers] for answers in references)


def _mean(one: ConstantAnswer, weights: Sequence[float]) -> float:
    return sum(weight * value for weight, value in zip(weights, one.values, strict=True))
