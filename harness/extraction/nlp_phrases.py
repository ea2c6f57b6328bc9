"""Names, concepts and values of a parsed text: the entities of the `nlp` extractor.

Labels are those of spaCy's English pipelines: OntoNotes entities, universal parts of speech.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from harness.core.records import Triplet
from harness.extraction.entity_names import entity_id

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token


_FARTHEST = 6
"""Most words between two phrases that are linked."""
_SAYING = frozenset({"VERB", "AUX", "ADP", "PART", "ADV", "SCONJ"})
_BEFORE = frozenset({"DET", "PRON", "PUNCT", "SPACE"})


def chains_of(sentence: "Span") -> Iterator[Triplet]:
    """Neighbouring noun phrases in the order of the text: `interest rates`, `rise in`, `March`."""
    phrases = [phrase for chunk in sentence.noun_chunks if (phrase := _without_articles(chunk))]
    for one, other in pairwise(phrases):
        between = sentence.doc[one.end : other.start]
        if len(between) <= _FARTHEST and one.text.casefold() != other.text.casefold():
            words = (token.lemma_.lower() for token in between if token.pos_ in _SAYING)
            yield Triplet(one.text, " ".join(words) or "with", other.text)


def _without_articles(chunk: "Span") -> "Span | None":
    """Without leading articles, possessives and question words; None for a pronoun."""
    start = chunk.start
    while start < chunk.end and (
        chunk.doc[start].pos_ in _BEFORE or chunk.doc[start].tag_ in {"WP", "WDT", "WP$"}
    ):
        start += 1
    phrase = chunk.doc[start : chunk.end]
    return phrase if entity_id(phrase.text) else None


Sort = Literal["name", "concept", "value", "description"]
"""A proper name; a compound of common nouns (`interest rate`); a date or an amount of money; a common noun with
its adjectives (`new feature`), which is not an entity alone.
"""
_NAMES = {
    "PERSON": "Person",
    "ORG": "Organisation",
    "GPE": "Place",
    "LOC": "Place",
    "FAC": "Place",
    "NORP": "Group",
    "PRODUCT": "Product",
    "EVENT": "Event",
    "WORK_OF_ART": "Work",
    "LAW": "Law",
}
_MONTH = r"\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\b\.?"
# A date that means the same everywhere; a bare year would connect everything that happened in it.
_DATE = re.compile(rf"{_MONTH},? \d|\d(?:st|nd|rd|th)?,? (?:of )?{_MONTH}|\d{{4}}-\d\d", re.IGNORECASE)
_MONEY = re.compile(r"[$\u20ac\u00a3\u00a5] ?\d|\d.* (?:dollars|euros|pounds|million|billion|trillion)")
_TITLE_WORDS = """
ceo cfo cto coo chairman chairwoman president director manager judge coach captain mr mrs ms dr prof sir
"""
_TITLES = frozenset(_TITLE_WORDS.split())
"""Titles that precede a name."""


@dataclass(frozen=True)
class Phrase:
    """Consecutive tokens that form one name, concept or value."""

    text: str
    sort: Sort
    kind: str
    """Such as Person; empty for a proper name without a recognised kind."""
    start: int
    """The first token."""
    end: int
    """The token after the last."""

    @property
    def recognised(self) -> bool:
        """Whether spaCy's entity recogniser knows the kind of the name."""
        return self.sort == "name" and bool(self.kind)


def phrases_of(doc: "Doc") -> dict[int, Phrase]:
    """The phrase of each token that is part of one; phrases do not overlap."""
    found: dict[int, Phrase] = {}
    for phrase in (*_recognised(doc), *_from_noun_chunks(doc)):
        tokens = range(phrase.start, phrase.end)
        if found.keys().isdisjoint(tokens) and entity_id(phrase.text):
            found |= dict.fromkeys(tokens, phrase)
    return found


def _recognised(doc: "Doc") -> Iterator[Phrase]:
    """The recogniser's names, and its dates and amounts if they are meaningful alone."""
    for span in doc.ents:
        label = span.label_
        if label in _NAMES and _is_name(span):
            # Without the leading article and possessives, and the trailing possessive and punctuation.
            start, end = span.start, span.end
            while start < end - 1 and doc[start].pos_ in _BEFORE:
                start += 1
            while end > start + 1 and doc[end - 1].pos_ in {"PART", "PUNCT", "SPACE"}:
                end -= 1
            yield _phrase(doc, start, end, "name", _NAMES[label])
        elif label == "DATE" and _DATE.search(span.text):
            yield _phrase(doc, span.start, span.end, "value", "Date")
        elif label == "MONEY" and _MONEY.search(span.text):
            yield _phrase(doc, span.start, span.end, "value", "Money")


def _is_name(span: "Span") -> bool:
    """Not a title alone, nor as long as a headline or a list."""
    if len(span) == 1 and _is_title(span[0]):
        return False
    return len(span) <= 8 and any(token.pos_ == "PROPN" for token in span)


def _from_noun_chunks(doc: "Doc") -> Iterator[Phrase]:
    """Proper names that the recogniser missed, and compounds of at least two common nouns."""
    for chunk in doc.noun_chunks:
        root = chunk.root
        if root.ent_type_:
            continue
        start = _compound_start(doc, root.i, chunk.start)
        if root.pos_ == "PROPN" and (start < root.i or _is_proper(root)):
            yield _phrase(doc, start, root.i + 1, "name", "")
        elif root.pos_ == "NOUN" and start < root.i:
            yield _phrase(doc, start, root.i + 1, "concept", "Concept")
        elif root.pos_ == "NOUN" and (start := _start(doc, root.i, chunk.start, _is_adjective)) < root.i:
            yield _phrase(doc, start, root.i + 1, "description", "Concept")


def _start(doc: "Doc", root: int, first: int, belongs: "Callable[[Token], bool]") -> int:
    """Where the words before the root that belong to it begin."""
    while root > first and belongs(doc[root - 1]):
        root -= 1
    return root


def _compound_start(doc: "Doc", root: int, first: int) -> int:
    """Where the nouns before the root begin; half of a hyphenated word (12-yard pass) is left out."""
    start = _start(doc, root, first, _is_noun)
    while start < root and start > 0 and not doc[start - 1].whitespace_ and not doc[start - 1].is_quote:
        start += 1
    return start


def _is_noun(token: "Token") -> bool:
    return token.pos_ in {"NOUN", "PROPN"} and not token.ent_type_ and token.text[0].isalnum()


def _is_adjective(token: "Token") -> bool:
    return token.dep_ == "amod" and token.is_alpha and not token.is_stop


def _is_proper(token: "Token") -> bool:
    """A single word is a name if it is written like one: `ChatGPT` and `iPhone`, not `hamstring` or `No`."""
    word = token.text
    return len(word) > 1 and word.isalnum() and not (word.islower() or token.is_stop or _is_title(token))


def _is_title(token: "Token") -> bool:
    return token.lower_.rstrip(".") in _TITLES


def _phrase(doc: "Doc", start: int, end: int, sort: Sort, kind: str) -> Phrase:
    return Phrase(doc[start:end].text, sort, kind, start, end)
