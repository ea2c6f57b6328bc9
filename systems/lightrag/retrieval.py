"""Retrieves the contexts that LightRAG would show its model."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.core.records import Context, Step
from harness.llm_utils.structured_output import Question, ask_json
from harness.protocols import ChatModel, Message, Runtime
from systems.common.answers import Found
from systems.common.headings import with_origins
from systems.common.wrapped_libraries import entity_text, relation_text
from systems.lightrag import library
from systems.lightrag.chunk_positions import ChunkPlaces
from systems.lightrag.library import Embedding
from systems.lightrag.params import KEYWORDS_MAX_TOKENS, KEYWORDS_SCHEMA, AnswerParams

# The library's 6,000 and 8,000 of 30,000 tokens.
_ENTITIES, _RELATIONS = 0.20, 0.27


class OpenedIndex:
    def __init__(self, runtime: Runtime, params: AnswerParams, places: ChunkPlaces, rag: Any) -> None:
        self._runtime = runtime
        self._params = params
        self._places = places
        self._rag = rag

    @classmethod
    async def open(cls, runtime: Runtime, params: AnswerParams) -> "OpenedIndex":
        """The index in `runtime.index_dir`; an empty index needs no library."""
        places = ChunkPlaces.read(runtime.index_dir)
        rag = _library(runtime, places.dimension, runtime.index_dir) if places.chunks else None
        if rag is not None:
            await rag.initialize_storages()
        return cls(runtime, params, places, rag)

    async def find(self, question: str) -> Found:
        """The library's search result, with the keywords used; empty if it considers the question too short."""
        if self._rag is None:
            return Found()
        try:
            found = await self._rag.aquery_data(question, self._query_param(question))
        except library.too_short():
            return Found(trace=(Step(name="found", content="nothing: the question is too short"),))
        data, metadata = found.get("data") or {}, found.get("metadata") or {}
        contexts = (
            *(self._entity(row) for row in data.get("entities", ())),
            *(self._relation(row) for row in data.get("relationships", ())),
            *(self._places.passage(row["chunk_id"], row["content"]) for row in data.get("chunks", ())),
        )
        named = tuple(context for context in contexts if context is not None)
        if not named:
            return Found(trace=(Step(name="found", content=f"nothing: {found.get('message')}"),))
        return Found(named, trace=_keyword_steps(metadata.get("keywords") or {}))

    def _query_param(self, question: str) -> Any:
        params = self._params
        # Without a generator, the question itself replaces its keywords.
        keywords = [question] if self._runtime.chat is None else []
        return library.load().QueryParam(
            mode=params.mode,
            only_need_context=True,
            top_k=params.top_k,
            chunk_top_k=params.chunk_top_k,
            max_entity_tokens=int(_ENTITIES * params.context_tokens),
            max_relation_tokens=int(_RELATIONS * params.context_tokens),
            max_total_tokens=params.context_tokens,
            hl_keywords=keywords,
            ll_keywords=keywords,
            enable_rerank=False,
        )

    def _entity(self, row: Mapping[str, Any]) -> Context | None:
        return self._graph_context(row, entity_text(row["entity_name"], row["entity_type"], row["description"]))

    def _relation(self, row: Mapping[str, Any]) -> Context | None:
        return self._graph_context(row, relation_text(row["src_id"], row["tgt_id"], row["description"]))

    def _graph_context(self, row: Mapping[str, Any], text: str) -> Context | None:
        """The text of a node or an edge with its sources; None if no chunk states it."""
        places = self._places.stating(row["source_id"])
        doc_ids = tuple(dict.fromkeys(doc_id for place in places for doc_id in place.doc_ids))
        origins = [origin for place in places for origin in place.origins]
        return Context(text=with_origins(text, origins), doc_ids=doc_ids, kind="triplet") if doc_ids else None


def _keyword_steps(keywords: Mapping[str, list[str]]) -> tuple[Step, ...]:
    said = [f"{level}: {', '.join(words)}" for level, words in keywords.items() if words]
    return (Step(name="keywords", content="\n".join(said)),) if said else ()


def _library(runtime: Runtime, dimension: int, folder: Path) -> Any:
    embedding = Embedding(runtime, dimension)

    async def embed(texts: list[str], **_: Any) -> Any:
        return await embedding.of_query(texts)

    async def keywords(prompt: str, **_: Any) -> str:
        if runtime.chat is None:
            raise RuntimeError("keywords stand in the question where no generator writes them")
        with runtime.stage("keywords"):
            return await _ask_keywords(runtime.chat, prompt)

    return library.new(folder, dimension, embed=embed, keywords=keywords)


async def _ask_keywords(chat: ChatModel, prompt: str) -> str:
    """The reply as JSON; Unreadable if two replies are not JSON, which is a failure and not an abstention."""
    question = Question((Message("user", prompt),), KEYWORDS_SCHEMA, json.dumps, KEYWORDS_MAX_TOKENS)
    return (await ask_json(chat, question)).value
