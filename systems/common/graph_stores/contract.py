"""The contract of graph stores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from harness.core.records import Context
from systems.common.cypher.statement import ReadStatement
from systems.common.graph_types import KnowledgeGraph

if TYPE_CHECKING:
    from harness.protocols import Vectors


@dataclass(frozen=True)
class GraphSize:
    """Counts of a stored index."""

    documents: int
    chunks: int
    entities: int
    relations: int
    mentions: int


@dataclass(frozen=True)
class EntityHit:
    """An entity found by full-text search."""

    entity_id: str
    name: str
    kind: str
    score: float
    """BM25 score of the search, comparable only within one result."""
    degree: int
    """Number of its relations."""


@dataclass(frozen=True)
class StoredTriplet:
    """An edge as returned by a store."""

    head: str
    """Names, not ids."""
    relation: str
    tail: str
    head_id: str
    tail_id: str
    chunk_ids: tuple[str, ...]
    doc_ids: tuple[str, ...]
    """Documents of the chunks that state it, in the same order, without duplicates."""

    @property
    def ends(self) -> tuple[str, str]:
        """The ids of its entities."""
        return self.head_id, self.tail_id


@dataclass(frozen=True)
class Sources:
    """The sources of stored items."""

    published: Mapping[str, str]
    """doc_id -> date of publication, for documents that have one."""
    owners: Mapping[str, str]
    """chunk_id -> its document."""


class AskFailed(Exception):
    """A database did not answer a statement; the message gives the reason in one line."""


class GraphStore(Protocol):
    """The graph of one index.

    `write` once, then read in any process. Calls may overlap and be cancelled. Texts and names are stored exactly,
    control characters included. Every list has a fixed order, the same in every process.
    """

    async def write(self, graph: KnowledgeGraph, vectors: "Vectors") -> None:
        """Store the graph, replacing the rest of an interrupted build; vectors[i] (normalised) belongs to
        chunks[i].
        """
        ...

    async def find_entities(self, phrase: str, limit: int) -> list[EntityHit]:
        """Entities whose names share words with `phrase`, best first, ties by entity_id.

        `phrase` may be any text: search syntax is treated as text, and a phrase without a word finds nothing.
        """
        ...

    async def entities(self, entity_ids: Sequence[str]) -> list[EntityHit]:
        """The stored entities of these ids, in the given order without duplicates, with score 0."""
        ...

    async def publishers(self) -> list[str]:
        """The distinct publishers in the documents' metadata (`source`), in order."""
        ...

    async def mentions_of(self, entity_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The chunks that mention each of them, in corpus order; entities without a mention are left out."""
        ...

    async def triplets_of(self, entity_ids: Sequence[str]) -> list[StoredTriplet]:
        """Every distinct relation that starts or ends at one of them, by (head_id, relation, tail_id)."""
        ...

    async def nearest_chunks(self, vector: "Vectors", k: int, among: Sequence[str] | None = None) -> list[Context]:
        """The k nearest passages by cosine, best first, ties in corpus order, as `PassageIndex.search`; with
        `among`, only of these stored chunks.
        """
        ...

    async def chunks(self, chunk_ids: Sequence[str]) -> list[Context]:
        """These passages, in the given order, without scores. KeyError for a passage that is not stored."""
        ...

    async def sources(self, doc_ids: Sequence[str], chunk_ids: Sequence[str]) -> Sources:
        """The sources of these stored documents and chunks."""
        ...

    async def ask(self, statement: ReadStatement, limit_s: float) -> list[list[Any]]:
        """The rows of a statement, in order.

        It runs read-only for at most `limit_s` seconds. Raises AskFailed if the database rejects it or exceeds the
        time.
        """
        ...

    async def size(self) -> GraphSize:
        """Counts of what is stored."""
        ...

    def close(self) -> None:
        """Release files and connections; may be called twice."""
        ...
