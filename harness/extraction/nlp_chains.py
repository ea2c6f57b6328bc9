"""Links every noun phrase of a sentence to the next by the words between them.

A corpus graph does not need phrases such as `the right answer`: its statements are about names. But a question or
a one-sentence answer often has no name, and would have no triplet.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from harness.core.records import Triplet
from harness.extraction.entity_names import entity_id

if TYPE_CHECKING:
    from spacy.tokens import Span

_FARTHEST = 6
"""Two phrases with at least this many words between them are not linked."""
_SAYING = frozenset({"VERB", "AUX", "ADP", "PART", "ADV", "SCONJ"})
_BEFORE = frozenset({"DET", "PRON", "PUNCT", "SPACE"})


def chains_of(sentence: "Span") -> Iterator[Triplet]:
    """Neighbouring noun phrases in the order of the text: `interest rates`, `rise in`, `March`."""
    phrases = [phrase for chunk in sentence.noun_chunks if (phrase := _trimmed(chunk))]
    for one, other in pairwise(phrases):
        between = sentence.doc[one.end : other.start]
        if len(between) <= _FARTHEST and one.text.casefold() != other.text.casefold():
            words = (token.lemma_.lower() for token in between if token.pos_ in _SAYING)
            yield Triplet(one.text, " ".join(words) or "with", other.text)


def _trimmed(chunk: "Span") -> "Span | None":
    """Without leading articles, possessives and question words; None for a pronoun."""
    start = chunk.start
    while start < chunk.end and (
        chunk.doc[start].pos_ in _BEFORE or chunk.doc[start].tag_ in {"WP", "WDT", "WP$"}
    ):
        start += 1
    phrase = chunk.doc[start : chunk.end]
    return phrase if entity_id(phrase.text) else None
