"""Answers and references that are names, a phrase or a verdict: not a sentence, so no triplet can be extracted.

Such an answer is a statement only together with its question: (answer, answers, question). Only the answer end of
that triplet is scored (docs/decisions/0014-short-answers-in-kg-eval.md). So

- **names** ("Sam Altman", "Google and Apple", "March 2023") are one entity each;
- **a phrase** without an extracted triplet ("higher interest rates") is one entity;
- **a verdict**: if the answer or the reference is yes or no, both are compared as verdicts. A bare yes or no
  cannot be compared with contexts.

Two verdicts match only if they are equal. A number matches only the same number, with its sign, scale (`1.5
million` is `1,500,000`) and percent; a date also needs the same month. Their embeddings are similar whatever the
values are.
"""

import re
from decimal import Decimal

import numpy as np

from harness.evaluators.answer_normalisation import as_written, canonical, leading_yes_no, normalise
from harness.evaluators.kg.graphs.graph import KgGraph, Pairs

_MOST_WORDS = 12
_SMALL_WORDS = frozenset(["a", "an", "the", "of", "and", "or", "for", "in", "on", "at", "to", "de", "von"])
# "A, B and C", but neither "March 5, 2023" nor "Tyson Foods, Inc."
_BETWEEN = re.compile(
    r",?\s+(?:and|or|&)\s+|\s*;\s*|,\s+(?!\d|(?:inc|ltd|llc|corp|co|jr|sr)\b|\w\.)", re.IGNORECASE
)
_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)", re.IGNORECASE)
_EDGES = " \t.,;:!?\"'()[]*_`"
_MONTHS = (
    *("jan(?:uary)?", "feb(?:ruary)?", "mar(?:ch)?", "apr(?:il)?", "may", "june?", "july?", "aug(?:ust)?"),
    *("sept?(?:ember)?", "oct(?:ober)?", "nov(?:ember)?", "dec(?:ember)?"),
)
_MONTH = f"({'|'.join(_MONTHS)})"
# Only next to a number, because May is also a name.
_DATED = re.compile(rf"\b{_MONTH}(?: of)? (?=\d)|(?<=\d)(?:st|nd|rd|th)?(?: of)? {_MONTH}\b")
_SCALES = {
    **{"k": 3, "thousand": 3, "m": 6, "mn": 6, "million": 6},
    **{"b": 9, "bn": 9, "billion": 9, "tn": 12, "trillion": 12},
}
_WORDS = "|".join(name for name in _SCALES if len(name) > 1)
# A letter is a scale only next to a currency: 100 m may be metres.
_NUMBER = re.compile(
    rf"(-?\d+(?:\.\d+)?)(?: ?((?:{_WORDS})\b|[kmb](?= (?:dollars|euros|pounds)\b)))?( percent\b)?"
)
_Number = tuple[Decimal, bool] | str
"""A value and whether it is a percentage; or the month of a date, by its first three letters."""


def names_in(text: str) -> tuple[str, ...]:
    """The distinct names in an answer that consists only of names; otherwise none."""
    words = _words(text)
    if any(word.islower() and word not in _SMALL_WORDS for word in words):
        return ()
    return tuple(dict.fromkeys(filter(None, map(_bare, _BETWEEN.split(" ".join(words))))))


def phrase_in(text: str) -> tuple[str, ...]:
    """An answer of a few words as one entity; none if it is longer."""
    return tuple(filter(None, [_bare(" ".join(_words(text)))]))


def verdict_of(answer: str) -> str:
    """The yes or no that a text is or begins with; otherwise its words."""
    return leading_yes_no(answer) or canonical(answer)


def strictly_alike(graph: KgGraph, *, verdicts: bool) -> KgGraph:
    """The graph without SIMILAR edges between unequal verdicts, and between a number and a label that lacks it."""
    inputs, contexts = graph.inputs.labels, graph.contexts.labels
    pairs = zip(graph.pairs.inputs.tolist(), graph.pairs.contexts.tolist(), strict=True)
    kept = np.array(
        [
            inputs[one] == contexts[other] if verdicts else _numbers(inputs[one]) <= _numbers(contexts[other])
            for one, other in pairs
        ],
        dtype=bool,
    )
    return KgGraph(graph.inputs, graph.contexts, Pairs(*(column[kept] for column in graph.pairs)))


def _words(text: str) -> list[str]:
    """The words of the text; none if it has several lines or more words than a short answer."""
    said = as_written(text)
    words = said.split()
    return [] if "\n" in said or len(words) > _MOST_WORDS else words


def _bare(name: str) -> str:
    bare = _ARTICLE.sub("", name.strip(_EDGES))
    return bare if any(map(str.isalnum, bare)) else ""


def _numbers(label: str) -> frozenset[_Number]:
    form = normalise(label)
    months = (one or other for one, other in _DATED.findall(form))
    values = (
        (Decimal(digits).scaleb(_SCALES.get(scale, 0)), bool(percent))
        for digits, scale, percent in _NUMBER.findall(form)
    )
    return frozenset([*values, *(month[:3] for month in months)])
