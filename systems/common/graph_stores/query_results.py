"""Code shared by both stores."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.core.records import Context, Document
from systems.common.graph_stores.contract import GraphSize, StoredTriplet
from systems.common.graph_types import KnowledgeGraph
from systems.common.vector_index import passage

PASSAGE_COLUMNS = ("chunk_id", "text", "doc_id", "start", "end", "heading")
"""The columns that `in_order` reads, in this order."""
_Edge = tuple[str, str, str, str, str, Sequence[str]]
"""head_id, relation, tail_id, head, tail, chunk_ids."""


def documents_of(graph: KnowledgeGraph) -> list[Document]:
    """The documents that have a chunk, in corpus order."""
    return list({chunk.document.doc_id: chunk.document for chunk in graph.chunks}.values())


def document_row(document: Document) -> tuple[str, str, str, str, str]:
    """doc_id, title, source, published_at, url."""
    source, published_at, url = (document.metadata.get(key, "") for key in ("source", "published_at", "url"))
    return document.doc_id, document.title, source, published_at, url


def degrees(graph: KnowledgeGraph) -> Counter[str]:
    """Number of relations of each entity; a relation to itself counts once."""
    return Counter(end for relation in graph.relations for end in {relation.head_id, relation.tail_id})


def size_of(graph: KnowledgeGraph) -> GraphSize:
    """The counts that a store must report after `write`."""
    return GraphSize(
        documents=len(documents_of(graph)),
        chunks=len(graph.chunks),
        entities=len(graph.entities),
        relations=len(graph.relations),
        mentions=len(graph.mentions),
    )


def in_order(rows: Iterable[Sequence[Any]], chunk_ids: Sequence[str]) -> list[Context]:
    """The passages in rows of `PASSAGE_COLUMNS`, in the given order. KeyError for a passage that is not stored."""
    found = {row[0]: dict(zip(PASSAGE_COLUMNS, row, strict=True)) for row in rows}
    return [passage(found[chunk_id]["text"], found[chunk_id]) for chunk_id in chunk_ids]


def why_unanswered(error: object, timed_out: str, limit_s: float) -> str:
    """A database's error about a statement, for its author: one line of at most 200 characters.

    `timed_out`: the message to use after a timeout.
    """
    said = " ".join(str(error).split())
    return too_late(limit_s) if timed_out in said else said[:200]


def too_late(limit_s: float) -> str:
    """The message for a statement that was not answered in time."""
    return f"no answer within {limit_s:g} s: ask for less"


def mentions(rows: Iterable[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Rows of entity_id and chunk_id by entity; chunk ids are in corpus order when sorted."""
    found: dict[str, list[str]] = {}
    for entity_id, chunk_id in rows:
        found.setdefault(entity_id, []).append(chunk_id)
    return {entity_id: tuple(sorted(chunk_ids)) for entity_id, chunk_ids in found.items()}


def triplets(edges: Iterable[Sequence[Any]], document_of: Mapping[str, str]) -> list[StoredTriplet]:
    """Each distinct edge, by head_id, relation and tail_id; `document_of` maps chunks to documents.

    Sorted here, because databases sort characters differently.
    """
    once: dict[tuple[str, str, str], _Edge] = {(edge[0], edge[1], edge[2]): tuple(edge) for edge in edges}
    return [_triplet(once[key], document_of) for key in sorted(once)]


def _triplet(edge: _Edge, document_of: Mapping[str, str]) -> StoredTriplet:
    head_id, relation, tail_id, head, tail, chunk_ids = edge
    return StoredTriplet(
        head=head,
        relation=relation,
        tail=tail,
        head_id=head_id,
        tail_id=tail_id,
        chunk_ids=tuple(chunk_ids),
        doc_ids=tuple(dict.fromkeys(document_of[chunk_id] for chunk_id in chunk_ids)),
    )
