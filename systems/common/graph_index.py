"""The stored knowledge graph that systems share: chunk, extract, assemble, embed, store."""

import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from harness.core.errors import ConfigError, need
from harness.core.records import Document, IndexStats, Places
from harness.extraction.entity_names import entity_id
from harness.extraction.nlp import check_pipeline, pipeline_digest
from harness.extraction.types import EVERYTHING, Focus, TextGraph
from harness.protocols import EMBEDS, GENERATES, Params, Role, Runtime
from systems.common.chunking import Chunk, check_splitter, iter_chunks
from systems.common.extraction import check_langchain, extract
from systems.common.graph_stores.contract import GraphStore, StoredTriplet
from systems.common.graph_stores.ladybug import LadybugStore
from systems.common.graph_stores.neo4j import Neo4jStore
from systems.common.graph_stores.neo4j_server import Neo4jSettings, check_neo4j
from systems.common.knowledge_graph import KnowledgeGraph, assemble
from systems.common.passages import SearchedParams, counted, embed, empty_documents_note, loaded
from systems.common.search import PassageSearch, SearchParams, load_reranker
from systems.common.sentence_search import StatementIndex, sentences_of_triplets
from systems.common.word_index import WordIndex, check_word_index

StoreKind = Literal["ladybug", "neo4j"]
"""`ladybug`: files in the index folder, no server. `neo4j`: the server that NEO4J_URI names."""


def open_store(kind: StoreKind, folder: Path) -> GraphStore:
    """The store of the index in `folder`, not opened yet. MissingDependency if its package is not installed."""
    return Neo4jStore(folder) if kind == "neo4j" else LadybugStore(folder)


def check_store(kind: StoreKind) -> None:
    """Raise MissingDependency or ServiceUnavailable if a store of this kind cannot be used now.

    Fast, without changes; systems call it in their preflight.
    """
    if kind == "neo4j":
        check_neo4j()
    else:
        need("system-kg", "ladybug")


INDEX_KIND = "graph/4"
"""The `index_kind` of every system with `GraphIndex.build` as its whole index: they share one stored index."""

_STATEMENTS, _DATES = "statements", "dates.json"
ExtractorName = Literal["bounded", "langchain", "nlp"]


class GraphIndexParams(SearchedParams):
    extractor: ExtractorName = "bounded"
    """`bounded`: one schema-constrained call per chunk, also for small models; `langchain`: LLMGraphTransformer,
    as the thesis, for capable models; `nlp`: spaCy, no model call.
    """
    store: StoreKind = "ladybug"
    """`ladybug`: in this process; `neo4j`: a server, see scripts/neo4j."""
    statements: bool = True
    """Whether the sentences that state triplets are embedded, for `answer.rank=meaning`."""
    entity_types: tuple[str, ...] = ()
    """Kinds of entities that a model extracts, such as person; empty: all. Not with `nlp`."""
    relation_types: tuple[str, ...] = ()
    """Names of the relations that a model extracts; empty: all. Not with `nlp`."""
    dates: bool = False
    """Whether a model also extracts the date of each relation, shown after its triplet. Not with `nlp`."""
    nlp_pipeline: str | None = None
    """Name or folder of the spaCy pipeline for `nlp`; None: the installed en_core_web_sm."""

    @property
    def focus(self) -> Focus:
        return Focus(self.entity_types, self.relation_types, self.dates)


_STORE_NOTES = {"neo4j": ("the graph is on the Neo4j server, so its size on disk is not counted",)}


def roles_of(params: GraphIndexParams) -> frozenset[Role]:
    """The models that build the index. Without model extraction, only the embedder."""
    return EMBEDS if params.extractor == "nlp" else EMBEDS | GENERATES


def weights_of(params: GraphIndexParams) -> dict[str, str]:
    """The digest of the parser's pipeline, if a parser extracts the graph."""
    return {"parser": pipeline_digest(params.nlp_pipeline)} if params.extractor == "nlp" else {}


def graph_servers(params: GraphIndexParams) -> list[str]:
    """The URL of the store's server, if it has one."""
    return [Neo4jSettings.from_environment().uri] if params.store == "neo4j" else []


def check_graph(index_params: GraphIndexParams, _answer_params: Params) -> None:
    """Raise HarnessError if the store's server or a package is missing; see `SystemSpec.preflight`."""
    check_splitter(index_params)
    check_store(index_params.store)
    check_word_index()
    if index_params.extractor == "nlp":
        if index_params.focus != EVERYTHING:
            raise ConfigError(
                "index.entity_types, index.relation_types and index.dates are asked of a model, and "
                "index.extractor=nlp asks none",
                "choose index.extractor=bounded, or leave them out",
            )
        check_pipeline(index_params.nlp_pipeline)
    if index_params.extractor == "langchain":
        check_langchain()


