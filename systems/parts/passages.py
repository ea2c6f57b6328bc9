"""The stored passages that systems share: chunk, embed and store once, search by a text."""

from collections.abc import Sequence

from harness.protocols import Params, Runtime
from harness.records import Context, Document, IndexStats
from systems.parts.chunking import ChunkParams, iter_chunks
from systems.parts.vector_index import PassageIndex, check_chroma

INDEX_KIND = "passages/1"
"""The `index_kind` of every system whose whole index is `Passages.build`: they share one stored index."""


def check_passages(_index_params: Params, _answer_params: Params) -> None:
    """The `preflight` of every system over passages alone."""
    check_chroma()


class Passages:
    """`build` once, `open` in another process, `search`; every part of it is timed as a stage."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._index: PassageIndex | None = None

    async def build(self, corpus: Sequence[Document], params: ChunkParams) -> IndexStats:
        """Chunk, embed and store under `runtime.index_dir`."""
        with self._runtime.stage("chunk"):
            chunks = list(iter_chunks(corpus, params))
        with self._runtime.stage("embed"):
            vectors = await self._runtime.embedder.embed_documents([chunk.text for chunk in chunks])
        with self._runtime.stage("store"):
            self._index = PassageIndex.create(self._runtime.index_dir, chunks, vectors)
        return IndexStats(documents=len(corpus), chunks=len(chunks), notes=empty_documents_note(corpus))

    def open(self) -> None:
        """Open what `build` stored."""
        self._index = PassageIndex.open(self._runtime.index_dir)

    async def search(self, text: str, k: int) -> list[Context]:
        """The k passages nearest to `text` by cosine, best first, each with its score and span."""
        if self._index is None:
            raise RuntimeError("answer() was called before load()")
        with self._runtime.stage("embed_query"):
            vector = await self._runtime.embedder.embed_query(text)
        with self._runtime.stage("retrieve"):
            return await self._index.search(vector, k)

    def close(self) -> None:
        """Release the store; also where nothing was opened."""
        if self._index is not None:
            self._index.close()


def empty_documents_note(corpus: Sequence[Document]) -> tuple[str, ...]:
    """The note of an index over documents some of which hold no text."""
    empty = sum(1 for document in corpus if not document.text.strip())
    return (f"{empty} documents hold no text",) if empty else ()
