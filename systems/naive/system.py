"""Naive RAG: chunk, embed, take the nearest passages, generate once."""

from collections.abc import Sequence

from pydantic import Field

from harness.protocols import Params, Runtime, SystemSpec
from harness.records import Document, IndexStats, Prediction, Query
from systems.naive.expected import expect
from systems.parts.answering import generate_answer
from systems.parts.chunking import ChunkParams
from systems.parts.passages import INDEX_KIND, Passages
from systems.parts.prompts.answers import AnswerStyle


class AnswerParams(Params):
    """What a change of may reuse the index."""

    top_k: int = Field(10, ge=1, le=1000)
    """Passages handed to the generator."""
    style: AnswerStyle = "short"
    """`short`: a word or name, as the thesis asks; `sentence`: for data sets with free-text references."""


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
        answer = await generate_answer(self._runtime, query, contexts, self._answer_params.style)
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
    index_kind=INDEX_KIND,
    expect=expect,
)
