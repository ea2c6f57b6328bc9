"""Extracts the triplets of a case's texts; one extraction serves every metric that needs it."""

import re
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from harness.core.records import Context, Triplet
from harness.extraction.model_triplets import WINDOW, judged_triplets
from harness.extraction.text_windows import Extractions
from harness.protocols import ChatModel


def judged_extractions(judge: ChatModel) -> Extractions:
    """Extraction by the judge, one call per window. Make one object per run: calls count for its evaluation."""
    return Extractions(partial(judged_triplets, judge), WINDOW)


_IN_BRACKETS = re.compile(r"\([^()]*\)")
"""Kinds of entities, sources and dates."""


class TextContent(NamedTuple):
    texts: tuple[str, ...]
    """Texts to extract from."""
    triplets: tuple[Triplet, ...] = ()


def content_of_contexts(contexts: Iterable[Context]) -> TextContent:
    """The triplets of contexts, and their other sentences."""
    contexts = tuple(contexts)
    carried = dict.fromkeys(triplet for context in contexts for triplet in context.triplets)
    left = (context.model_copy(update={"text": _beside_triplets(context)}) for context in contexts)
    return TextContent(texts_of(left), tuple(carried))


def _beside_triplets(context: Context) -> str:
    """The sentences in a context's text beside its triplets; empty without triplets.

    `(Ann)-[LEADS]->(Acme): Ann leads Acme Corp. (The Post)` has a sentence; `Ann leads Acme (The Post, 2023)` has
    none, nor does a paraphrase of the triplets. A passage is extracted as a whole, because other systems retrieve
    it too.
    """
    if context.is_own_text or not context.triplets:
        return context.text
    text, is_drawn = context.text, False
    # Longest first, because one may be a prefix of another.
    for triplet in sorted(context.triplets, key=lambda one: -len(" ".join(one))):
        drawn = f"({triplet.head})-[{triplet.relation}]->({triplet.tail})"
        if drawn in context.text:
            text, is_drawn = text.replace(drawn, ""), True
        else:
            # A following sentence may begin with these words.
            text = re.sub(rf"(?<!\w){re.escape(' '.join(triplet))}(?!\w)", "", text)
    n_words = len(re.findall(r"\w+", _IN_BRACKETS.sub(" ", text)))
    # Fewer words beside a triplet in words are an entity name.
    is_more = text != context.text and n_words >= (1 if is_drawn else 4)
    return text.lstrip(" .:").rstrip(" :") if is_more else ""


def texts_of(contexts: Iterable[Context]) -> tuple[str, ...]:
    """The texts of contexts to extract: each passage separately, because other systems retrieve it too; all short
    triplets of a graph as one text, one distinct line each.
    """
    contexts = [context for context in contexts if context.text.strip()]
    lines = dict.fromkeys(context.text for context in contexts if context.kind == "triplet")
    texts = (context.text for context in contexts if context.kind != "triplet")
    return (*texts, "\n".join(lines)) if lines else tuple(texts)
