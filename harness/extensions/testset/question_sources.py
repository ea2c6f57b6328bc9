"""Where questions of each kind are written, in one fixed order: spread over the documents and drawn by a seed.

No document gets a second question of a kind before every suitable document has had its first; for pairs, as far as
the shared names allow.
"""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from harness.core.records import Document
from harness.extensions.testset.document_dates import date_of
from harness.extensions.testset.excerpts import passages_of, sentences_of
from harness.extensions.testset.shared_entities import Pair
from harness.extensions.testset.types import Excerpt, QuestionKind, QuestionSlot

_ENOUGH = 2
"""Sentences that an excerpt needs for a question."""
_LOOKED_AT = 400
"""How many pairs are searched for the least used documents."""
_PAIR_EXCERPT = 1_000
"""Characters of each of the two excerpts."""


@dataclass(frozen=True)
class WritingSources:
    """What questions can be written from."""

    documents: Sequence[Document]
    pairs: Sequence[Pair]
    """In sampling order; none without questions over two documents."""
    seed: int


def slots_of(kind: QuestionKind, material: WritingSources, most: int) -> list[QuestionSlot]:
    """The first `most` places of a kind, all different; fewer if the documents have no more."""
    if kind in {"single_fact", "unanswerable"}:
        return list(islice(_single(kind, material), most))
    return list(islice(_paired(kind, material), most))


def _single(kind: QuestionKind, material: WritingSources) -> Iterator[QuestionSlot]:
    """Round by round over all documents: first one sentence each, then one of another passage, then further
    sentences. The sentence is prescribed, because a model that may choose asks about the beginning.
    """
    draw = Random(f"{material.seed}/{kind}")  # noqa: S311 - a sample, no secret
    waiting = list(range(len(material.documents)))
    draw.shuffle(waiting)
    left: dict[int, deque[tuple[Excerpt, list[str]]]] = {}
    while waiting:
        again = []
        for place in waiting:
            if place not in left:
                left[place] = _drawn(material.documents[place], draw)
            if left[place]:
                excerpt, sentences = left[place].popleft()
                yield QuestionSlot(kind, (excerpt,), focus=sentences.pop())
                if sentences:
                    left[place].append((excerpt, sentences))
                again.append(place)
        waiting = again


def _drawn(document: Document, draw: Random) -> deque[tuple[Excerpt, list[str]]]:
    """The passages and the sentences of each, both in random order."""
    found = (_excerpt(document, passage) for passage in passages_of(document.text))
    drawn = [(excerpt, draw.sample(excerpt.sentences, len(excerpt.sentences))) for excerpt in found if excerpt]
    draw.shuffle(drawn)
    return deque(drawn)


def _excerpt(document: Document, passage: str) -> Excerpt | None:
    # A sentence repeated within a passage is listed once.
    sentences = tuple(dict.fromkeys(sentences_of(passage)))
    return Excerpt(document, sentences, date_of(document)) if len(sentences) >= _ENOUGH else None


def _paired(kind: QuestionKind, material: WritingSources) -> Iterator[QuestionSlot]:
    """Always the next pair whose documents were used least."""
    draw = Random(f"{material.seed}/{kind}")  # noqa: S311
    waiting = [pair for pair in material.pairs if _suits(kind, pair, material)]
    draw.shuffle(waiting)
    used, links, asked = Counter[int](), Counter[str](), set[tuple[int, int, str]]()
    while waiting:
        best = min(waiting[:_LOOKED_AT], key=lambda pair: _use(pair, used, links))
        waiting.remove(best)
        excerpts = [_around(material.documents[place], best, place) for place in (best.first, best.second)]
        if (best.first, best.second, best.link) in asked or None in excerpts:
            continue
        asked.add((best.first, best.second, best.link))
        used.update((best.first, best.second))
        links[best.link] += 1
        if draw.random() < 0.5:
            excerpts.reverse()
        yield QuestionSlot(kind, tuple(filter(None, excerpts)), best.link)


def _suits(kind: QuestionKind, pair: Pair, material: WritingSources) -> bool:
    if kind == "bridge":
        return pair.is_name
    if kind == "temporal":
        first, second = (date_of(material.documents[place]) for place in (pair.first, pair.second))
        return bool(first and second) and first != second
    return True


def _use(pair: Pair, used: Counter[int], links: Counter[str]) -> tuple[int, int, int]:
    first, second = used[pair.first], used[pair.second]
    return max(first, second), first + second, links[pair.link]


def _around(document: Document, pair: Pair, place: int) -> Excerpt | None:
    """The sentences around the one with the name that links the pair."""
    passage = passages_of(document.text)[pair.passages[place == pair.second]]
    sentences = tuple(dict.fromkeys(sentences_of(passage)))
    if len(sentences) < _ENOUGH:
        return None
    naming = next((at for at, each in enumerate(sentences) if pair.link in each), 0)
    first, last, size = naming, naming, len(sentences[naming])
    while size < _PAIR_EXCERPT and (first > 0 or last < len(sentences) - 1):
        if last < len(sentences) - 1:
            last += 1
            size += len(sentences[last])
        if first > 0 and size < _PAIR_EXCERPT:
            first -= 1
            size += len(sentences[first])
    return Excerpt(document, sentences[first : last + 1], date_of(document))
