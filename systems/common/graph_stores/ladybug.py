"""A graph in the process: Ladybug for nodes and edges, Chroma for passages, SQLite for entity names."""

import csv
import re
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.errors import need
from harness.core.records import Context
from harness.protocols import Vectors
from systems.common.chunking import Chunk
from systems.common.graph_stores.contract import (
    EDGE,
    PASSAGE,
    EntityHit,
    GraphStore,
    ReadStatement,
    StatementPiece,
    document_row,
    in_thread,
)
from systems.common.graph_stores.entity_name_search import entities_by_id, find_names, open_names, store_names
from systems.common.graph_stores.ladybug_asking import AskingProcesses
from systems.common.graph_stores.ladybug_process import graph_database, rows_of
from systems.common.knowledge_graph import GraphSize, KnowledgeGraph, Relation
from systems.common.vector_index import PassageIndex, passage_metadata

_PASSAGES, _NAMES, _GRAPH, _UNFINISHED = "passages", "entities.sqlite", "graph.lbug", "unfinished"
_CLOSE_S = 15.0
_SIZE = (
    "MATCH (n:Document) RETURN count(*)",
    "MATCH (n:Chunk) RETURN count(*)",
    "MATCH (n:Entity) RETURN count(*)",
    "MATCH ()-[r:RELATES]->() RETURN count(*)",
    "MATCH ()-[r:MENTIONS]->() RETURN count(*)",
)


_TABLES = """
CREATE NODE TABLE Document(
    doc_id STRING PRIMARY KEY, title STRING, source STRING, published_at STRING, url STRING
);
CREATE NODE TABLE Chunk(
    chunk_id STRING PRIMARY KEY, doc_id STRING, start INT64, `end` INT64, text STRING, heading STRING
);
CREATE NODE TABLE Entity(entity_id STRING PRIMARY KEY, name STRING, kind STRING);
CREATE REL TABLE PART_OF(FROM Chunk TO Document);
CREATE REL TABLE MENTIONS(FROM Chunk TO Entity);
CREATE REL TABLE RELATES(FROM Entity TO Entity, relation STRING, chunk_ids STRING[]);
"""
# Without PARALLEL=false a line break inside quotes would end the row.
_CSV = """(HEADER=false, AUTO_DETECT=false, PARALLEL=false, DELIM=',', QUOTE='"', ESCAPE='"')"""
_PLAIN_ID = re.compile(r"[\w.:-]+")
_Row = Sequence[str | int]


def load_tables(
    path: Path,
    definitions: Iterable[str],
    tables: Iterable[tuple[str, Iterable[_Row]]],
    check: Callable[[], None] = lambda: None,
) -> None:
    """A new database at `path` with these tables and their rows. It is written beside and renamed last: if the
    file exists, it is complete.

    `COPY` from CSV files loads 300,000 relations in seconds. The same rows as query parameters take ten times as
    long and 4 GB of memory, and pandas or Arrow would be additional dependencies.

    `check` is called between the tables and may raise. Texts are stored exactly, NUL and line breaks included.
    Names are part of statements and must have been checked.
    """
    import ladybug

    unfinished = path.with_name(_UNFINISHED)
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    database = graph_database(unfinished / path.name, read_only=False)
    try:
        connection = ladybug.Connection(database)
        try:
            for statement in definitions:
                rows_of(connection, statement)
            for table, rows in tables:
                check()
                _copy(connection, unfinished / f"{table}.csv", table, rows)
            # Write everything to the one file, without a separate log.
            rows_of(connection, "CHECKPOINT")
        finally:
            connection.close()
    finally:
        database.close()
    (unfinished / path.name).rename(path)
    shutil.rmtree(unfinished)


def _tables(graph: KnowledgeGraph) -> Iterable[tuple[str, Iterable[_Row]]]:
    yield "Document", map(document_row, graph.documents)
    yield "Chunk", map(_chunk_row, graph.chunks)
    yield "Entity", ((entity.entity_id, entity.name, entity.kind) for entity in graph.entities)
    yield "PART_OF", ((chunk.chunk_id, chunk.span.doc_id) for chunk in graph.chunks)
    yield "MENTIONS", ((mention.chunk_id, mention.entity_id) for mention in graph.mentions)
    yield "RELATES", map(_relation_row, graph.relations)


def _chunk_row(chunk: Chunk) -> _Row:
    at = passage_metadata(chunk)
    return chunk.chunk_id, at["doc_id"], at["start"], at["end"], chunk.text, at["heading"]


