"""Where questions of each kind are written, in a fixed order drawn by a seed. No document gets a second question
of a kind before every suitable document has had its first; for pairs, as far as the shared names allow.
"""

import asyncio
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice, pairwise
from random import Random

from harness.core.errors import ConfigError, DataError, nearest
from harness.core.records import Document
from harness.extensions.testset.documents import date_of, passages_of, sentences_of
from harness.extensions.testset.question_records import KINDS, PAIRED, Excerpt, QuestionKind, QuestionSlot
from harness.extraction.entity_names import entity_id
from harness.extraction.nlp import NlpExtractor
from harness.llm_utils.concurrency import Progress

MOST_DOCUMENTS = 400
"""Documents that are parsed for shared names, sampled with the seed: minutes of one core."""
_MOST_PASSAGES = 12
"""Per document."""
_COMMON = 0.25
"""Entities in a larger share of the documents link nothing in particular, unless few documents have them."""
_SHARED_BY_FEW = 5
_MOST_PAIRS = 20_000
_VALUES = frozenset({"Date", "Money"})

_ENOUGH = 2
"""Sentences that an excerpt needs for a question."""
_LOOKED_AT = 400
"""How many pairs are searched for the least used documents."""
_PAIR_EXCERPT = 1_000
"""Characters of each of the two excerpts."""

_TRIES = 3
"""Slots per wanted question: if two of three candidates fail, only a larger model helps."""


@dataclass(frozen=True)
class Order:
    kind: QuestionKind
    wanted: int
    slots: Sequence[QuestionSlot]


@dataclass
class _Named:
    name: str
    kind: str
    at: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Pair:
    """Two documents, by their positions in the corpus, and a name that both contain."""

    first: int
    second: int
    link: str
    passages: tuple[int, int]
    """The number of the passage with the name in each document."""
    is_name: bool
    """Whether the name is of a known kind, not a concept such as `interest rate`."""


async def linked_pairs(documents: Sequence[Document], seed: int, progress: Progress) -> list[Pair]:
    """Pairs of documents that share a name, in an order drawn by `seed`; several shared names form several pairs.
    MissingDependency: no parser is installed.
    """
    draw = Random(f"{seed}/links")  # noqa: S311 - a sample, no secret
    chosen = sorted(draw.sample(range(len(documents)), min(len(documents), MOST_DOCUMENTS)))
    passages = {place: passages_of(documents[place].text)[:_MOST_PASSAGES] for place in chosen}
    places = [(place, number) for place in chosen for number in range(len(passages[place]))]
    graphs = await NlpExtractor(pipeline=None, progress=progress).extract([passages[at][n] for at, n in places])
    named: dict[str, _Named] = {}
    for (place, number), graph in zip(places, graphs, strict=True):
        for entity in graph.entities:
            if entity.kind not in _VALUES and (found := entity_id(entity.name)):
                one = named.setdefault(found, _Named(entity.name, entity.kind))
                one.kind = one.kind or entity.kind
                one.at.setdefault(place, number)
    await asyncio.to_thread(_look_closer, named.values(), passages)
    most = max(_SHARED_BY_FEW, int(_COMMON * len(chosen)))
    pairs = [pair for one in named.values() if 2 <= len(one.at) <= most for pair in _pairs(one, draw)]
    draw.shuffle(pairs)
    return pairs[:_MOST_PAIRS]


def _look_closer(named: Iterable[_Named], passages: Mapping[int, Sequence[str]]) -> None:
    """Find names that the parser tagged differently, letter by letter, in every document."""
    texts = {place: "\n".join(parts) for place, parts in passages.items()}
    for one in named:
        if not any(map(str.isupper, one.name)):
            continue
        whole = re.compile(rf"(?<!\w){re.escape(one.name)}(?!\w)")
        for place, text in texts.items():
            if place not in one.at and one.name in text and whole.search(text):
                one.at[place] = next((at for at, part in enumerate(passages[place]) if one.name in part), 0)


