"""The two graphs that the agent can query: documents with their entities, or a schema of the user's own."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from harness.core.records import Document, IndexStats
from harness.protocols import Runtime
from systems.common.answers import Found
from systems.common.graph_index import GraphIndex
from systems.common.graph_stores.contract import AskFailed, ReadStatement, Sources, StatementPiece
from systems.common.graph_stores.ladybug import load_tables
from systems.common.graph_stores.ladybug_asking import AskingProcesses
from systems.common.passages import PassageParams, build_passages, loaded, open_passages
from systems.common.search import PassageSearch
from systems.cypher_agent.graph_schema import DOCUMENTS, GraphSchema
from systems.cypher_agent.params import AgentIndexParams, AnswerParams
from systems.cypher_agent.schema_file import (
    SchemaFile,
    check_fields,
    field_of,
    read_schema,
    schema_path,
    values_in,
)
from systems.cypher_agent.statement_check import read_statement

_GRAPH, _SCHEMA = "schema.lbug", "schema.yaml"
_DATES = "_documents"
"""A table of our own with the date of every document. No schema and no statement can contain the name."""


class _DocumentGraph:
    """The graph that kg builds. `build` once, `open` in another process, then the rest."""

    schema = DOCUMENTS

    def __init__(self, index: AgentIndexParams, answer: AnswerParams, runtime: Runtime) -> None:
        self._params = answer
        self._graph = GraphIndex(index, answer, runtime)

    @property
    def publishers(self) -> Sequence[str]:
        """Known values of the property `source`, for the prompt."""
        return self._graph.publishers

    async def build(self, corpus: Sequence[Document]) -> IndexStats:
        return await self._graph.build(corpus)

    async def open(self) -> None:
        await self._graph.open()
        with suppress(AskFailed):
            await self.ask(read_statement("MATCH (d:Document) RETURN d.doc_id", 1), self._params.limit_s)

    async def ask(self, statement: ReadStatement, limit_s: float) -> list[list[Any]]:
        return await self._graph.store.ask(statement, limit_s)

    async def sources(self, doc_ids: Sequence[str], chunk_ids: Sequence[str]) -> Sources:
        return await self._graph.store.sources(doc_ids, chunk_ids)

    async def find(self, question: str) -> Found:
        return await self._graph.passages.find(question, self._params.top_k)

    def close(self) -> None:
        self._graph.close()


class _SchemaGraph:
    """The same for documents and the values of their fields, in Ladybug, with passages beside. No model reads the
    documents to build it.
    """

    publishers: Sequence[str] = ()
    schema: GraphSchema
    """Known from `build` or `open` on."""

    def __init__(self, index: AgentIndexParams, answer: AnswerParams, runtime: Runtime, named: str) -> None:
        self._named, self._index, self._params, self._runtime = named, index, answer, runtime
        self._path = runtime.index_dir / _GRAPH
        self._passages: PassageSearch | None = None
        self._asking = AskingProcesses(self._path)

    async def build(self, corpus: Sequence[Document]) -> IndexStats:
        check_fields(read_schema(self._named)[0], corpus)
        shared = PassageParams.model_fields.keys() & AgentIndexParams.model_fields.keys()
        own = {name: getattr(self._index, name) for name in shared}
        stats = await build_passages(self._runtime, corpus, PassageParams(**own))
        # Kept with the index: answering needs no file of the user, who may change it.
        (self._runtime.index_dir / _SCHEMA).write_bytes(schema_path(self._named).read_bytes())
        with self._runtime.stage("store"):
            counts = await asyncio.to_thread(self._store, corpus)
        return stats.model_copy(update={"nodes": counts[0], "edges": counts[1]})

    def _store(self, corpus: Sequence[Document]) -> tuple[int, int]:
        file, self.schema = read_schema(str(self._runtime.index_dir / _SCHEMA))
        tables = dict(_tables(file, corpus))
        load_tables(self._path, _definitions(file), tables.items())
        nodes, edges = (sum(len(tables[name]) for name in of) for of in (file.nodes, file.relationships))
        return nodes, edges

    async def open(self) -> None:
        self._passages = open_passages(self._runtime, self._params)
        if not self._path.is_file():
            raise FileNotFoundError(f"{self._path.parent} has no finished graph")
        _, self.schema = read_schema(str(self._runtime.index_dir / _SCHEMA))
        await self.sources((), ())

    async def ask(self, statement: ReadStatement, limit_s: float) -> list[list[Any]]:
        text, parameters = statement.spelled(_spelled)
        return await asyncio.to_thread(self._asking.ask, text, parameters, limit_s)

    async def sources(self, doc_ids: Sequence[str], chunk_ids: Sequence[str]) -> Sources:
        del chunk_ids
        asked = list(dict.fromkeys(doc_ids)) or [""]
        query = f"MATCH (d:`{_DATES}`) WHERE d.`id` IN $ids RETURN d.`id`, d.`date`"
        rows = await asyncio.to_thread(self._asking.ask, query, {"ids": asked}, self._params.limit_s)
        return Sources({doc_id: date or "" for doc_id, date in rows}, {})

    async def find(self, question: str) -> Found:
        return await loaded(self._passages).find(question, self._params.top_k)

    def close(self) -> None:
        self._asking.close()
        if self._passages is not None:
            self._passages.close()


AgentGraph = _DocumentGraph | _SchemaGraph


def open_graph(index: AgentIndexParams, answer: AnswerParams, runtime: Runtime) -> AgentGraph:
    """The graph that these parameters describe; nothing is opened yet."""
    if index.schema is None:
        return _DocumentGraph(index, answer, runtime)
    return _SchemaGraph(index, answer, runtime, index.schema)


def _spelled(piece: StatementPiece) -> str:
    """As for Ladybug's own graph, in quotes: a label may be a word of the database's language."""
    return f":`{piece.value}`" if piece.value and piece.kind != "edge" else ""


def _definitions(file: SchemaFile) -> Iterator[str]:
    """The tables of a schema, whose names were checked."""
    for label in file.nodes:
        key, *others = file.properties_of(label)
        columns = ", ".join([f"`{key}` STRING PRIMARY KEY", *(f"`{name}` STRING" for name in others)])
        yield f"CREATE NODE TABLE `{label}`({columns})"
    for name, one in file.relationships.items():
        yield f"CREATE REL TABLE `{name}`(FROM `{one.start}` TO `{one.end}`)"
    yield f"CREATE NODE TABLE `{_DATES}`(`id` STRING PRIMARY KEY, `date` STRING)"


def _tables(file: SchemaFile, corpus: Sequence[Document]) -> Iterable[tuple[str, list[tuple[str, ...]]]]:
    """Rows of every table: nodes, then the relationships between them."""
    values: dict[str, dict[str, str]] = {label: {} for label in file.nodes}
    edges: dict[str, list[tuple[str, ...]]] = {name: [] for name in file.relationships}
    for document in corpus:
        for name, one in file.relationships.items():
            from_document = one.start == file.document
            for key, value in values_in(document, one).items():
                known = values[one.end if from_document else one.start]
                # A sender with a name says more than an address alone.
                known[key] = value if known.get(key, key) == key else known[key]
                edges[name].append((document.doc_id, key) if from_document else (key, document.doc_id))
    for label, node in file.nodes.items():
        if label == file.document:
            fields = node.properties.values()
            yield label, [(one.doc_id, *(field_of(one, field) for field in fields)) for one in corpus]
        else:
            yield label, [(key, value) if node.name else (key,) for key, value in values[label].items()]
    yield from edges.items()
    yield _DATES, [(one.doc_id, field_of(one, file.date)) for one in corpus]