def _relation_row(edge: Relation) -> _Row:
    # A list in a CSV field has no quotes.
    if not all(_PLAIN_ID.fullmatch(chunk_id) for chunk_id in edge.chunk_ids):
        raise ValueError("a chunk id may contain letters, digits and . : _ - only")
    return edge.head_id, edge.tail_id, edge.relation, f"[{','.join(edge.chunk_ids)}]"


def _copy(connection: Any, file: Path, table: str, rows: Iterable[_Row]) -> None:
    with file.open("w", encoding="utf-8", newline="") as lines:
        csv.writer(lines, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    # An empty table is valid; an empty file may be an error.
    if file.stat().st_size:
        rows_of(connection, f"COPY `{table}` FROM {_literal(file)} {_CSV}")
    file.unlink()


def _literal(file: Path) -> str:
    """A path within a statement: Ladybug treats it as a pattern and has no parameters there."""
    pattern = re.sub(r"[\[*?]", lambda match: f"[{match[0]}]", str(file.absolute()))
    escaped = pattern.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


class LadybugStore(GraphStore):
    """All files are under `folder`, which may be moved; they are opened read-only at the first query. Call size()
    to open them earlier.
    """

    # One query per entity finds its edges by key in 0.2 ms; `IN` over several reads the whole table.
    _EDGES = (
        f"MATCH (h:Entity {{entity_id: $id}})-[r:RELATES]->(t:Entity) {EDGE}",
        f"MATCH (t:Entity {{entity_id: $id}})<-[r:RELATES]-(h:Entity) {EDGE}",
    )
    _MENTIONS = "MATCH (e:Entity {entity_id: $id})<-[:MENTIONS]-(c:Chunk) RETURN e.entity_id, c.chunk_id"
    _PUBLISHERS = "MATCH (d:Document) RETURN DISTINCT d.source"
    _CHUNKS = f"MATCH (c:Chunk) WHERE c.chunk_id IN $ids RETURN {PASSAGE}"
    _DOCUMENTS = "MATCH (c:Chunk) WHERE c.chunk_id IN $ids RETURN c.chunk_id, c.doc_id"
    _PUBLISHED = "MATCH (d:Document) WHERE d.doc_id IN $ids RETURN d.doc_id, d.published_at"

    def __init__(self, folder: Path) -> None:
        need("system-kg", "ladybug")
        super().__init__(folder)
        self._opening = threading.Lock()
        self._stored: _Stored | None = None
        self._asking = AskingProcesses(folder / _GRAPH)

    def _rows(self, query: str, ids: Iterable[str] = ()) -> list[list[Any]]:
        with self._open().reader() as reader:
            if "$ids" in query:
                # Ladybug needs a typed list, and an empty list has no type.
                return rows_of(reader.graph, query, ids=listed) if (listed := list(ids)) else []
            if "$id" in query:
                return [row for one in ids for row in rows_of(reader.graph, query, id=one)]
            return rows_of(reader.graph, query)

    def _write(self, graph: KnowledgeGraph, vectors: Vectors) -> None:
        shutil.rmtree(self._folder / _PASSAGES, ignore_errors=True)
        for name in (_NAMES, _GRAPH):
            (self._folder / name).unlink(missing_ok=True)
        PassageIndex.create(self._folder / _PASSAGES, graph.chunks, vectors)
        self._calls.check()
        store_names(self._folder / _NAMES, graph)
        self._calls.check()
        # Last: if this file exists, the index is complete.
        load_tables(self._folder / _GRAPH, _TABLES.split(";")[:-1], _tables(graph), self._calls.check)

    @in_thread
    def find_entities(self, phrase: str, limit: int) -> list[EntityHit]:
        """Scores are SQLite's BM25."""
        with self._open().reader() as reader:
            return find_names(reader.names, phrase, limit)

    @in_thread
    def entities(self, entity_ids: Sequence[str]) -> list[EntityHit]:
        with self._open().reader() as reader:
            return entities_by_id(reader.names, list(entity_ids))

    @in_thread
    def nearest_chunks(self, vector: Vectors, k: int, among: Sequence[str] | None = None) -> list[Context]:
        return self._open().passages.nearest_here(vector, k, among)

    @in_thread
    def ask(self, statement: ReadStatement, limit_s: float) -> list[list[Any]]:
        self._open()
        return self._asking.ask(*statement.spelled(_spelled), limit_s)

    @in_thread
    def size(self) -> GraphSize:
        return GraphSize(*(int(self._rows(query)[0][0]) for query in _SIZE))

    def _open(self) -> "_Stored":
        with self._opening:
            if self._stored is None:
                self._stored = _Stored(self._folder)
            return self._stored

    def close(self) -> None:
        """Running statements of a model fail; our own queries are awaited."""
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
        while self._idle:
            self._idle.pop().close()
        self._database.close()
        self.passages.close()
