"""Merges the extractions of all chunks into one graph."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from harness.extraction.entity_names import entity_id, kind_name, one_line, relation_name
from harness.extraction.types import TextGraph
from systems.common.chunking import Chunk
from systems.common.graph_types import Entity, KnowledgeGraph, Mention, Relation


def assemble(chunks: Sequence[Chunk], found: Sequence[TextGraph]) -> KnowledgeGraph:
    """The graph of found[i] in chunks[i]; deterministic.

    Names that normalise to the same id are one entity. Heads and tails of triplets are entities that the chunk
    mentions, listed or not. A triplet from an entity to itself, or with an invalid head or tail, is dropped.
    """
    merged = _GraphBuilder()
    for chunk, graph in zip(chunks, found, strict=True):
        merged.add(chunk.chunk_id, graph)
    return KnowledgeGraph(
        chunks=tuple(chunks),
        entities=merged.entities(),
        relations=merged.relations(),
        mentions=merged.mentions(),
        failed_chunks=sum(1 for graph in found if graph.failure),
    )


class _GraphBuilder:
    """Counts names by entity, and collects chunks by relation."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._relation_names: dict[str, str] = {}
        self._spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
        # A dict as a set in insertion order, which is corpus order.
        self._stated_by: defaultdict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
        self._dates: defaultdict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
        self._mentions: set[tuple[str, str]] = set()

    def add(self, chunk_id: str, graph: TextGraph) -> None:
        """Merge the graph of one chunk; chunks come in corpus order."""
        for entity in graph.entities:
            met = self._count_mention(chunk_id, entity.name)
            if met and entity.kind:
                self._kinds[met][entity.kind] += 1
        for triplet in graph.triplets:
            head = self._count_mention(chunk_id, triplet.head)
            tail = self._count_mention(chunk_id, triplet.tail)
            if head and tail and head != tail:
                key = (head, self._relation(triplet.relation), tail)
                self._stated_by[key][chunk_id] = None
                self._dates[key].update(dict.fromkeys(date for dated, date in graph.dates if dated == triplet))

    def _count_mention(self, chunk_id: str, name: str) -> str:
        """Count the spelling and the mention; returns the entity's id, empty if the name cannot be one."""
        met = self._ids.get(name)
        if met is None:
            met = self._ids[name] = entity_id(name)
        if met:
            self._spellings[met][name] += 1
            self._mentions.add((chunk_id, met))
        return met

    def _relation(self, text: str) -> str:
        name = self._relation_names.get(text)
        if name is None:
            name = self._relation_names[text] = relation_name(text)
        return name

    def entities(self) -> tuple[Entity, ...]:
        """The entities by id."""
        return tuple(
            Entity(
                entity_id=met,
                name=one_line(_most_frequent(self._spellings[met])),
                kind=kind_name(_most_frequent(self._kinds[met])) if met in self._kinds else "",
            )
            for met in sorted(self._spellings)
        )

    def relations(self) -> tuple[Relation, ...]:
        """The relations by head, relation and tail."""
        return tuple(
            Relation(*key, chunk_ids=tuple(self._stated_by[key]), dates=tuple(self._dates[key]))
            for key in sorted(self._stated_by)
        )

    def mentions(self) -> tuple[Mention, ...]:
        """The mentions by chunk and entity."""
        return tuple(Mention(chunk_id, met) for chunk_id, met in sorted(self._mentions))


def _most_frequent(counts: Counter[str]) -> str:
    """The first of the most frequent: a dict keeps its order, and max() takes the first."""
    return max(counts, key=counts.__getitem__)
