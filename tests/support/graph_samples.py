"""Graphs for tests of graph stores."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from harness.core.records import Context, Document, Span
from harness.protocols import Vectors
from systems.common.chunking import Chunk
from systems.common.graph_stores.contract import GraphStore, StoredTriplet
from systems.common.headings import document_heading, under_heading
from systems.common.knowledge_graph import Entity, KnowledgeGraph, Mention, Relation

Store = TypeVar("Store", bound=GraphStore)
Edge = tuple[str, str, str, tuple[int, ...]]
"""Head, relation, tail, numbers of the chunks that state it."""
EDGES: tuple[Edge, ...] = (
    ("Sam Altman", "LEADS", "OpenAI", (0, 2)),
    ("OpenAI", "PARTNER_OF", "Microsoft", (1,)),
    ("Microsoft", "OWNS", "GitHub", (2, 3)),
    ("OpenAI", "PART_OF", "Silicon Valley", (3,)),
    ("Sam Altman", "MENTIONS", "Microsoft", (0,)),
)
"""Stated by the first four chunks."""


def chunks_of(documents: Sequence[Document], size: int = 1200) -> tuple[Chunk, ...]:
    """Every document cut every `size` characters."""
    return tuple(
        Chunk(
            f"{number:06d}-{start // size:05d}",
            document.text[start : start + size],
            Span(doc_id=document.doc_id, start=start, end=min(start + size, len(document.text))),
            document,
        )
        for number, document in enumerate(documents)
        for start in range(0, len(document.text), size)
    )


def texts(count: int) -> tuple[Chunk, ...]:
    """This number of documents with one chunk each: d0, d1, ..."""
    return chunks_of([Document(doc_id=f"d{number}", text=f"text {number}") for number in range(count)])


def graph(chunks: Sequence[Chunk], edges: Sequence[Edge] = (), names: Sequence[str] = ()) -> KnowledgeGraph:
    """Heads, tails and the other names as entities (id: lower case); the chunks mention heads and tails."""
    ends = {name for head, _, tail, _ in edges for name in (head, tail)}
    by_id = {name.lower(): name for name in sorted(ends | set(names))}
    relations = {
        (head.lower(), relation, tail.lower()): tuple(chunks[place].chunk_id for place in places)
        for head, relation, tail, places in edges
    }
    mentions = {
        (chunk_id, end)
        for (head, _, tail), found in relations.items()
        for chunk_id in found
        for end in (head, tail)
    }
    return KnowledgeGraph(
        chunks=tuple(chunks),
        entities=tuple(Entity(key, by_id[key], "Person") for key in sorted(by_id)),
        relations=tuple(Relation(*key, relations[key]) for key in sorted(relations)),
        mentions=tuple(Mention(*pair) for pair in sorted(mentions)),
    )


def random_graph(chunks: Sequence[Chunk], entities: int, relations: int) -> KnowledgeGraph:
    """Entities `Person 0`, `Person 1`, ..., with edges among them."""
    random = np.random.default_rng(3)
    ends = random.integers(entities, size=(relations, 2)).tolist()
    places = random.integers(len(chunks), size=(relations, 2)).tolist()
    kinds = random.integers(40, size=relations).tolist()
    edges: list[Edge] = [
        (f"Person {head}", f"RELATION_{kind}", f"Person {tail}", tuple(sorted(set(stated))))
        for (head, tail), kind, stated in zip(ends, kinds, places, strict=True)
    ]
    return graph(chunks, edges, [f"Person {number}" for number in range(entities)])


def unit(rows: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> Vectors:
    """Rows of length one."""
    scaled: Vectors = (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)
    return scaled


def directions(count: int, dimension: int = 16, seed: int = 5) -> Vectors:
    """Random unit rows."""
    return unit(np.random.default_rng(seed).normal(size=(count, dimension)))


async def written(store: Store, kept: KnowledgeGraph, dimension: int = 16) -> Store:
    """The store with the graph and random vectors."""
    await store.write(kept, directions(len(kept.chunks), dimension))
    return store


def expected(kept: KnowledgeGraph, entity_ids: list[str]) -> list[StoredTriplet]:
    """The triplets that a store must return, read from the graph."""
    name = {entity.entity_id: entity.name for entity in kept.entities}
    document = {chunk.chunk_id: chunk.span.doc_id for chunk in kept.chunks}
    return [
        StoredTriplet(
            head=name[edge.head_id],
            relation=edge.relation,
            tail=name[edge.tail_id],
            head_id=edge.head_id,
            tail_id=edge.tail_id,
            chunk_ids=edge.chunk_ids,
            doc_ids=tuple(dict.fromkeys(document[chunk_id] for chunk_id in edge.chunk_ids)),
        )
        for edge in kept.relations
        if {edge.head_id, edge.tail_id} & set(entity_ids)
    ]


def passages_of(kept: KnowledgeGraph) -> list[Context]:
    """The passages that a store must return."""
    return [
        Context(
            text=under_heading(document_heading(chunk.document), chunk.text),
            doc_ids=(chunk.span.doc_id,),
            span=chunk.span,
        )
        for chunk in kept.chunks
    ]
