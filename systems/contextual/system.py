"""Contextual retrieval: each chunk is searched together with a context, and read without it."""

import json
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from harness.core.records import Document, Expected, IndexStats, Prediction, Query, Step, Work
from harness.protocols import GENERATES, NO_ROLE, Role, Runtime, SystemSpec, Workload
from systems.common.chunking import Chunk, iter_chunks
from systems.common.expected_calls import answer_call, passages_of, search
from systems.common.headings import under_heading
from systems.common.passage_system import PassageSystem
from systems.common.passages import PassageParams, check_passages, expected_index, index_stats, settle_vectors
from systems.common.passages import index_roles as passage_roles
from systems.common.prompts.thesis import answer_by
from systems.common.search import SearchParams, place_of
from systems.contextual.contexts import LONGEST, expected_contexts, heading_contexts, written_contexts

_WRITTEN_CHARACTERS = LONGEST // 2
"""Assumed length of a written context."""


class IndexParams(PassageParams):
    context: Literal["headings", "model"] = "headings"
    """The context with which a chunk is embedded and searched by words: `headings`: title, source and date of its
    document and the section headings above it; `model`: one or two sentences that a model writes, one call each.
    """
    document_characters: int = Field(12_000, ge=500)
    """With `model`: maximum characters of the document in a call; of a longer one, the part around the chunk."""


class AnswerParams(SearchParams):
    top_k: int = Field(10, ge=1, le=1000)
    """Passages for the generator."""


class ContextualSystem(PassageSystem[IndexParams, AnswerParams]):
    def __init__(self, index: IndexParams, answer: AnswerParams, runtime: Runtime) -> None:
        super().__init__(index, answer, runtime)
        self._path = runtime.index_dir / "contexts.json"
        self._contexts: dict[str, str] = {}

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        params = self._index_params
        with self._runtime.stage("chunk"):
            chunks = list(iter_chunks(corpus, params))
        with self._runtime.stage("context"):
            contexts, reason = await self._contexts_of(chunks)
        # Headings are searched as a context or not at all.
        own = [
            params.searched_text(chunk) if params.context == "model" else chunk.text.strip() for chunk in chunks
        ]
        texts = [under_heading(context or "", text) for context, text in zip(contexts, own, strict=True)]
        places = [f"{chunk.span.doc_id} {chunk.span.start}-{chunk.span.end}" for chunk in chunks]
        self._path.write_text(json.dumps(dict(zip(places, contexts, strict=True))), encoding="utf-8")
        self._passages.store(chunks, texts, await self._passages.embed(texts) if params.vectors else None)
        stats = index_stats(corpus, chunks)
        if params.context == "headings":
            return stats
        failed = contexts.count(None)
        note = f"{failed} chunks have no context, because the call failed; the first reason: {reason}"
        notes = (*stats.notes, note) if failed else stats.notes
        return stats.model_copy(update={"failed_chunks": failed, "notes": notes})

    async def _contexts_of(self, chunks: Sequence[Chunk]) -> tuple[Sequence[str | None], str]:
        """The context of each chunk; None and the first reason where a call failed."""
        if self._index_params.context == "headings":
            return list(heading_contexts(chunks)), ""
        if self._runtime.chat is None:
            raise RuntimeError("contexts by a model need a generator; planning should have rejected the run")

        def progress(done: int, total: int) -> None:
            self._runtime.progress(done, total, "writing contexts")

        most = self._index_params.document_characters
        return await written_contexts(self._runtime.chat, chunks, most, progress)

    async def load(self) -> None:
        self._contexts = json.loads(self._path.read_text(encoding="utf-8"))
        await super().load()

    async def answer(self, query: Query) -> Prediction:
        """Retrieve, then generate once from the chunks without their contexts."""
        found = await self._passages.search(query.text, self._params.top_k)
        answer = await answer_by(self._runtime, self._params.prompts, query.text, found.contexts)
        places = [place_of(context) for context in found.contexts]
        content = "\n".join(
            f"{place}: {' | '.join((self._contexts.get(place) or 'none').splitlines())}" for place in places
        )
        trace = (Step(name="contexts of the passages", content=content),) if places else ()
        return Prediction(answer=answer, contexts=tuple(found.contexts), trace=trace, retrieved=found.ranking)


def index_roles(params: IndexParams) -> frozenset[Role]:
    return passage_roles(params) | (GENERATES if params.context == "model" else NO_ROLE)


def expect(index: IndexParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. Exact in calls; passages are assumed to have the mean length."""
    passages = passages_of(workload.corpus, index)
    is_written = index.context == "model"
    embedded = expected_index(passages, index)
    context = _WRITTEN_CHARACTERS if is_written else max(0.0, passages.mean_shown - passages.mean_characters)
    if embedded.embedded_texts:
        characters = passages.count * (passages.mean_characters + context)
        embedded = passages.embedding().model_copy(update={"embedded_characters": characters})
    calls = expected_contexts(passages, workload.corpus, index.document_characters) if is_written else ()
    call = answer_call(workload, passages.retrieved(answer.top_k), answer.prompts)
    return Expected(
        index=Work(
            calls=calls, embedded_texts=embedded.embedded_texts, embedded_characters=embedded.embedded_characters
        ),
        query=search(workload, [call], searches=int(answer.is_dense)),
    )


SPEC = SystemSpec(
    name="contextual",
    version="1",
    summary="chunks searched with a context from headings or a model, read without it, generate once",
    index_params=IndexParams,
    answer_params=AnswerParams,
    build=ContextualSystem,
    index_roles=index_roles,
    settle=settle_vectors,
    answer_roles=lambda _, answer: answer.search_roles | GENERATES,
    reranker=lambda answer: answer.rerank,
    preflight=check_passages,
    expect=expect,
)
