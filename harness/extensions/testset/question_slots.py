"""Where questions of each kind are written, in one fixed order: spread over the documents and drawn by a seed.

No document gets a second question of a kind before every suitable document has had its first; for pairs, as far as
the shared names allow.
"""

import asyncio
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice, pairwise
from random import Random

from harness.core.errors import ConfigError, DataError, nearest
from harness.core.records import Document
from harness.extensions.testset.documents import date_of, passages_of, sentences_of
from harness.extensions.testset.generator import Order
from harness.extensions.testset.question_records import KINDS, PAIRED, Excerpt, QuestionKind, QuestionSlot
from harness.extraction.entity_names import entity_id
from harness.extraction.nlp import NlpExtractor
from harness.llm_utils.concurrency import Progress

MOST_DOCUMENTS = 400
"""Number of documents that are parsed for shared entities, sampled with the seed: minutes of one core, with far
more pairs than questions."""
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
    """The passage of each document that contains the name."""
    is_name: bool
    """Whether the name is of a known kind, not a concept such as `interest rate`."""


async def linked_pairs(documents: Sequence[Document], seed: int, progress: Progress) -> list[Pair]:
    """Pairs of documents that share a name, in an order drawn by `seed`; two documents that share several names
    form several pairs. MissingDependency: no parser is installed.
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


@dataclass(frozen=True)
class WritingSources:
    documents: Sequence[Document]
    pairs: Sequence[Pair]
    """In sampling order; none without questions over two documents."""
    seed: int

    @cached_property
    def dates(self) -> list[str]:
        return [date_of(document) for document in self.documents]


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
    drawn, date = [], date_of(document)
    for passage in passages_of(document.text):
        # A sentence repeated within a passage is listed once.
        sentences = tuple(dict.fromkeys(sentences_of(passage)))
        if len(sentences) >= _ENOUGH:
            excerpt = Excerpt(document, sentences, date)
            drawn.append((excerpt, draw.sample(sentences, len(sentences))))
    draw.shuffle(drawn)
    return deque(drawn)


def _paired(kind: QuestionKind, material: WritingSources) -> Iterator[QuestionSlot]:
    """Always the next pair whose documents were used least."""
    draw = Random(f"{material.seed}/{kind}")  # noqa: S311
    waiting = [pair for pair in material.pairs if _suits(kind, pair, material)]
    draw.shuffle(waiting)
    used, links, asked = Counter[int](), Counter[str](), set[tuple[int, int, str]]()

    def use(pair: Pair) -> tuple[int, int, int]:
        first, second = used[pair.first], used[pair.second]
        return max(first, second), first + second, links[pair.link]

    while waiting:
        best = min(waiting[:_LOOKED_AT], key=use)
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
        first, second = material.dates[pair.first], material.dates[pair.second]
        return bool(first and second) and first != second
    return True


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


@dataclass(frozen=True)
class WantedQuestions:
    total: int
    """Split evenly over the kinds without a number of their own."""
    kinds: Mapping[QuestionKind, int | None]
    """Kind -> number; None: its share of the total. Empty: every kind that the documents allow."""


@dataclass(frozen=True)
class Orders:
    orders: tuple[Order, ...]
    notes: tuple[str, ...]
    """Kinds that these documents do not allow, and why."""


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
    documents: Sequence[Document], wanted: WantedQuestions, seed: int, progress: Progress
) -> Orders:
    """Orders for each kind that can be written. DataError: the documents hold nothing to ask about; ConfigError:
    the documents allow none of the requested kinds. MissingDependency: see `linked_pairs`.
    """
    kinds = list(wanted.kinds) or list(KINDS)
    if not any(document.text.strip() for document in documents):
        raise DataError("the documents hold no text", "name a folder with texts")
    pairs = await linked_pairs(documents, seed, progress) if PAIRED & set(kinds) and len(documents) > 1 else []
    sources = WritingSources(documents, pairs, seed)
    possible, notes = [], []
    for kind in kinds:
        number = wanted.kinds.get(kind) or wanted.total
        if sites := slots_of(kind, sources, _TRIES * number):
            possible.append((kind, sites))
        else:
            notes.append(f"no {kind} questions: {_why_not(kind, sources)}")
    if not possible:
        raise ConfigError("; ".join(notes), "name other kinds or other documents")
    if PAIRED & set(kinds) and len(documents) > MOST_DOCUMENTS:
        notes.append(
            f"shared names were searched in {MOST_DOCUMENTS} of {len(documents):,} documents, drawn by the seed"
        )
    counts = _counts({kind: len(sites) for kind, sites in possible}, wanted)
    notes += [
        f"{counts[kind]} {kind} questions at most: the documents have no more places for them"
        for kind, _ in possible
        if counts[kind] < (wanted.kinds.get(kind) or 0)
    ]
    if not wanted.kinds and sum(counts.values()) < wanted.total:
        notes.append(f"{sum(counts.values())} questions at most: the documents have no more places for them")
    orders = [
        Order(kind, counts[kind], sites[: _TRIES * counts[kind]]) for kind, sites in possible if counts[kind]
    ]
    return Orders(tuple(orders), tuple(notes))


def _counts(places: Mapping[QuestionKind, int], wanted: WantedQuestions) -> dict[QuestionKind, int]:
    """As many of each kind as wanted, limited by its places; the rest is shared by other kinds."""
    counts = {kind: min(wanted.kinds.get(kind) or 0, most) for kind, most in places.items()}
    sharing = [kind for kind in places if not wanted.kinds.get(kind)]
    left = wanted.total if sharing else 0
    while left and sharing:
        part, more = divmod(left, len(sharing))
        for number, kind in enumerate(tuple(sharing)):
            taken = min(part + (number < more), places[kind] - counts[kind])
            counts[kind] += taken
            left -= taken
        sharing = [kind for kind in sharing if counts[kind] < places[kind]]
    return counts


def _why_not(kind: QuestionKind, sources: WritingSources) -> str:
    if kind not in PAIRED:
        return "no document has two sentences"
    if len(sources.documents) < 2:
        return "they need two documents, and there is one"
    if kind == "temporal" and sum(map(bool, sources.dates)) < 2:
        return "no two documents state their date (published_at in their metadata, or a date at the beginning)"
    if not sources.pairs:
        return "no two documents name the same person, place or thing"
    return "no two documents with a shared name are suitable"
