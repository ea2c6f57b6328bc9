"""A label space: one of several indexes in the only database of Neo4j's Community edition.

Each node has one label, the space's name followed by its kind: `Rag_0123456789abEntity`. Vector and full-text
indexes are per label, so no query of one index can reach a node of another.
"""

import hashlib
import os
import platform
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count as numbers_from
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from harness.core.errors import ServiceUnavailable
from harness.protocols import Vectors
from systems.common.graph_stores.contract import (
    RELATES,
    StatementPiece,
    document_row,
)
from systems.common.graph_stores.entity_name_search import words
from systems.common.graph_stores.neo4j_server import rows_of
from systems.common.knowledge_graph import GraphSize, KnowledgeGraph
from systems.common.vector_index import passage_metadata

if TYPE_CHECKING:
    import neo4j


_NAME = re.compile(r"Rag_[0-9a-f]{12}")
Noun = Literal["Document", "Chunk", "Entity", "Index"]
_NOUNS: tuple[Noun, ...] = ("Index", "Document", "Chunk", "Entity")
# Lucene's defaults (16 and 100, quantised) miss more of the true neighbours; memory is not a limit here.
_HNSW = "`vector.hnsw.m`: 32, `vector.hnsw.ef_construction`: 400, `vector.quantization.enabled`: false"
_WAIT_S = 3600
_MACHINE_ID = Path("/etc/machine-id")


@dataclass(frozen=True)
class Space:
    """A label space. Its name, which is checked, is the only value ever inserted into query text."""

    name: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is not a label space name")

    @classmethod
    def of(cls, folder: Path, number: int = 0) -> "Space":
        """The first space, or a later one, for an index built in `folder` on this machine; the same again after a
        killed build. The same folder on other machines has other spaces on the server.
        """
        named = os.fsencode(folder.resolve()), _machine().encode(), str(number).encode()
        return cls(f"Rag_{hashlib.sha256(bytes(1).join(named)).hexdigest()[:12]}")

    def label(self, noun: Noun) -> str:
        return f"{self.name}{noun}"

    @property
    def vectors(self) -> str:
        return f"{self.name}Vectors"

    @property
    def names(self) -> str:
        """The name of the full-text index over the words of entities' names."""
        return f"{self.name}Names"

    def spelled(self, piece: StatementPiece) -> str:
        """A label or type of a model's statement, restricted to this space.

        The relation of two entities is the type of their edge, so only such an edge has a relation.
        """
        if piece.kind == "type":
            return f":{piece.value}" if piece.value not in {RELATES, ""} else ""
        if piece.kind == "edge":
            condition = f"WHERE {piece.of}.relation IS {'NOT ' if piece.value == RELATES else ''}NULL"
            return condition if piece.value else ""
        labels: tuple[Noun, ...] = ("Document", "Chunk", "Entity")
        return ":" + "|".join(self.label(noun) for noun in labels if piece.value in {noun, ""})

    def rows(
        self, driver: "neo4j.Driver", query: str, *, write: bool = False, **parameters: Any
    ) -> list[list[Any]]:
        """The result of a query with `(c:$Chunk)` and similar labels of this space; see `rows_of`."""
        for noun in _NOUNS:
            query = query.replace(f":${noun}", f":{self.label(noun)}")
        return rows_of(driver, query, write=write, **parameters)


def _machine() -> str:
    """Identifies this machine or container. It cannot be stored: a system may write only to an index's folder,
    which is emptied before each build.
    """
    with suppress(OSError):
        return f"{platform.node()} {_MACHINE_ID.read_text(encoding='utf-8', errors='replace').strip()}"
    return platform.node()


def space_to_write(driver: "neo4j.Driver", folder: Path, own_build: str = "") -> Space:
    """A space for an index of `folder`: its first space without a finished graph, except that of `own_build`. A
    graph that `folder` does not name may belong to a moved folder, or to a container with the same identity.
    """
    spaces = (Space.of(folder, number) for number in numbers_from(0))
    builds = "MATCH (i:$Index) RETURN i.build"
    return next(space for space in spaces if {row[0] for row in space.rows(driver, builds)} <= {own_build})