def _pairs(one: _Named, draw: Random) -> list[Pair]:
    """All pairs if the documents are few; else each with the next one in a drawn order."""
    around = list(one.at)
    draw.shuffle(around)
    if len(around) <= _SHARED_BY_FEW:
        beside = list(combinations(around, 2))
    else:
        beside = [*pairwise(around), (around[-1], around[0])]
    is_name = bool(one.kind) and (one.kind != "Concept" or any(map(str.isupper, one.name)))
    ordered = [(min(two), max(two)) for two in beside]
    return [Pair(first, second, one.name, (one.at[first], one.at[second]), is_name) for first, second in ordered]


def slots_of(
    kind: QuestionKind, documents: Sequence[Document], pairs: Sequence[Pair], seed: int, most: int
) -> list[QuestionSlot]:
    """The first `most` places of a kind, all different; fewer if the documents have no more."""
    draw = Random(f"{seed}/{kind}")  # noqa: S311 - a sample, no secret
    found = _paired(kind, documents, pairs, draw) if kind in PAIRED else _single(kind, documents, draw)
    return list(islice(found, most))


def _single(kind: QuestionKind, documents: Sequence[Document], draw: Random) -> Iterator[QuestionSlot]:
    """Round by round over all documents, of each a new passage as long as there is one. The sentence is
    prescribed, because a model that may choose asks about the beginning.
    """
    waiting = list(range(len(documents)))
    draw.shuffle(waiting)
    left: dict[int, deque[tuple[Excerpt, list[str]]]] = {}
    while waiting:
        again = []
        for place in waiting:
            if place not in left:
                left[place] = _drawn(documents[place], draw)
            if left[place]:
                excerpt, sentences = left[place].popleft()
                yield QuestionSlot(kind, (excerpt,), focus=sentences.pop())
                if sentences:
                    left[place].append((excerpt, sentences))
                again.append(place)
        waiting = again


def _drawn(document: Document, draw: Random) -> deque[tuple[Excerpt, list[str]]]:
    """The passages and the sentences of each, both in random order."""
    drawn, date = [], date_of(document)
    for passage in passages_of(document.text):
        # A sentence repeated within a passage is listed once.
        sentences = tuple(dict.fromkeys(sentences_of(passage)))
        if len(sentences) >= _ENOUGH:
            excerpt = Excerpt(document, sentences, date)
            drawn.append((excerpt, draw.sample(sentences, len(sentences))))
    draw.shuffle(drawn)
    return deque(drawn)


def _paired(
    kind: QuestionKind, documents: Sequence[Document], pairs: Sequence[Pair], draw: Random
) -> Iterator[QuestionSlot]:
    """Always the next pair whose documents were used least."""
    waiting = _suitable(kind, documents, pairs)
    draw.shuffle(waiting)
    used, links, asked = Counter[int](), Counter[str](), set[tuple[int, int, str]]()

    def use(pair: Pair) -> tuple[int, int, int]:
        first, second = used[pair.first], used[pair.second]
        return max(first, second), first + second, links[pair.link]

    while waiting:
        best = min(waiting[:_LOOKED_AT], key=use)
        waiting.remove(best)
        excerpts = [_around(documents[place], best, place) for place in (best.first, best.second)]
        if (best.first, best.second, best.link) in asked or None in excerpts:
            continue
        asked.add((best.first, best.second, best.link))
        used.update((best.first, best.second))
        links[best.link] += 1
        if draw.random() < 0.5:
            excerpts.reverse()
        yield QuestionSlot(kind, tuple(filter(None, excerpts)), best.link)


def _suitable(kind: QuestionKind, documents: Sequence[Document], pairs: Sequence[Pair]) -> list[Pair]:
    if kind == "bridge":
        return [pair for pair in pairs if pair.is_name]
    if kind == "temporal":
        dates = list(map(date_of, documents))
        days = ((pair, dates[pair.first], dates[pair.second]) for pair in pairs)
        return [pair for pair, first, second in days if first and second and first != second]
    return list(pairs)


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