class GraphIndex:
    """`build` once, `open` in another process, then use its parts; every part of building is timed as a stage."""

    def __init__(self, params: GraphIndexParams, answer: SearchParams, runtime: Runtime) -> None:
        self._params = params
        self._answer = answer
        self._runtime = runtime
        self._store: GraphStore | None = None
        self._passages: PassageSearch | None = None
        self._statements: StatementIndex | None = None
        self._dates: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.publishers: Sequence[str] = ()
        """As `source` in the documents' metadata names them; like the following, known from `open` on."""
        self.publisher_ids: frozenset[str] = frozenset()
        """The publishers as entities."""
        self.n_chunks = 0

    @property
    def store(self) -> GraphStore:
        """The opened store; RuntimeError before `open`."""
        return loaded(self._store)

    @property
    def passages(self) -> PassageSearch:
        """The search of its passages; RuntimeError before `open`."""
        return loaded(self._passages)

    @property
    def statements(self) -> StatementIndex:
        """The embedded sentences; RuntimeError if they were not opened."""
        return loaded(self._statements)

    def dates_of(self, triplet: StoredTriplet) -> tuple[str, ...]:
        """The dates that the texts state for a triplet, if they were extracted."""
        return self._dates.get((triplet.head_id, triplet.relation, triplet.tail_id), ())

    async def build(
        self, corpus: Sequence[Document], also: Callable[[KnowledgeGraph], Awaitable[None]] | None = None
    ) -> IndexStats:
        """Build and store the graph of `corpus`; failed chunks are counted and skipped. `also` stores what
        else a system needs of the graph.
        """
        stage = self._runtime.stage
        with stage("chunk"):
            chunks = list(iter_chunks(corpus, self._params))
            texts = [self._params.searched_text(chunk) for chunk in chunks]
        with stage("extract"):
            found = await self._extract(chunks)
        with stage("assemble"):
            graph = assemble(chunks, found)
        vectors = await embed(self._runtime, texts)
        with stage("words"):
            WordIndex.create(self._runtime.index_dir / "words", chunks, texts)
        if self._params.dates:
            dated = [[*relation.key, *relation.dates] for relation in graph.relations if relation.dates]
            (self._runtime.index_dir / _DATES).write_text(json.dumps(dated), encoding="utf-8")
        if self._params.statements:
            await self._build_statements(graph)
        if also is not None:
            await also(graph)
        # Last, because a graph on a server cannot be rolled back if the build fails later.
        with stage("store"):
            self._store = open_store(self._params.store, self._runtime.index_dir)
            await self._store.write(graph, vectors)
            size = await self._store.size()
        return IndexStats(
            documents=len(corpus),
            chunks=size.chunks,
            nodes=size.entities,
            edges=size.relations,
            failed_chunks=graph.failed_chunks,
            passages=Places.of(chunk.span for chunk in chunks),
            notes=(
                *empty_documents_note(corpus),
                *_extraction_notes(found),
                *_STORE_NOTES.get(self._params.store, ()),
            ),
        )

    async def _extract(self, chunks: Sequence[Chunk]) -> list[TextGraph]:
        params = self._params
        # Without model extraction no phase names the generator, and requesting it raises an error.
        chat = None if params.extractor == "nlp" else self._runtime.chat
        progress = partial(self._runtime.progress, doing="extracting")
        return await extract(params.extractor, chunks, chat, progress, params.focus, params.nlp_pipeline)

    async def _build_statements(self, graph: KnowledgeGraph) -> None:
        with self._runtime.stage("embed"):
            stated = sentences_of_triplets(graph)
            vectors = await self._runtime.embedder.embed_documents(stated.texts)
        with self._runtime.stage("store"):
            StatementIndex.create(self._runtime.index_dir / _STATEMENTS, stated, vectors)

    async def open(self, statements: bool = False) -> None:
        """Open the stored index as far as its search needs it, on request with the sentences (`statements`)."""
        load_reranker(self._runtime, self._answer)
        if statements:
            self._statements = StatementIndex.open(self._runtime.index_dir / _STATEMENTS)
        if self._params.dates:
            dated = json.loads((self._runtime.index_dir / _DATES).read_text(encoding="utf-8"))
            self._dates = {tuple(row[:3]): tuple(row[3:]) for row in dated}
        words = WordIndex.open(self._runtime.index_dir / "words") if self._answer.needs_words else None
        self._store = open_store(self._params.store, self._runtime.index_dir)
        self._passages = PassageSearch(self._runtime, self._answer, self._store, words)
        # Open the store's files now: otherwise the first query would be charged for it.
        self.n_chunks = (await self._store.size()).chunks
        self.publishers = await self._store.publishers()
        self.publisher_ids = frozenset(map(entity_id, self.publishers)) - {""}

    def close(self) -> None:
        """Release files and connections, also those of a build that did not end."""
        # The search of passages closes the store, too.
        for opened in (self._passages or self._store, self._statements):
            if opened is not None:
                opened.close()


def _extraction_notes(found: Sequence[TextGraph]) -> tuple[str, ...]:
    """The number of retried chunks, and of failed chunks with the first reason."""
    again = sum(1 for graph in found if graph.asked_again)
    failures = [graph.failure for graph in found if graph.failure]
    reason = failures[0][:200] if failures else ""
    return counted(
        (again, f"of {len(found)} chunks needed a second call, because the first reply was not a graph"),
        (len(failures), f"chunks failed; the first reason: {reason}"),
    )