def drop_space(driver: "neo4j.Driver", space: Space) -> None:
    """Remove the space's nodes, edges, constraints and indexes, if any."""
    for kind, several in (("CONSTRAINT", "CONSTRAINTS"), ("INDEX", "INDEXES")):
        shown = f"SHOW {several} YIELD name WHERE name STARTS WITH $name RETURN name"
        for (name,) in rows_of(driver, shown, name=space.name):
            rows_of(driver, f"DROP {kind} {_own_index_name(space, name)} IF EXISTS", write=True)
    for noun in _NOUNS:
        query = f"MATCH (n:${noun}) CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF 2000 ROWS"
        space.rows(driver, query, write=True)


def _own_index_name(space: Space, name: str) -> str:
    if not re.fullmatch(rf"{space.name}[A-Za-z]+", name):
        raise ValueError(f"{name!r} is not an index of {space.name}")
    return name


def create_keys(driver: "neo4j.Driver", space: Space) -> None:
    """Create the keys that loading uses to find nodes."""
    for noun, key in (("Document", "number"), ("Chunk", "chunk_id"), ("Entity", "entity_id")):
        query = f"CREATE CONSTRAINT {space.name}{noun}Key FOR (n:${noun}) REQUIRE n.{key} IS UNIQUE"
        space.rows(driver, query, write=True)
    for noun in ("Document", "Chunk", "Entity"):
        _await(driver, f"{space.name}{noun}Key")


def create_searches(driver: "neo4j.Driver", space: Space, dimension: int | None) -> None:
    """Create the full-text index and, if there are vectors, the vector index; both are complete on return."""
    # The words are already split. Not eventually consistent, so that names can be found immediately.
    names = f"""
        CREATE FULLTEXT INDEX {space.names} FOR (e:$Entity) ON EACH [e.words] OPTIONS {{ indexConfig: {{
            `fulltext.analyzer`: 'whitespace', `fulltext.eventually_consistent`: false }} }}"""
    space.rows(driver, names, write=True)
    if dimension is not None:
        vectors = f"""
            CREATE VECTOR INDEX {space.vectors} FOR (c:$Chunk) ON c.embedding OPTIONS {{ indexConfig: {{
                `vector.dimensions`: {dimension:d}, `vector.similarity_function`: 'cosine', {_HNSW} }} }}"""
        space.rows(driver, vectors, write=True)
        _await(driver, space.vectors)
    _await(driver, space.names)


def _await(driver: "neo4j.Driver", index: str) -> None:
    rows_of(driver, "CALL db.awaitIndex($index, $seconds)", limit_s=_WAIT_S, index=index, seconds=_WAIT_S)


def count(driver: "neo4j.Driver", space: Space) -> GraphSize:
    counted = [
        space.rows(driver, f"MATCH {pattern} RETURN count(*)")[0][0]
        for pattern in (
            "(:$Document)",
            "(:$Chunk)",
            "(:$Entity)",
            "(:$Entity)-->(:$Entity)",
            "(:$Chunk)-[:MENTIONS]->(:$Entity)",
        )
    ]
    return GraphSize(*counted)


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
    driver: "neo4j.Driver", space: Space, graph: KnowledgeGraph, vectors: Vectors, check: Callable[[], None]
) -> None:
    """Replace the content of the space by the graph; `check` is called between transactions and may raise."""
    drop_space(driver, space)
    _check_types(driver, graph)
    create_keys(driver, space)
    for query, batches in _batches(graph, vectors):
        for rows in batches:
            check()
            space.rows(driver, query, write=True, rows=rows)
    create_searches(driver, space, vectors.shape[1] if graph.chunks else None)
    found, expected = count(driver, space), graph.size
    # Only a concurrent build in the same space can cause this.
    if found != expected:
        raise RuntimeError(f"Neo4j has {found} in {space.name}, but {expected} was written")


def _batches(graph: KnowledgeGraph, vectors: Vectors) -> Iterator[tuple[str, Iterator[list[Any]]]]:
    yield _DOCUMENTS, _sliced([[place, *document_row(item)] for place, item in enumerate(graph.documents)])
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
    degree = graph.degrees
    return [
        [place, item.entity_id, item.name, item.kind, " ".join(words(item.name)), degree[item.entity_id]]
        for place, item in enumerate(graph.entities)
    ]


def _chunk_batches(graph: KnowledgeGraph, vectors: Vectors) -> Iterator[list[list[Any]]]:
    number = {document.doc_id: place for place, document in enumerate(graph.documents)}
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
