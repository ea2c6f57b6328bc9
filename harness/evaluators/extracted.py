"""The triplets of what a case holds: one extraction serves every measure that needs it."""

from collections.abc import Iterable
from typing import NamedTuple

from harness.extraction.judged import WINDOW, JudgedTriplets
from harness.extraction.texts import Extractions
from harness.protocols import ChatModel
from harness.records import Context, Triplet


def judged_extractions(judge: ChatModel) -> Extractions:
    """By the judge: deterministic as far as it is, one call a window, paid once for the same text.

    Make one for each run: what a run's evaluation asked for counts whether or not another run had asked before.
    """
    return Extractions(JudgedTriplets(judge).read, WINDOW)


class Stated(NamedTuple):
    """What a text says: by itself, and as triplets that nobody has to read out of it."""

    texts: tuple[str, ...]
    """To be read."""
    triplets: tuple[Triplet, ...] = ()


def stated_by(contexts: Iterable[Context]) -> Stated:
    """The triplets that contexts carry, and the texts of those that carry none."""
    contexts = tuple(contexts)
    carried = dict.fromkeys(triplet for context in contexts for triplet in context.triplets)
    return Stated(texts_of(context for context in contexts if not context.triplets), tuple(carried))


def texts_of(contexts: Iterable[Context]) -> tuple[str, ...]:
    """What to read of contexts: each passage by itself, for others retrieve it too; the many short triplets of a
    graph as one text, a line each.
    """
    contexts = tuple(contexts)
    lines = "\n".join(context.text for context in contexts if context.kind == "triplet")
    texts = [context.text for context in contexts if context.kind != "triplet"]
    return tuple(text for text in (*texts, lines) if text.strip())
