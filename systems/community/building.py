"""The index: one insert of nano-graphrag, with parts of ours where it lets parts be replaced."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from harness.protocols import ChatModel, Runtime
from harness.records import Document, IndexStats, Places
from systems.community import from_triplets, library
from systems.community.from_library import LibraryExtraction
from systems.community.guard import Guard
from systems.community.params import IndexParams
from systems.community.reports import ReportWriter
from systems.community.units import TextUnits
from systems.parts.chunking import Chunk, iter_chunks
from systems.parts.extraction.assemble import assemble
from systems.parts.extraction.bounded import BoundedExtractor

if TYPE_CHECKING:
    from harness.protocols import Vectors

MAX_COMMUNITY_SIZE = 10
"""Nodes of a community that is not divided further; the library's."""


async def build_index(
    runtime: Runtime, chat: ChatModel, params: IndexParams, corpus: Sequence[Document]
) -> IndexStats:
    """Build the index under `runtime.index_dir`; raises HarnessError where no further model call can succeed."""
    return await _Build(runtime, chat, params).run(corpus)


class _Stages:
    """One stage after the other: nano-graphrag runs them all within one call."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._current = ExitStack()

    def enter(self, name: str) -> None:
        self._current.close()
        self._current.enter_context(self._runtime.stage(name))

    def close(self) -> None:
        self._current.close()


class _Build:
    def __init__(self, runtime: Runtime, chat: ChatModel, params: IndexParams) -> None:
        self._runtime = runtime
        self._chat = chat
        self._params = params
        self._stages = _Stages(runtime)
        self._guard = Guard()
        self._writer = ReportWriter(chat, self._guard, params.report_tokens, self._reported)
        self._communities = 0
        self._failed_chunks = 0
        self._failed_descriptions = 0
        self._first_failure = ""

    async def run(self, corpus: Sequence[Document]) -> IndexStats:
        try:
            self._stages.enter("chunk")
            chunks = list(iter_chunks(corpus, self._params))
            rag = self._library(chunks)
            # All in one call: each insert would divide the whole graph and pay for all reports anew.
            await rag.ainsert([document.text for document in corpus])
            self._guard.check()
        finally:
            self._stages.close()
        graph = rag.chunk_entity_relation_graph
        nodes, edges = graph.size()
        return IndexStats(
            documents=len(corpus),
            chunks=len(chunks),
            nodes=nodes,
            edges=edges,
            communities=self._communities,
            failed_chunks=self._failed_chunks,
            passages=Places.of(chunk.span for chunk in chunks),
            notes=self._notes(corpus, graph.outside_communities()),
        )

    def _library(self, chunks: Sequence[Chunk]) -> Any:
        """nano-graphrag, ready for one insert.

        It copies its configuration deeply, so every function in it is a closure and no bound method. Its own
        limits are off, since its limiter polls the clock ten thousand times a second: the guard has one.
        """
        nano = library.load()
        storages = library.storages()
        units = TextUnits.of(chunks)

        async def extract(texts: Mapping[str, Any], **given: Any) -> Any:
            return await self._extract(chunks, units, texts, given)

        async def embed(texts: Sequence[str]) -> "Vectors":
            self._stages.enter("embed")
            return await self._runtime.embedder.embed_documents(texts)

        async def report(prompt: str, **_: Any) -> str:
            return await self._writer.write(prompt)

        def graph(**given: Any) -> Any:
            stored = storages.LeidenGraph(**given)
            stored.on_clustering, stored.on_clustered = lambda: self._stages.enter("cluster"), self._clustered
            return stored

        return nano.GraphRAG(
            working_dir=str(self._runtime.index_dir),
            chunk_func=lambda *_, **__: [dict(record) for record in units.records],
            entity_extraction_func=extract,
            entity_extract_max_gleaning=self._params.max_gleaning,
            max_graph_cluster_size=MAX_COMMUNITY_SIZE,
            graph_cluster_seed=self._runtime.seed,
            addon_params={"components": self._params.components},
            embedding_func=library.utilities().EmbeddingFunc(embedding_dim=0, max_token_size=0, func=embed),
            embedding_func_max_async=sys.maxsize,
            best_model_func=report,
            best_model_max_async=sys.maxsize,
            # It counts descriptions only: names and quotes come to about as much again.
            best_model_max_token_size=self._params.report_tokens // 2,
            special_community_report_llm_kwargs={},
            convert_response_to_json_func=json.loads,
            graph_storage_cls=graph,
            vector_db_storage_cls=storages.EntityVectors,
            enable_llm_cache=False,
        )

    async def _extract(
        self, chunks: Sequence[Chunk], units: TextUnits, texts: Mapping[str, Any], given: Mapping[str, Any]
    ) -> Any:
        self._stages.enter("extract")
        # The parameter's name is the library's.
        graph, vectors = given["knwoledge_graph_inst"], given["entity_vdb"]
        if self._params.extractor == "nano":
            extraction = LibraryExtraction(self._chat, self._guard, self._progress("extracting", len(texts)))
            await extraction.extract(texts, units, (graph, vectors), given["global_config"])
            self._failed_chunks = extraction.failed_chunks
            self._failed_descriptions = extraction.failed_descriptions
        else:
            extractor = BoundedExtractor(self._chat, lambda done, n: self._runtime.progress(done, n, "extracting"))
            found = await extractor.extract(chunks)
            knowledge = assemble(chunks, found)
            await from_triplets.store(knowledge, units, graph, vectors)
            self._failed_chunks = knowledge.failed_chunks
            self._first_failure = next((graph.failure for graph in found if graph.failure), "")
        return graph

    def _progress(self, doing: str, total: int) -> Callable[[int], None]:
        return lambda done: self._runtime.progress(done, total, doing)

    def _clustered(self, communities: int) -> None:
        self._communities = communities
        self._stages.enter("report")

    def _reported(self, done: int) -> None:
        self._runtime.progress(done, self._communities, "reporting")

    def _notes(self, corpus: Sequence[Document], outside: int) -> tuple[str, ...]:
        empty = sum(1 for document in corpus if not document.text.strip())
        found = [
            (empty, "documents hold no text"),
            (outside, "entities are in no community"),
            (self._writer.failed, "communities have no report: the head of their entity list stands in"),
            (self._failed_descriptions, "long descriptions could not be summarised and are empty"),
        ]
        counted = tuple(f"{number} {what}" for number, what in found if number)
        why = self._first_failure or self._guard.first_failure
        return (*counted, f"the first failure: {why}") if why else counted
