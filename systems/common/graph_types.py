"""Types of a knowledge graph: the merged extractions of all chunks (`harness.extraction.types`)."""

from dataclasses import dataclass

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
