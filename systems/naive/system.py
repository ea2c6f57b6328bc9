"""Naive RAG: chunk, embed, take the nearest passages, generate once."""

from collections.abc import Sequence

from pydantic import Field

from harness.protocols import Params, Runtime, SystemSpec
from harness.records import Document, IndexStats, Prediction, Query
from systems.parts.answering import generate_answer
from systems.parts.chunking import ChunkParams, iter_chunks
from systems.parts.prompts import AnswerStyle
from systems.parts.vector_index import PassageIndex


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
        self._passages: PassageIndex | None = None

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Chunk, embed and store."""
        with self._runtime.stage("chunk"):
            chunks = list(iter_chunks(corpus, self._index_params))
        with self._runtime.stage("embed"):
            vectors = await self._runtime.embedder.embed_documents([chunk.text for chunk in chunks])
        with self._runtime.stage("store"):
            self._passages = PassageIndex.create(self._runtime.index_dir, chunks, vectors)
        empty = sum(1 for document in corpus if not document.text.strip())
        notes = (f"{empty} documents hold no text",) if empty else ()
        return IndexStats(documents=len(corpus), chunks=len(chunks), notes=notes)

    async def load(self) -> None:
        """Open the stored passages."""
        self._passages = PassageIndex.open(self._runtime.index_dir)

    async def answer(self, query: Query) -> Prediction:
        """Retrieve by cosine, then generate once."""
        if self._passages is None:
            raise RuntimeError("answer() was called before load()")
        with self._runtime.stage("embed_query"):
            vector = await self._runtime.embedder.embed_query(query.text)
        with self._runtime.stage("retrieve"):
            contexts = await self._passages.search(vector, self._answer_params.top_k)
        answer = await generate_answer(self._runtime, query, contexts, self._answer_params.style)
        return Prediction(answer=answer, contexts=tuple(contexts))

    def close(self) -> None:
        """Release the store."""
        if self._passages is not None:
            self._passages.close()


SPEC = SystemSpec(
    name="naive",
    version="1",
    summary="chunk, embed, take the top k passages by cosine, generate once",
    index_params=ChunkParams,
    answer_params=AnswerParams,
    build=NaiveSystem,
    # Systems that retrieve from the same passages share one stored index.
    index_kind="passages/1",
)
