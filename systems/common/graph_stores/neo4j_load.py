"""Loads a graph into its label space."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from harness.core.errors import ServiceUnavailable
from systems.common.graph_stores.contract import degrees, document_row, documents_of, size_of
from systems.common.graph_stores.entity_name_search import words
from systems.common.graph_stores.neo4j_server import rows_of
from systems.common.graph_stores.neo4j_space import Space, count, create_keys, create_searches, drop_space
from systems.common.knowledge_graph import KnowledgeGraph
from systems.common.vector_index import passage_metadata

if TYPE_CHECKING:
    import neo4j

    from harness.protocols import Vectors

_BATCH = 10_000
_CHUNK_BATCH, _CHUNK_BATCH_CHARACTERS = 500, 4_000_000
"""A batch is one transaction, which the server holds in its heap."""
_MOST_TYPES = 60_000
"""Neo4j allows 65,535 relationship types in all indexes together, and never frees one."""
_DOCUMENTS = """
UNWIND $rows AS row CREATE (:$Document {
    number: row[0], doc_id: row[1], title: row[2], source: row[3], published_at: row[4], url: row[5] })
"""
_CHUNKS = """
UNWIND $rows AS row
MATCH (d:$Document {number: row[0]})
CREATE (c:$Chunk {
    chunk_id: row[1], text: row[2], doc_id: row[3], start: row[4], end: row[5], heading: row[6] })-[:PART_OF]->(d)
WITH c, row
CALL db.create.setNodeVectorProperty(c, 'embedding', row[7])
"""
_ENTITIES = """
UNWIND $rows AS row CREATE (:$Entity {
    number: row[0], entity_id: row[1], name: row[2], kind: row[3], words: row[4], degree: row[5] })
"""
_MENTIONS = """
UNWIND $rows AS row
MATCH (c:$Chunk {chunk_id: row[0]})
MATCH (e:$Entity {entity_id: row[1]})
CREATE (c)-[:MENTIONS]->(e)
"""
_RELATIONS = """
UNWIND $rows AS row
MATCH (h:$Entity {entity_id: row[0]})
MATCH (t:$Entity {entity_id: row[2]})
CALL apoc.create.relationship(h, row[4], {relation: row[1], chunk_ids: row[3]}, t) YIELD rel
RETURN count(rel)
"""


def load_space(
    driver: "neo4j.Driver", space: Space, graph: KnowledgeGraph, vectors: "Vectors", check: Callable[[], None]
) -> None:
    """Replace the content of the space by the graph; `check` is called between transactions and may raise."""
    drop_space(driver, space)
    _check_types(driver, graph)
    create_keys(driver, space)
    for query, batches in _batches(graph, vectors):
        for rows in batches:
            check()
            rows_of(driver, space.in_query(query), write=True, rows=rows)
    create_searches(driver, space, vectors.shape[1] if graph.chunks else None)
    found, expected = count(driver, space), size_of(graph)
    # Only a concurrent build in the same space can cause this.
    if found != expected:
        raise RuntimeError(f"Neo4j has {found} in {space.name}, but {expected} was written")


def _batches(graph: KnowledgeGraph, vectors: "Vectors") -> Iterator[tuple[str, Iterator[list[Any]]]]:
    yield _DOCUMENTS, _sliced([[place, *document_row(item)] for place, item in enumerate(documents_of(graph))])
    yield _CHUNKS, _chunk_batches(graph, vectors)
    yield _ENTITIES, _sliced(_entity_rows(graph))
    yield _MENTIONS, _sliced([[item.chunk_id, item.entity_id] for item in graph.mentions])
    yield (
        _RELATIONS,
        _sliced(
            [
                [item.head_id, item.relation, item.tail_id, list(item.chunk_ids), relationship_type(item.relation)]
                for item in graph.relations
            ]
        ),
    )


def _sliced(rows: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(rows), _BATCH):
        yield rows[start : start + _BATCH]


def _entity_rows(graph: KnowledgeGraph) -> list[Any]:
    degree = degrees(graph)
    return [
        [place, item.entity_id, item.name, item.kind, " ".join(words(item.name)), degree[item.entity_id]]
        for place, item in enumerate(graph.entities)
    ]


def _chunk_batches(graph: KnowledgeGraph, vectors: "Vectors") -> Iterator[list[list[Any]]]:
    number = {document.doc_id: place for place, document in enumerate(documents_of(graph))}
    rows: list[list[Any]] = []
    characters = 0
    for chunk, vector in zip(graph.chunks, vectors, strict=True):
        at = passage_metadata(chunk)
        span = [at["doc_id"], at["start"], at["end"], at["heading"]]
        rows.append([number[chunk.span.doc_id], chunk.chunk_id, chunk.text, *span, vector.tolist()])
        characters += len(chunk.text)
        if len(rows) == _CHUNK_BATCH or characters > _CHUNK_BATCH_CHARACTERS:
            yield rows
            rows, characters = [], 0
    if rows:
        yield rows


def relationship_type(relation: str) -> str:
    """The type of an edge: the relation, or `RELATES` if it is not valid in a query.

    The edge's property `relation` always has it.
    """
    return relation if relation and f"_{relation}".isidentifier() and len(relation) <= 100 else "RELATES"


def _check_types(driver: "neo4j.Driver", graph: KnowledgeGraph) -> None:
    known = {row[0] for row in rows_of(driver, "CALL db.relationshipTypes()")}
    needed = known | {relationship_type(relation.relation) for relation in graph.relations}
    if len(needed) > _MOST_TYPES:
        raise ServiceUnavailable(
            f"Neo4j would need {len(needed):,} relationship types and allows 65,535",
            "start an empty server (scripts/neo4j stop --remove, scripts/neo4j start), "
            "or use an extractor with fewer relations",
        )
