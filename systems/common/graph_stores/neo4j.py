"""A graph on a Neo4j server, with Neo4j's own vector and full-text search."""

import asyncio
import json
import threading
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.core.errors import ServiceUnavailable, need
from harness.core.records import Context
from harness.protocols import Vectors
from systems.common.graph_stores.contract import (
    EDGE,
    PASSAGE,
    AskFailed,
    EntityHit,
    GraphStore,
    ReadStatement,
    in_thread,
    passage_of,
    too_late,
    why_unanswered,
)
from systems.common.graph_stores.entity_name_search import query_words
from systems.common.graph_stores.neo4j_server import (
    Neo4jSettings,
    connect,
    connected,
    explained,
    rows_of,
)
from systems.common.graph_stores.neo4j_space import Space, count, drop_space, load_space, space_to_write
from systems.common.knowledge_graph import GraphSize, KnowledgeGraph

_DESCRIPTION = "neo4j.json"
_CANDIDATES = 1000
"""Lucene's search breadth depends on k: of the ten nearest among 6,600 random vectors, k = 10 misses seven, k =
100 one, k = 500 none.
"""
GRACE_S = 5.0
"""A server checks its time limits every two seconds, and not during planning or garbage collection."""
CLOSE_WAIT_S = 15.0
"""How long `close` waits for running queries."""
_FIND = """
CALL db.index.fulltext.queryNodes($index, $words) YIELD node, score
RETURN node.entity_id, node.name, node.kind, score, node.degree ORDER BY score DESC, node.number LIMIT $limit
"""
_ENTITIES = """
UNWIND $ids AS id MATCH (e:$Entity {entity_id: id}) RETURN e.entity_id, e.name, e.kind, 0.0, e.degree
"""
_NEAREST = f"""
CALL db.index.vector.queryNodes($index, $n, $vector) YIELD node AS c, score
WITH c, score ORDER BY score DESC, c.chunk_id
WITH collect({{c: c, score: score}}) AS found
RETURN size(found), found[-1].score, [hit IN found[..$k] | [hit.score, {PASSAGE.replace("c.", "hit.c.")}]]
"""
_NEAREST_AMONG = f"""
UNWIND $ids AS id MATCH (c:$Chunk {{chunk_id: id}})
WITH c, vector.similarity.cosine(c.embedding, $vector) AS score ORDER BY score DESC, c.chunk_id LIMIT $k
RETURN score, {PASSAGE}
"""


