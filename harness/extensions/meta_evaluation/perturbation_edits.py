"""Small, seeded edits that make a text wrong; None if the text offers nothing to edit."""

import random
import re

from harness.evaluators.answer_normalisation import normalise
from harness.extraction.types import FoundEntity, TextGraph

GENERIC_ANSWER = (
    "There are several things to consider here, and the details can differ from one case to the next, so it is "
    "worth looking at each of them with care."
)
"""A text that fits any question, and is no abstention."""
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
_NEGATION = re.compile(
    r"\b(?:(is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|must)n['\u2019]t|not)\b",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|am|can|could|will|would|should|must|may|might|do|does|did|has been|have been|had been)\b"
)
_FEWEST_WORDS = 4
"""Words of a text that can be halved."""


def negated(text: str) -> str | None:
    """The opposite: yes and no exchanged, its first `not` removed, or a `not` after its first auxiliary verb."""
    verdict = {"yes": "No", "no": "Yes"}.get(normalise(text))
    if verdict:
        return verdict
    if found := _NEGATION.search(text):
        left = f"{text[: found.start()]}{found[1] or ''}{text[found.end() :]}"
        return re.sub(r"  +", " ", left)
    if found := _AUXILIARY.search(text):
        verb, *rest = found[1].split(" ", 1)
        return f"{text[: found.start()]}{' '.join([verb, 'not', *rest])}{text[found.end() :]}"
    return None


def renumbered(text: str, rng: random.Random) -> str | None:
    """Its first number replaced by another of the same length and similar size."""
    found = _NUMBER.search(text)
    if found is None:
        return None
    digits = list(found[0])
    places = [place for place, char in enumerate(digits) if char.isdigit()]
    # The first two digits: changing the last ones of a year would be nearly right, and no number starts with 0.
    for place in places[-2:] if len(places) > 2 else places[:1]:
        choices = [digit for digit in "123456789" if digit != digits[place]]
        digits[place] = rng.choice(choices)
    return f"{text[: found.start()]}{''.join(digits)}{text[found.end() :]}"


def halved(text: str) -> str | None:
    """Its first half, cut between words."""
    words = text.split()
    return " ".join(words[: len(words) // 2]) if len(words) >= _FEWEST_WORDS else None


def with_another_name(text: str, found: TextGraph, others: list[FoundEntity], rng: random.Random) -> str | None:
    """The text with its first name replaced everywhere by another name of the same kind."""
    words = normalise(text)
    for entity in found.entities:
        kin = sorted({one.name for one in others if one.kind == entity.kind and normalise(one.name) not in words})
        if entity.kind and kin and _place(text, entity.name) >= 0:
            return _whole(entity.name).sub(rng.choice(kin).replace("\\", r"\\"), text)
    return None


def turned_round(text: str, found: TextGraph) -> str | None:
    """Head and tail of its first statement exchanged: the same names, another triplet."""
    for head, _, tail in found.triplets:
        first, second = sorted(((_place(text, head), head), (_place(text, tail), tail)))
        between = text[first[0] + len(first[1]) : second[0]]
        if first[0] >= 0 and normalise(head) != normalise(tail) and between.strip():
            rest = text[second[0] + len(second[1]) :]
            return f"{text[: first[0]]}{second[1]}{between}{first[1]}{rest}"
    return None


def _place(text: str, name: str) -> int:
    """Position of the name as separate words; -1 if there is none."""
    found = _whole(name).search(text)
    return found.start() if found else -1


def _whole(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
