"""The index: one insert of nano-graphrag, with some parts replaced."""

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from harness.core.records import Document, IndexStats, Places
from harness.protocols import ChatModel, Runtime, Vectors
from systems.common.chunking import Chunk, iter_chunks
from systems.common.extraction import extract
from systems.common.knowledge_graph import assemble
from systems.common.passages import counted, empty_documents_note
from systems.common.wrapped_libraries import Guard
from systems.community import library, triplet_extraction
from systems.community.params import IndexParams
from systems.community.reports import ReportWriter
from systems.community.text_units import TextUnits, doc_ids_of
from systems.community.triplet_extraction import LibraryExtraction

MAX_COMMUNITY_SIZE = 10
"""Maximum nodes of a community that is not divided further; the library's value."""


class IndexBuild:
    """Builds the index under `runtime.index_dir`."""

    def __init__(self, runtime: Runtime, chat: ChatModel | None, params: IndexParams) -> None:
        """`chat` is None only if `params` call no model."""
        self._runtime = runtime
        self._chat = chat
        self._params = params
        self._stage = ExitStack()
        self._guard = Guard()
        writes = None if params.reports == "rules" else chat
        by_library = params.reports == "library"
        self._writer = ReportWriter(
            writes, self._guard, params.report_tokens, self._reported, by_library=by_library
        )
        self._communities = 0
        self._failed_chunks = 0
        self._failed_descriptions = 0
        self._first_failure = ""

    async def run(self, corpus: Sequence[Document]) -> IndexStats:
        """Raises HarnessError if no further model call can succeed."""
        try:
            self._enter("chunk")
            chunks = list(iter_chunks(corpus, self._params))
            units = TextUnits.of(chunks)
            rag = self._library(chunks, units)
            # All in one call, because each insert would divide the whole graph and pay for all reports again.
            await rag.ainsert([document.text for document in corpus])
            self._guard.check()
        finally:
            self._stage.close()
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
            notes=(*self._outside(graph, units), *self._notes(corpus)),
        )

    def _enter(self, stage: str) -> None:
        """Time the next of consecutive stages, which nano-graphrag runs within one call."""
        self._stage.close()
        self._stage.enter_context(self._runtime.stage(stage))

    def _library(self, chunks: Sequence[Chunk], units: TextUnits) -> Any:
        """nano-graphrag, ready for one insert.

        It deep-copies its configuration, so every function in it is a closure, not a bound method. Its own limits
        are off, because its limiter polls the clock ten thousand times a second: the guard has a limit.
        """
        nano = library.load()
        storages = library.storages()

        async def extracted(texts: Mapping[str, Any], **given: Any) -> Any:
            return await self._extract(chunks, units, texts, given)

        async def embed(texts: Sequence[str]) -> Vectors:
            self._enter("embed")
            return await self._runtime.embedder.embed_documents(texts)

        async def report(prompt: str, **_: Any) -> str:
            return await self._writer.write(prompt)

        def graph(**given: Any) -> Any:
            stored = storages.LeidenGraph(**given)
            stored.on_clustering, stored.on_clustered = lambda: self._enter("cluster"), self._clustered
            return stored

        return nano.GraphRAG(
            working_dir=str(self._runtime.index_dir),
            chunk_func=lambda *_, **__: [dict(record) for record in units.records],
            entity_extraction_func=extracted,
            entity_extract_max_gleaning=self._params.max_gleaning,
            max_graph_cluster_size=MAX_COMMUNITY_SIZE,
            graph_cluster_seed=self._runtime.seed,
            addon_params={"components": self._params.components},
            embedding_func=library.utilities().EmbeddingFunc(embedding_dim=0, max_token_size=0, func=embed),
            embedding_func_max_async=sys.maxsize,
            best_model_func=report,
            best_model_max_async=sys.maxsize,
            # It counts only descriptions: names and quotes have about the same length.
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
        self._enter("extract")
        # The parameter's name is the library's.
        graph, vectors = given["knwoledge_graph_inst"], given["entity_vdb"]
        if self._params.extractor == "nano":
            if self._chat is None:
                raise RuntimeError("this extractor needs a generator; the system should have rejected the build")
            extraction = LibraryExtraction(self._chat, self._guard)
            extraction.progress = lambda done: self._runtime.progress(done, len(texts), "extracting")
            await extraction.run(texts, units, (graph, vectors), given["global_config"])
            self._failed_chunks = extraction.failed_chunks
            self._failed_descriptions = extraction.failed_descriptions
        else:
            progress = partial(self._runtime.progress, doing="extracting")
            found = await extract(self._params.extractor, chunks, self._chat, progress)
            knowledge = assemble(chunks, found)
            await triplet_extraction.store(knowledge, units, graph, vectors)
            self._failed_chunks = knowledge.failed_chunks
            self._first_failure = next((graph.failure for graph in found if graph.failure), "")
        return graph

    def _clustered(self, communities: int) -> None:
        self._communities = communities
        self._enter("report")

    def _reported(self, done: int) -> None:
        self._runtime.progress(done, self._communities, "reporting")

    def _outside(self, graph: Any, units: TextUnits) -> tuple[str, ...]:
        """Entities in no report, which a search of reports cannot find."""
        outside, entities = graph.outside_communities(), graph.size()[0]
        reported = graph.units_reported()
        inside = [row for key, row in zip(units.in_order(), units.records, strict=True) if key in reported]
        documents = len(doc_ids_of(units.records))
        unreported = documents - len(doc_ids_of(inside))
        if not outside and not unreported:
            return ()
        way_out = " (index.components=all)" if self._params.components == "largest" else ""
        return (
            f"{outside:,} of {entities:,} entities and {unreported:,} of {documents:,} documents are in no "
            f"community's report: mode global cannot find them{way_out}",
        )

    def _notes(self, corpus: Sequence[Document]) -> tuple[str, ...]:
        counts = counted(
            (self._writer.failed, "communities have no report by the model and use a list of their statements"),
            (self._failed_descriptions, "long descriptions could not be summarised and are empty"),
        )
        why = self._first_failure or self._guard.first_failure
        failure = [f"the first failure: {why}"] if why else []
        return (*empty_documents_note(corpus), *counts, *failure)
