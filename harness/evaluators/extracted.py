"""The triplets of what a case holds: one extraction serves every measure that needs it."""

from collections.abc import Iterable

from harness.extraction.judged import WINDOW, JudgedTriplets
from harness.extraction.texts import Extractions
from harness.protocols import ChatModel
from harness.records import Context


def judged_extractions(judge: ChatModel) -> Extractions:
    """By the judge: deterministic as far as it is, one call a window, paid once for the same text.

    Make one for each run: what a run's evaluation asked for counts whether or not another run had asked before.
    """
    return Extractions(JudgedTriplets(judge).read, WINDOW)


def texts_of(contexts: Iterable[Context]) -> tuple[str, ...]:
    """What to read of contexts: each passage by itself, for others retrieve it too; the many short triplets of a
    graph as one text, a line each.
    """
    contexts = tuple(contexts)
    lines = "\n".join(context.text for context in contexts if context.kind == "triplet")
    texts = [context.text for context in contexts if context.kind != "triplet"]
    return tuple(text for text in (*texts, lines) if text.strip())
