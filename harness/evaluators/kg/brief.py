"""Answers and references that are names, a phrase or a verdict: no sentence, and so no triplet to read.

Such an answer states something only together with its question: (answer, answers, question). Of that statement
only the answer's end counts. The rest is the same on both sides of every comparison, so that counting it makes a
wrong answer as good as a right one (`scripts/research/check_short_answers.py` shows it). So:

- **names** ("Sam Altman", "Google and Apple", "March 2023") are entities, one each;
- **a phrase** of which no triplet is read ("higher interest rates") is one entity;
- **a verdict**: where the answer or the reference is yes or no, both are held against each other as verdicts. To
  contexts a bare yes or no says nothing.

Two verdicts are alike only if they are equal, and a number only where the same number stands: their vectors are
alike whatever they say.
"""

import re

import numpy as np

from harness.evaluators.kg.graphs.graph import KgGraph
from harness.evaluators.kg.graphs.similar import Pairs
from harness.evaluators.normalise import as_written, canonical, leading_yes_no

_MOST_WORDS = 12
_SMALL_WORDS = frozenset(["a", "an", "the", "of", "and", "or", "for", "in", "on", "at", "to", "de", "von"])
# "A, B and C", but neither "March 5, 2023" nor "Tyson Foods, Inc."
_BETWEEN = re.compile(
    r",?\s+(?:and|or|&)\s+|\s*;\s*|,\s+(?!\d|(?:inc|ltd|llc|corp|co|jr|sr)\b|\w\.)", re.IGNORECASE
)
_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)", re.IGNORECASE)
_EDGES = " \t.,;:!?\"'()[]*_`"
_DIGITS = re.compile(r"\d+(?:\.\d+)?")


def names_in(text: str) -> tuple[str, ...]:
    """The names that an answer consists of, each once; none where other words than names stand in it."""
    words = _words(text)
    if any(word.islower() and word not in _SMALL_WORDS for word in words):
        return ()
    return tuple(dict.fromkeys(filter(None, map(_bare, _BETWEEN.split(" ".join(words))))))


def phrase_in(text: str) -> tuple[str, ...]:
    """An answer of a few words as one entity; nothing where it is longer."""
    return tuple(filter(None, [_bare(" ".join(_words(text)))]))


def verdict_of(answer: str) -> str:
    """The yes or no that a text is or begins with; else its words."""
    return leading_yes_no(answer) or canonical(answer)


def strictly_alike(graph: KgGraph, *, verdicts: bool) -> KgGraph:
    """Without SIMILAR edges between unequal verdicts, and from a number to where it does not stand."""
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
    """None of what has several lines, or more words than an answer in brief."""
    said = as_written(text)
    words = said.split()
    return [] if "\n" in said or len(words) > _MOST_WORDS else words


def _bare(name: str) -> str:
    bare = _ARTICLE.sub("", name.strip(_EDGES))
    return bare if any(map(str.isalnum, bare)) else ""


def _numbers(label: str) -> frozenset[str]:
    return frozenset(_DIGITS.findall(label.replace(",", "")))
