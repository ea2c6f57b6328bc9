"""Naive RAG: chunk, index, retrieve the best passages, generate once."""

from collections.abc import Sequence

from harness.core.records import Document, IndexStats, Prediction, Query
from harness.protocols import GENERATES, Runtime, SystemSpec
from systems.common.passages import INDEX_KIND, PassageParams, Passages, check_passages, index_roles
from systems.common.prompts.thesis import answer_by
from systems.naive.expected_calls import expect
from systems.naive.params import AnswerParams


class NaiveSystem:
    """See `harness.protocols.System`."""

    def __init__(self, index: PassageParams, answer: AnswerParams, runtime: Runtime) -> None:
        self._index_params = index
        self._answer_params = answer
        self._runtime = runtime
        self._passages = Passages(runtime, answer)

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Chunk and store, with vectors and keywords."""
        return await self._passages.build(corpus, self._index_params)

    async def load(self) -> None:
        """Open the stored passages."""
        self._passages.open()

    async def answer(self, query: Query) -> Prediction:
        """Retrieve, then generate once."""
        found = await self._passages.search(query.text, self._answer_params.top_k)
        answer = await answer_by(self._runtime, self._answer_params.prompts, query.text, found.contexts)
        return Prediction(answer=answer, contexts=tuple(found.contexts), retrieved=found.ranking)

    def close(self) -> None:
        """Release the store."""
        self._passages.close()


SPEC = SystemSpec(
    name="naive",
    version="1",
    summary="chunk, retrieve the top k passages by embeddings or keywords, generate once",
    also_called=("rag", "vector", "vector-rag", "dense", "basic", "vanilla", "hybrid", "bm25"),
    index_params=PassageParams,
    answer_params=AnswerParams,
    build=NaiveSystem,
    index_roles=index_roles,
    answer_roles=lambda _, answer: answer.search_roles | GENERATES,
    index_kind=INDEX_KIND,
    reranker=lambda answer: answer.rerank,
    preflight=check_passages,
    expect=expect,
)