def parse_kinds(words: Sequence[str]) -> dict[QuestionKind, int | None]:
    """`bridge` or `bridge=10` as a mapping; raises ConfigError for anything else."""
    found: dict[QuestionKind, int | None] = {}
    for word in words:
        name, equals, number = word.partition("=")
        kind = next((one for one in KINDS if one == name.strip()), None)
        if kind is None:
            raise ConfigError(f"no kind of questions '{name}'", nearest(name, KINDS))
        if equals and not (number.isdecimal() and 0 < int(number) <= 100_000):
            raise ConfigError(f"--kind {word}", "write a number, such as --kind bridge=10")
        found[kind] = int(number) if equals else None
    return found


async def plan_orders(
    documents: Sequence[Document],
    total: int,
    wanted: Mapping[QuestionKind, int | None],
    seed: int,
    progress: Progress,
) -> tuple[list[Order], list[str]]:
    """An order for each kind that can be written, and notes on kinds that these documents do not allow.

    `wanted`: kind -> number; None: its share of the `total`. Empty: every kind. DataError: the documents hold
    nothing to ask about; ConfigError: they allow none of the wanted kinds. MissingDependency: see `linked_pairs`.
    """
    kinds = list(wanted) or list(KINDS)
    if not any(document.text.strip() for document in documents):
        raise DataError("the documents hold no text", "name a folder with texts")
    is_paired = not PAIRED.isdisjoint(kinds)
    pairs = await linked_pairs(documents, seed, progress) if is_paired and len(documents) > 1 else []
    places: dict[QuestionKind, list[QuestionSlot]] = {}
    notes = []
    for kind in kinds:
        if slots := slots_of(kind, documents, pairs, seed, _TRIES * (wanted.get(kind) or total)):
            places[kind] = slots
        else:
            notes.append(f"no {kind} questions: {_why_not(kind, documents, pairs)}")
    if not places:
        raise ConfigError("; ".join(notes), "name other kinds or other documents")
    if is_paired and len(documents) > MOST_DOCUMENTS:
        notes.append(
            f"shared names were searched in {MOST_DOCUMENTS} of {len(documents):,} documents, drawn by the seed"
        )
    counts = _counts({kind: len(slots) for kind, slots in places.items()}, total, wanted)
    limited = [f"{n} {kind}" for kind, n in counts.items() if n < (wanted.get(kind) or 0)]
    if not wanted and sum(counts.values()) < total:
        limited.append(str(sum(counts.values())))
    notes += [f"{one} questions at most: the documents have no more places for them" for one in limited]
    return [Order(kind, n, places[kind][: _TRIES * n]) for kind, n in counts.items() if n], notes


def _counts(
    places: Mapping[QuestionKind, int], total: int, wanted: Mapping[QuestionKind, int | None]
) -> dict[QuestionKind, int]:
    """As many of each kind as wanted, limited by its places; the other kinds share the total."""
    counts = {kind: min(wanted.get(kind) or 0, most) for kind, most in places.items()}
    sharing = [kind for kind in places if not wanted.get(kind)]
    left = total if sharing else 0
    while left and sharing:
        part, more = divmod(left, len(sharing))
        for number, kind in enumerate(tuple(sharing)):
            taken = min(part + (number < more), places[kind] - counts[kind])
            counts[kind] += taken
            left -= taken
        sharing = [kind for kind in sharing if counts[kind] < places[kind]]
    return counts


def _why_not(kind: QuestionKind, documents: Sequence[Document], pairs: Sequence[Pair]) -> str:
    if kind not in PAIRED:
        return "no document has two sentences"
    if len(documents) < 2:
        return "they need two documents, and there is one"
    if kind == "temporal" and sum(map(bool, map(date_of, documents))) < 2:
        return "no two documents state their date (published_at in their metadata, or a date at the beginning)"
    if not pairs:
        return "no two documents name the same person, place or thing"
    return "no two documents with a shared name are suitable"
