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
    """An entity that full-text search found."""

    entity_id: str
    name: str
    kind: str
    score: float
    """The search's own (BM25 in both stores): comparable within one answer only."""
    degree: int
    """Number of its relations."""


@dataclass(frozen=True)
class StoredTriplet:
    """An edge as it comes back."""

    head: str
    """Names, not ids."""
    relation: str
    tail: str
    head_id: str
    tail_id: str
    chunk_ids: tuple[str, ...]
    doc_ids: tuple[str, ...]
    """Of the chunks that state it, in the same order, each once."""


@dataclass(frozen=True)
class Sources:
    """Where stored things come from."""

    published: Mapping[str, str]
    """doc_id -> date of publication, from the metadata; without those that have none."""
    owners: Mapping[str, str]
    """By chunk_id, the document that it is of."""


class AskFailed(Exception):
    """A database did not answer a statement; the message says why in one line."""


class GraphStore(Protocol):
    """One index's graph. `write` once, then in any process: find. Calls may overlap and may be cancelled.

    Texts and names come back to the letter, control characters included.

    Every list comes in a fixed order: the same store gives the same answer twice, in any process.
    """

    async def write(self, graph: KnowledgeGraph, vectors: "Vectors") -> None:
        """Store the graph, replacing what an interrupted build left; vectors[i] (normalised) belongs to
        chunks[i].
        """
        ...

    async def find_entities(self, phrase: str, limit: int) -> list[EntityHit]:
        """Entities whose names share words with `phrase`, best first, equal scores by entity_id.

        `phrase` may be any text: search syntax is treated as text, and without a word nothing is found.
        """
        ...

    async def entities(self, entity_ids: Sequence[str]) -> list[EntityHit]:
        """Those of these ids that are stored, in the order asked for, each once, with a score of 0."""
        ...

    async def publishers(self) -> list[str]:
        """Who published the documents, as far as their metadata say (`source`), each once, in order."""
        ...

    async def mentions_of(self, entity_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The chunks that mention each of them, in corpus order; an entity that none mentions is left out."""
        ...

    async def triplets_of(self, entity_ids: Sequence[str]) -> list[StoredTriplet]:
        """Every relation that starts or ends at one of them, by (head_id, relation, tail_id), each once."""
        ...

    async def nearest_chunks(self, vector: "Vectors", k: int, among: Sequence[str] | None = None) -> list[Context]:
        """The k passages nearest by cosine, best first, equal scores in corpus order, as `PassageIndex.search`;
        with `among`, of these chunks alone, which are stored.
        """
        ...

    async def chunks(self, chunk_ids: Sequence[str]) -> list[Context]:
        """These passages, in the order asked for, without score. KeyError for one that is not stored."""
        ...

    async def sources(self, doc_ids: Sequence[str], chunk_ids: Sequence[str]) -> Sources:
        """Of these documents and chunks, those that are stored, and the documents of these chunks."""
        ...

    async def ask(self, statement: ReadStatement, limit_s: float) -> list[list[Any]]:
        """The rows of a statement, in its order. It runs read-only and for at most `limit_s` seconds.

        Raises AskFailed if the database refuses it or does not answer in time.
        """
        ...

    async def size(self) -> GraphSize:
        """Counts of what is stored."""
        ...

    def close(self) -> None:
        """Release files and connections; may be called twice."""
        ...
