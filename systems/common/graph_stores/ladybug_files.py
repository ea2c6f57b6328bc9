"""Ladybug's database file: its tables, and bulk loading.

`COPY` from CSV files loads 300,000 relations in seconds. The same rows as query parameters take ten times as long
and 4 GB of memory, and pandas or Arrow would be additional dependencies.
"""

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from systems.common.chunking import Chunk
from systems.common.graph_stores.contract import document_row, documents_of
from systems.common.graph_stores.ladybug_process import graph_database, rows_of
from systems.common.knowledge_graph import KnowledgeGraph, Relation
from systems.common.vector_index import passage_metadata

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


def load_graph(path: Path, graph: KnowledgeGraph, check: Callable[[], None]) -> None:
    """A new database with the graph at `path`: see `load_tables`."""
    load_tables(path, _TABLES.split(";")[:-1], _tables(graph), check)


def load_tables(
    path: Path,
    definitions: Iterable[str],
    tables: Iterable[tuple[str, Iterable[_Row]]],
    check: Callable[[], None] = lambda: None,
) -> None:
    """A new database at `path` with these tables and their rows; temporary files in the folder are removed.

    `check` is called between the tables and may raise. Texts are stored exactly, NUL and line breaks included.
    Names are part of statements and must have been checked.
    """
    import ladybug

    database = graph_database(path, read_only=False)
    try:
        connection = ladybug.Connection(database)
        try:
            for statement in definitions:
                rows_of(connection, statement)
            for table, rows in tables:
                check()
                _copy(connection, path.with_name(f"{table}.csv"), table, rows)
            # Write everything to the one file, without a separate log.
            rows_of(connection, "CHECKPOINT")
        finally:
            connection.close()
    finally:
        database.close()


def _tables(graph: KnowledgeGraph) -> Iterable[tuple[str, Iterable[_Row]]]:
    yield "Document", map(document_row, documents_of(graph))
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
