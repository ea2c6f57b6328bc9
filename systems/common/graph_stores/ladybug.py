"""A graph in the process: Ladybug for nodes and edges, Chroma for passages, SQLite for entity names."""

import shutil
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import need
from harness.core.records import Context
from systems.common.cypher.statement import ReadStatement, StatementPiece
from systems.common.graph_stores.contract import EntityHit, GraphSize, Sources, StoredTriplet
from systems.common.graph_stores.entity_name_search import entities_by_id, find_names, open_names, store_names
from systems.common.graph_stores.ladybug_asking import AskingProcesses
from systems.common.graph_stores.ladybug_files import load_graph
from systems.common.graph_stores.ladybug_process import graph_database, rows_of
from systems.common.graph_stores.query_results import degrees, in_order, mentions, triplets
from systems.common.graph_stores.threaded_calls import Calls
from systems.common.graph_types import KnowledgeGraph
from systems.common.vector_index import PassageIndex

if TYPE_CHECKING:
    from harness.protocols import Vectors

_PASSAGES, _NAMES, _GRAPH, _UNFINISHED = "passages", "entities.sqlite", "graph.lbug", "unfinished"
_CLOSE_S = 15.0
# One query per entity finds its edges by key in 0.2 ms; `IN` over several reads the whole table.
_EDGES = "RETURN h.entity_id, r.relation, t.entity_id, h.name, t.name, r.chunk_ids"
_FROM = f"MATCH (h:Entity {{entity_id: $id}})-[r:RELATES]->(t:Entity) {_EDGES}"
_TO = f"MATCH (t:Entity {{entity_id: $id}})<-[r:RELATES]-(h:Entity) {_EDGES}"
_DOCUMENTS = "MATCH (c:Chunk) WHERE c.chunk_id IN $ids RETURN c.chunk_id, c.doc_id"
_PUBLISHED = "MATCH (d:Document) WHERE d.doc_id IN $ids RETURN d.doc_id, d.published_at"
_CHUNKS = """
MATCH (c:Chunk) WHERE c.chunk_id IN $ids RETURN c.chunk_id, c.text, c.doc_id, c.start, c.`end`, c.heading
"""
_PUBLISHERS = "MATCH (d:Document) RETURN DISTINCT d.source"
_MENTIONS = "MATCH (e:Entity {entity_id: $id})<-[:MENTIONS]-(c:Chunk) RETURN e.entity_id, c.chunk_id"
_SIZE = (
    "MATCH (n:Document) RETURN count(*)",
    "MATCH (n:Chunk) RETURN count(*)",
    "MATCH (n:Entity) RETURN count(*)",
    "MATCH ()-[r:RELATES]->() RETURN count(*)",
    "MATCH ()-[r:MENTIONS]->() RETURN count(*)",
)


def check_ladybug() -> None:
    """Raise MissingDependency if the package is not installed."""
    need("system-kg", "ladybug")


