"""Number of questions of each kind that the documents allow. Nothing is paid yet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.core.errors import ConfigError, DataError, nearest
from harness.core.records import Document
from harness.extensions.testset.document_dates import date_of
from harness.extensions.testset.generator import Order
from harness.extensions.testset.question_sources import WritingSources, slots_of
from harness.extensions.testset.shared_entities import MOST_DOCUMENTS, linked_pairs
from harness.extensions.testset.types import KINDS, PAIRED, QuestionKind
from harness.llm_utils.bounded_concurrency import Progress

_TRIES = 3
"""Slots per wanted question: if two of three candidates fail, only a larger model helps."""


@dataclass(frozen=True)
class WantedQuestions:
    """The requested questions."""

    total: int
    """Split evenly over the kinds without a number of their own."""
    kinds: Mapping[QuestionKind, int | None]
    """Kind -> number; None: its share of the total. Empty: every kind that the documents allow."""


@dataclass(frozen=True)
class Orders:
    """The questions to write."""

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
    if kind == "temporal" and sum(bool(date_of(document)) for document in sources.documents) < 2:
        return "no two documents state their date (published_at in their metadata, or a date at the beginning)"
    if not sources.pairs:
        return "no two documents name the same person, place or thing"
    return "no two documents with a shared name are suitable"
