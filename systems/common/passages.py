"""The stored passages that systems share: chunk, embed, store, search."""

import asyncio
from collections.abc import Sequence
from typing import Literal, TypeVar

import numpy as np

from harness.core.errors import ConfigError, need
from harness.core.records import Context, Document, IndexStats, Places, Work
from harness.protocols import EMBEDS, NO_ROLE, Role, Runtime, Vectors
from systems.common.chunking import Chunk, ChunkParams, check_splitter, iter_chunks
from systems.common.expected_calls import PassageFacts
from systems.common.headings import passage_text
from systems.common.search import FoundPassages, SearchParams, best_passages, open_reranker, search_passages
from systems.common.vector_index import PassageIndex
from systems.common.word_index import WordIndex, check_word_index

T = TypeVar("T")


def loaded(part: T | None) -> T:
    """The part; RuntimeError before load()."""
    if part is None:
        raise RuntimeError("answer() was called before load()")
    return part


INDEX_KIND = "passages/3"
"""The `index_kind` of every system with `Passages.build` as its whole index: they share one stored index."""


class SearchedParams(ChunkParams):
    """How documents are split, and which text of a passage is searched."""

    headings: bool | Literal["read"] = "read"
    """The line of title, source and date before passages. `read`: models read it; `true`: it is also searched;
    `false`: neither (thesis).
    """

    @property
    def shows_headings(self) -> bool:
        return self.headings is not False

    def searched_text(self, chunk: Chunk) -> str:
        return passage_text(chunk) if self.headings is True else chunk.text


class PassageParams(SearchedParams):
    vectors: bool = True
    """Whether passages are embedded. If it is not set: only for a search by vectors, see `settle_vectors`."""


def settle_vectors(index: PassageParams, answer: SearchParams) -> PassageParams:
    """The `settle` of every system with stored passages: BM25 needs no vectors, which take most of the time."""
    is_open = "vectors" not in index.model_fields_set
    return index.model_copy(update={"vectors": False}) if is_open and not answer.needs_vectors else index


def index_roles(params: PassageParams) -> frozenset[Role]:
    return EMBEDS if params.vectors else NO_ROLE


def check_passages(index_params: PassageParams, answer_params: SearchParams) -> None:
    """The `preflight` of every system with only passages."""
    check_splitter(index_params)
    check_word_index()
    if index_params.vectors:
        need("system-naive", "chromadb")
    elif answer_params.is_dense:
        raise ConfigError(
            f"answer.search={answer_params.search} searches vectors, but index.vectors=false stores none",
            "choose answer.search=bm25, or leave index.vectors out",
        )


def expected_index(passages: PassageFacts, params: PassageParams) -> Work:
    return passages.embedding(params.headings is True) if params.vectors else Work()


class Passages:
    """`build` once, `open` in another process, `search`; every part of it is timed as a stage."""

    def __init__(self, runtime: Runtime, params: SearchParams) -> None:
        self._runtime = runtime
        self._params = params
        self._vectors: PassageIndex | None = None
        self._words: WordIndex | None = None

    async def build(self, corpus: Sequence[Document], params: PassageParams) -> IndexStats:
        """Chunk, embed and store under `runtime.index_dir`."""
        with self._runtime.stage("chunk"):
            chunks = list(iter_chunks(corpus, params))
            texts = [params.searched_text(chunk) for chunk in chunks]
        self.store(chunks, texts, await self.embed(texts) if params.vectors else None)
        return index_stats(corpus, chunks)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Their vectors, for `store`."""
        with self._runtime.stage("embed"):
            return await self._runtime.embedder.embed_documents(texts)

    def store(self, chunks: Sequence[Chunk], texts: Sequence[str], vectors: Vectors | None) -> None:
        """Store chunks[i], found by vectors[i] and by the words of texts[i]."""
        folder, stage = self._runtime.index_dir, self._runtime.stage
        if vectors is not None:
            with stage("store"):
                self._vectors = PassageIndex.create(folder / "vectors", chunks, vectors)
        with stage("words"):
            self._words = WordIndex.create(folder / "words", chunks, texts)

    def open(self) -> None:
        """Open the stored index, as far as the search needs it."""
        folder, search = self._runtime.index_dir, self._params.search
        if search != "bm25":
            self._vectors = PassageIndex.open(folder / "vectors")
        if search != "dense":
            self._words = WordIndex.open(folder / "words")
        open_reranker(self._runtime, self._params)

    async def search(self, text: str, k: int, hypothetical: Sequence[str] = ()) -> FoundPassages:
        """The k best passages for `text`, each with its score and span, and the ranking below them.

        With hypothetical passages, the vector is the mean of theirs and the text's (Gao et al. 2022), and the
        words are those of all.
        """
        texts, depth = [text, *hypothetical], self._params.depth(k)
        found = await search_passages(
            self._params,
            text,
            depth,
            lambda _, n: self._by_meaning(texts, n),
            lambda _, n: self._by_words("\n".join(texts), n),
        )
        return await best_passages(self._runtime, self._params, text, found, k)

    async def _by_meaning(self, texts: Sequence[str], k: int) -> list[Context]:
        return await self.nearest(await self.embed_query(texts), k)

    async def embed_query(self, texts: Sequence[str]) -> Vectors:
        """The mean of their vectors."""
        with self._runtime.stage("embed_query"):
            vectors = await asyncio.gather(*map(self._runtime.embedder.embed_query, texts))
        mean: Vectors = np.mean(vectors, axis=0)
        return mean

    async def nearest(self, vector: Vectors, k: int, among: Sequence[str] | None = None) -> list[Context]:
        """The k passages nearest to `vector`; with `among`, only of the chunks with these ids."""
        vectors = loaded(self._vectors)
        with self._runtime.stage("retrieve"):
            return await vectors.search(vector, k, among)

    async def _by_words(self, text: str, k: int) -> list[Context]:
        words = loaded(self._words)
        with self._runtime.stage("retrieve"):
            return await words.search(text, k)

    def close(self) -> None:
        for index in (self._vectors, self._words):
            if index is not None:
                index.close()


def index_stats(corpus: Sequence[Document], chunks: Sequence[Chunk]) -> IndexStats:
    return IndexStats(
        documents=len(corpus),
        chunks=len(chunks),
        passages=Places.of(chunk.span for chunk in chunks),
        notes=empty_documents_note(corpus),
    )


def empty_documents_note(corpus: Sequence[Document]) -> tuple[str, ...]:
    """The note of an index with documents without text."""
    empty = sum(1 for document in corpus if not document.text.strip())
    return (f"{empty} documents have no text",) if empty else ()