class LadybugStore:
    """See `GraphStore`.

    All files are under `folder`, which may be moved; they are opened read-only at the first query. Call size() to
    open them earlier.
    """

    def __init__(self, folder: Path) -> None:
        check_ladybug()
        self._folder = folder
        self._calls = Calls()
        self._opening = threading.Lock()
        self._stored: _Stored | None = None
        self._asking = AskingProcesses(folder / _GRAPH)

    async def write(self, graph: KnowledgeGraph, vectors: "Vectors") -> None:
        """See `GraphStore.write`."""
        await self._calls.run(lambda: self._write(graph, vectors))

    def _write(self, graph: KnowledgeGraph, vectors: "Vectors") -> None:
        for name in (_PASSAGES, _UNFINISHED):
            shutil.rmtree(self._folder / name, ignore_errors=True)
        for name in (_NAMES, _GRAPH):
            (self._folder / name).unlink(missing_ok=True)
        PassageIndex.create(self._folder / _PASSAGES, graph.chunks, vectors).close()
        self._calls.check()
        degree = degrees(graph)
        store_names(self._folder / _NAMES, ((entity, degree[entity.entity_id]) for entity in graph.entities))
        self._calls.check()
        unfinished = self._folder / _UNFINISHED
        unfinished.mkdir()
        load_graph(unfinished / _GRAPH, graph, self._calls.check)
        # Last: if this file exists, the index is complete.
        (unfinished / _GRAPH).rename(self._folder / _GRAPH)
        shutil.rmtree(unfinished)

    async def find_entities(self, phrase: str, limit: int) -> list[EntityHit]:
        """See `GraphStore.find_entities`; scores are SQLite's BM25."""
        return await self._calls.run(lambda: self._find_entities(phrase, limit))

    def _find_entities(self, phrase: str, limit: int) -> list[EntityHit]:
        with self._open().reader() as reader:
            return find_names(reader.names, phrase, limit)

    async def entities(self, entity_ids: Sequence[str]) -> list[EntityHit]:
        """See `GraphStore.entities`."""
        return await self._calls.run(lambda: self._entities(entity_ids))

    def _entities(self, entity_ids: Sequence[str]) -> list[EntityHit]:
        with self._open().reader() as reader:
            return entities_by_id(reader.names, list(entity_ids))

    async def publishers(self) -> list[str]:
        """See `GraphStore.publishers`."""
        return await self._calls.run(self._publishers)

    def _publishers(self) -> list[str]:
        with self._open().reader() as reader:
            return sorted(source for (source,) in rows_of(reader.graph, _PUBLISHERS) if source)

    async def mentions_of(self, entity_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """See `GraphStore.mentions_of`."""
        return await self._calls.run(lambda: self._mentions_of(entity_ids))

    def _mentions_of(self, entity_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        with self._open().reader() as reader:
            once = dict.fromkeys(entity_ids)
            return mentions(row for entity_id in once for row in rows_of(reader.graph, _MENTIONS, id=entity_id))

    async def triplets_of(self, entity_ids: Sequence[str]) -> list[StoredTriplet]:
        """See `GraphStore.triplets_of`."""
        return await self._calls.run(lambda: self._triplets_of(entity_ids))

    def _triplets_of(self, entity_ids: Sequence[str]) -> list[StoredTriplet]:
        with self._open().reader() as reader:
            edges = [
                edge
                for entity_id in dict.fromkeys(entity_ids)
                for query in (_FROM, _TO)
                for edge in rows_of(reader.graph, query, id=entity_id)
            ]
            stated_in = sorted({chunk_id for edge in edges for chunk_id in edge[5]})
            documents = rows_of(reader.graph, _DOCUMENTS, ids=stated_in) if stated_in else []
        return triplets(edges, dict(documents))

    async def nearest_chunks(self, vector: "Vectors", k: int, among: Sequence[str] | None = None) -> list[Context]:
        """See `GraphStore.nearest_chunks`."""
        return await self._calls.run(lambda: self._open().passages.search_here(vector, k, among))

    async def chunks(self, chunk_ids: Sequence[str]) -> list[Context]:
        """See `GraphStore.chunks`."""
        return await self._calls.run(lambda: self._chunks(chunk_ids))

    def _chunks(self, chunk_ids: Sequence[str]) -> list[Context]:
        # Ladybug needs a typed list, and an empty list has no type.
        if not chunk_ids:
            return []
        with self._open().reader() as reader:
            return in_order(rows_of(reader.graph, _CHUNKS, ids=list(chunk_ids)), chunk_ids)

    async def sources(self, doc_ids: Sequence[str], chunk_ids: Sequence[str]) -> Sources:
        """See `GraphStore.sources`."""
        return await self._calls.run(lambda: self._sources(list(doc_ids), list(chunk_ids)))

    def _sources(self, doc_ids: list[str], chunk_ids: list[str]) -> Sources:
        with self._open().reader() as reader:
            # Ladybug needs a typed list, and an empty list has no type.
            owners = dict(rows_of(reader.graph, _DOCUMENTS, ids=chunk_ids)) if chunk_ids else {}
            asked = list(dict.fromkeys([*doc_ids, *owners.values()]))
            published = rows_of(reader.graph, _PUBLISHED, ids=asked) if asked else []
        return Sources({doc_id: said or "" for doc_id, said in published}, owners)

    async def ask(self, statement: ReadStatement, limit_s: float) -> list[list[Any]]:
        """See `GraphStore.ask`."""
        return await self._calls.run(lambda: self._ask(statement, limit_s))

    def _ask(self, statement: ReadStatement, limit_s: float) -> list[list[Any]]:
        self._open()
        return self._asking.ask(*statement.spelled(_spelled), limit_s)

    async def size(self) -> GraphSize:
        """See `GraphStore.size`."""
        return await self._calls.run(self._size)

    def _size(self) -> GraphSize:
        with self._open().reader() as reader:
            return GraphSize(*(int(rows_of(reader.graph, query)[0][0]) for query in _SIZE))

    def _open(self) -> "_Stored":
        with self._opening:
            if self._stored is None:
                self._stored = _Stored(self._folder)
            return self._stored

    def close(self) -> None:
        """See `GraphStore.close`. Running statements of a model fail; our own queries are awaited."""
        self._asking.close()
        is_unused = self._calls.close(wait_s=_CLOSE_S)
        # If a query never ends, its files stay open until the process ends.
        if self._stored is not None and is_unused:
            self._stored.close()
            self._stored = None


def _spelled(piece: StatementPiece) -> str:
    """Tables have the names of labels and types; a node without a label matches any table."""
    return f":{piece.value}" if piece.value and piece.kind != "edge" else ""


@dataclass(frozen=True)
class _Reader:
    """Connections for one thread at a time."""

    graph: Any
    names: sqlite3.Connection

    def close(self) -> None:
        self.graph.close()
        self.names.close()


class _Stored:
    """The files of a finished index, open for reading."""

    def __init__(self, folder: Path) -> None:
        if not (folder / _GRAPH).is_file():
            raise FileNotFoundError(f"{folder} has no finished graph")
        self._names = folder / _NAMES
        self.passages = PassageIndex.open(folder / _PASSAGES)
        self._database = graph_database(folder / _GRAPH, read_only=True)
        self._idle: list[_Reader] = []

    @contextmanager
    def reader(self) -> Iterator[_Reader]:
        """An idle reader, or a new one."""
        try:
            reader = self._idle.pop()
        except IndexError:
            reader = self._new()
        try:
            yield reader
        finally:
            self._idle.append(reader)

    def _new(self) -> _Reader:
        import ladybug

        return _Reader(ladybug.Connection(self._database, num_threads=1), open_names(self._names))

    def close(self) -> None:
        """Close everything; no reads may be running."""
        while self._idle:
            self._idle.pop().close()
        self._database.close()
        self.passages.close()
