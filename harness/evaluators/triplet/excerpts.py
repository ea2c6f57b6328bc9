"""What a judge reads of texts that may be longer than it can."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOST_TEXTS = 40


@dataclass(frozen=True)
class Excerpts:
    """The beginnings of texts, in their order."""

    texts: tuple[str, ...]
    note: str
    """How much was read, where that is not all; else empty."""


def excerpts(texts: Iterable[str], longest: int) -> Excerpts:
    """At most `longest` characters of the first `MOST_TEXTS` texts.

    Every text has the same room; what short ones leave of theirs, longer ones share.
    """
    whole = [text.strip() for text in texts]
    shown = whole[:MOST_TEXTS]
    each = _room([len(text) for text in shown], longest)
    cut = tuple(text[:each] for text in shown)
    read, length = (sum(map(len, some)) for some in (cut, whole))
    return Excerpts(cut, f"read {read:,} of {length:,} characters" if read < length else "")


def _room(lengths: Sequence[int], total: int) -> int:
    """The most characters that each text can have."""
    for place, length in enumerate(sorted(lengths)):
        each = total // (len(lengths) - place)
        if length > each:
            return each
        total -= length
    return max(lengths, default=0)