class Neo4jStore(GraphStore):
    """The server is taken from the environment (`Neo4jSettings`) at first use. `folder` contains neo4j.json with
    the label space and its build. A moved folder still finds its graph. The graph of a deleted folder stays on
    the server, because the folder may have been moved.
    """

    _EDGES = (
        f"UNWIND $ids AS id MATCH (h:$Entity {{entity_id: id}})-[r]->(t:$Entity) {EDGE}",
        f"UNWIND $ids AS id MATCH (t:$Entity {{entity_id: id}})<-[r]-(h:$Entity) {EDGE}",
    )
    _MENTIONS = """
    UNWIND $ids AS id MATCH (e:$Entity {entity_id: id})<-[:MENTIONS]-(c:$Chunk) RETURN e.entity_id, c.chunk_id
    """
    _PUBLISHERS = "MATCH (d:$Document) WHERE d.source <> '' RETURN DISTINCT d.source"
    _CHUNKS = f"UNWIND $ids AS id MATCH (c:$Chunk {{chunk_id: id}}) RETURN {PASSAGE}"
    _DOCUMENTS = "UNWIND $ids AS id MATCH (c:$Chunk {chunk_id: id}) RETURN c.chunk_id, c.doc_id"
    _PUBLISHED = "MATCH (d:$Document) WHERE d.doc_id IN $ids RETURN d.doc_id, d.published_at"

    def __init__(self, folder: Path) -> None:
        need("system-kg", "neo4j")
        super().__init__(folder)
        self._opening = threading.Lock()
        self._opened: _Opened | None = None

    def _rows(self, query: str, ids: Iterable[str] = ()) -> list[list[Any]]:
        return self._open().ask(query, ids=list(ids))

    def _write(self, graph: KnowledgeGraph, vectors: Vectors) -> None:
        file = self._folder / _DESCRIPTION
        own_build = _description(file)["build"] if file.exists() else ""
        file.unlink(missing_ok=True)
        settings = Neo4jSettings.from_environment()
        build = uuid.uuid4().hex
        with connected(settings) as driver:
            space = space_to_write(driver, self._folder, own_build)
            load_space(driver, space, graph, vectors, self._calls.check)
            space.rows(driver, "CREATE (:$Index {build: $build})", write=True, build=build)
        description = {"space": space.name, "build": build, "server": settings.uri, **asdict(graph.size)}
        unfinished = file.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
        unfinished.replace(file)

    @in_thread
    def drop(self) -> None:
        file = self._folder / _DESCRIPTION
        with connected(Neo4jSettings.from_environment()) as driver:
            stored = Space(_description(file)["space"]) if file.exists() else None
            drop_space(driver, stored or space_to_write(driver, self._folder))

    @in_thread
    def find_entities(self, phrase: str, limit: int) -> list[EntityHit]:
        """Scores are Lucene's BM25."""
        # Only letters, digits and marks in lower case, so no Lucene syntax.
        asked = " ".join(query_words(phrase))
        if not asked:
            return []
        opened = self._open()
        rows = opened.ask(_FIND, index=opened.space.names, words=asked, limit=limit)
        return [EntityHit(*row) for row in rows]

    @in_thread
    def entities(self, entity_ids: Sequence[str]) -> list[EntityHit]:
        ids = list(dict.fromkeys(entity_ids))
        found = {row[0]: EntityHit(*row) for row in self._rows(_ENTITIES, ids)}
        return [found[entity_id] for entity_id in ids if entity_id in found]

    @in_thread
    def nearest_chunks(self, vector: Vectors, k: int, among: Sequence[str] | None = None) -> list[Context]:
        opened, given = self._open(), {"vector": vector.tolist(), "k": k}
        if among is not None:
            return [_nearby(*hit) for hit in opened.ask(_NEAREST_AMONG, ids=list(dict.fromkeys(among)), **given)]
        if not opened.chunks:
            return []
        n = min(max(_CANDIDATES, 2 * k), opened.chunks)
        while True:
            ((found, last, hits),) = opened.ask(_NEAREST, index=opened.space.vectors, n=n, **given)
            # At ties Lucene returns any of them: fetch more until all candidates of the cut-off score are
            # included.
            if opened.chunks in (found, n) or last < hits[-1][0]:
                return [_nearby(*hit) for hit in hits]
            n = min(2 * n, opened.chunks)

    async def ask(self, statement: ReadStatement, limit_s: float) -> list[list[Any]]:
        """The server itself ends slow statements, unless it is blocked."""
        asked = self._calls.run(lambda: self._open().read(statement, limit_s))
        try:
            return await asyncio.wait_for(asked, limit_s + GRACE_S)
        except TimeoutError as error:
            raise AskFailed(too_late(limit_s)) from error

    @in_thread
    def size(self) -> GraphSize:
        return self._open().size()

    def _open(self) -> "_Opened":
        with self._opening:
            if self._opened is None:
                self._opened = _Opened(self._folder)
            return self._opened

    def close(self) -> None:
        """A query without a reply within `CLOSE_WAIT_S` fails."""
        self._calls.close(wait_s=CLOSE_WAIT_S)
        if self._opened is not None:
            self._opened.close()
            self._opened = None


def _description(file: Path) -> dict[str, Any]:
    """The content of neo4j.json: space, build, server, and the counts of the graph."""
    told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return told


class _Opened:
    """A stored graph and the connections to its server."""

    def __init__(self, folder: Path) -> None:
        stored = _description(folder / _DESCRIPTION)
        self.space, self.chunks = Space(stored["space"]), stored["chunks"]
        self._settings = Neo4jSettings.from_environment()
        self._driver = connect(self._settings)
        try:
            if not self.ask("MATCH (i:$Index {build: $build}) RETURN i.build", build=stored["build"]):
                raise ServiceUnavailable(
                    f"Neo4j at {self._settings.uri} does not have the graph of {folder} (it was written to "
                    f"{stored['server']})",
                    f"start the server that has it, or delete {folder.parent} to build it again",
                )
        except BaseException:
            self.close()
            raise

    def ask(self, query: str, **parameters: Any) -> list[list[Any]]:
        with explained(self._settings):
            return self.space.rows(self._driver, query, **parameters)

    def read(self, statement: ReadStatement, limit_s: float) -> list[list[Any]]:
        from neo4j import exceptions

        text, parameters = statement.spelled(self.space.spelled)
        with explained(self._settings):
            try:
                return rows_of(self._driver, text, limit_s=limit_s, **parameters)
            except (exceptions.ServiceUnavailable, exceptions.SessionExpired, exceptions.AuthError):
                raise
            except exceptions.Neo4jError as error:
                raise AskFailed(why_unanswered(error, "TransactionTimedOut", limit_s)) from error

    def size(self) -> GraphSize:
        with explained(self._settings):
            return count(self._driver, self.space)

    def close(self) -> None:
        # A query that is still being sent holds its connection's buffer; the connection ends with its thread.
        with suppress(BufferError):
            self._driver.close()


def _nearby(score: float, *row: Any) -> Context:
    # Neo4j's score, for a search and for two vectors, is (1 + cosine) / 2.
    return passage_of(row, 2.0 * score - 1.0)
