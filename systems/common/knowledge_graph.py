"""A knowledge graph: the merged extractions of all chunks (`harness.extraction.types`)."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from harness.core.records import Document
from harness.extraction.entity_names import entity_id, kind_name, one_line, relation_name
from harness.extraction.types import TextGraph
from systems.common.chunking import Chunk


@dataclass(frozen=True)
class Entity:
    """A node: every spelling that normalises to `entity_id`."""

    entity_id: str
    """The normalised name: `harness.extraction.entity_names.entity_id`."""
    name: str
    """The most frequent spelling, the first one in a tie."""
    kind: str = ""


@dataclass(frozen=True)
class Relation:
    """An edge, and the chunks that state it."""

    head_id: str
    relation: str
    """Normalised: `WORKS_FOR`."""
    tail_id: str
    chunk_ids: tuple[str, ...]
    """In corpus order, without duplicates, never empty."""
    dates: tuple[str, ...] = ()
    """Distinct, as the texts say them, if dates were extracted."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.head_id, self.relation, self.tail_id


@dataclass(frozen=True)
class Mention:
    """A chunk names an entity."""

    chunk_id: str
    entity_id: str


@dataclass(frozen=True)
class GraphSize:
    documents: int
    chunks: int
    entities: int
    relations: int
    mentions: int


@dataclass(frozen=True)
class KnowledgeGraph:
    """The content of a graph store; lists have a fixed order, so the same chunks give the same graph."""

    chunks: tuple[Chunk, ...]
    entities: tuple[Entity, ...]
    """By entity_id, ascending."""
    relations: tuple[Relation, ...]
    """By (head_id, relation, tail_id), ascending; each such triple once."""
    mentions: tuple[Mention, ...]
    """By (chunk_id, entity_id), ascending; each pair once."""
    failed_chunks: int = 0

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """Those that have a chunk, in corpus order."""
        return tuple({chunk.document.doc_id: chunk.document for chunk in self.chunks}.values())

    @cached_property
    def degrees(self) -> Counter[str]:
        """Number of relations of each entity; a relation to itself counts once."""
        return Counter(end for relation in self.relations for end in {relation.head_id, relation.tail_id})

    @property
    def size(self) -> GraphSize:
        return GraphSize(
            documents=len(self.documents),
            chunks=len(self.chunks),
            entities=len(self.entities),
            relations=len(self.relations),
            mentions=len(self.mentions),
        )


def assemble(chunks: Sequence[Chunk], found: Sequence[TextGraph]) -> KnowledgeGraph:
    """The graph of found[i] in chunks[i]; deterministic.

    Names that normalise to the same id are one entity. Heads and tails of triplets are entities that the chunk
    mentions, listed or not. A triplet from an entity to itself, or with an invalid head or tail, is dropped.
    """
    id_of, relation_of = cache(entity_id), cache(relation_name)
    spellings, kinds = defaultdict[str, Counter[str]](Counter), defaultdict[str, Counter[str]](Counter)
    # Dicts as sets in insertion order, which is corpus order.
    stated_by = defaultdict[tuple[str, str, str], dict[str, None]](dict)
    dates = defaultdict[tuple[str, str, str], dict[str, None]](dict)
    mentions: set[tuple[str, str]] = set()

    def mention(chunk_id: str, name: str) -> str:
        """Count the spelling and the mention; returns the entity's id, empty if the name cannot be one."""
        if met := id_of(name):
            spellings[met][name] += 1
            mentions.add((chunk_id, met))
        return met

    for chunk, graph in zip(chunks, found, strict=True):
        for entity in graph.entities:
            if (met := mention(chunk.chunk_id, entity.name)) and entity.kind:
                kinds[met][entity.kind] += 1
        for triplet in graph.triplets:
            head, tail = mention(chunk.chunk_id, triplet.head), mention(chunk.chunk_id, triplet.tail)
            if head and tail and head != tail:
                key = (head, relation_of(triplet.relation), tail)
                stated_by[key][chunk.chunk_id] = None
                dates[key].update(dict.fromkeys(date for dated, date in graph.dates if dated == triplet))
    return KnowledgeGraph(
        chunks=tuple(chunks),
        entities=tuple(
            Entity(
                entity_id=met,
                name=one_line(_most_frequent(spellings[met])),
                kind=kind_name(_most_frequent(kinds[met])) if met in kinds else "",
            )
            for met in sorted(spellings)
        ),
        relations=tuple(
            Relation(*key, chunk_ids=tuple(stated_by[key]), dates=tuple(dates[key])) for key in sorted(stated_by)
        ),
        mentions=tuple(Mention(chunk_id, met) for chunk_id, met in sorted(mentions)),
        failed_chunks=sum(1 for graph in found if graph.failure),
    )


def _most_frequent(counts: Counter[str]) -> str:
    """The first of the most frequent: a dict keeps its order, and max() takes the first."""
    return max(counts, key=counts.__getitem__)
