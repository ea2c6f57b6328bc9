"""Naive RAG: chunk, embed, take the nearest passages, generate once."""

from collections.abc import Sequence

from harness.protocols import EMBEDS, GENERATES, Runtime, SystemSpec
from harness.records import Document, IndexStats, Prediction, Query
from systems.naive.expected import expect
from systems.naive.params import AnswerParams
from systems.parts.chunking import ChunkParams
from systems.parts.passages import INDEX_KIND, Passages, check_passages


class NaiveSystem:
    """See `harness.protocols.System`."""

    def __init__(self, index: ChunkParams, answer: AnswerParams, runtime: Runtime) -> None:
        self._index_params = index
        self._answer_params = answer
        self._runtime = runtime
        self._passages = Passages(runtime)

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Chunk, embed and store."""
        return await self._passages.build(corpus, self._index_params)

    async def load(self) -> None:
        """Open the stored passages."""
        self._passages.open()

    async def answer(self, query: Query) -> Prediction:
        """Retrieve by cosine, then generate once."""
        contexts = await self._passages.search(query.text, self._answer_params.top_k)
        answer = await self._runtime.answer(query.text, contexts)
        return Prediction(answer=answer, contexts=tuple(contexts))

    def close(self) -> None:
        """Release the store."""
        self._passages.close()


SPEC = SystemSpec(
    name="naive",
    version="1",
    summary="chunk, embed, take the top k passages by cosine, generate once",
    index_params=ChunkParams,
    answer_params=AnswerParams,
    build=NaiveSystem,
    index_roles=EMBEDS,
    answer_roles=EMBEDS | GENERATES,
    index_kind=INDEX_KIND,
    preflight=check_passages,
    expect=expect,
)
