"""The stored passages that systems share, and what systems over them have in common. Naive, recursive, hyde,
contextual, crag and agentic differ in how they answer, and not in what they store.
"""

from collections.abc import Sequence
from typing import Any, Generic, Literal, TypeVar

from harness.core.errors import ConfigError, need
from harness.core.records import Document, IndexStats, Places, Work
from harness.protocols import EMBEDS, GENERATES, NO_ROLE, Role, Runtime, SystemSpec, Vectors
from systems.common.chunking import Chunk, ChunkParams, check_splitter, iter_chunks
from systems.common.expected_calls import PassageFacts
from systems.common.search import PassageSearch, SearchParams, load_reranker
from systems.common.vector_index import PassageIndex
from systems.common.word_index import WordIndex, check_word_index

T = TypeVar("T")


def loaded(part: T | None) -> T:
    """The part; RuntimeError before load()."""
    if part is None:
        raise RuntimeError("answer() was called before load()")
    return part


INDEX_KIND = "passages/3"
"""The `index_kind` of every system with `build_passages` as its whole index: they share one stored index."""


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
        return chunk.shown if self.headings is True else chunk.text


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


async def build_passages(runtime: Runtime, corpus: Sequence[Document], params: PassageParams) -> IndexStats:
    """Chunk, embed and store the corpus under `runtime.index_dir`."""
    with runtime.stage("chunk"):
        chunks = list(iter_chunks(corpus, params))
        texts = [params.searched_text(chunk) for chunk in chunks]
    store_passages(runtime, chunks, texts, await embed(runtime, texts) if params.vectors else None)
    return index_stats(corpus, chunks)


async def embed(runtime: Runtime, texts: Sequence[str]) -> Vectors:
    """Their vectors, for `store_passages`."""
    with runtime.stage("embed"):
        return await runtime.embedder.embed_documents(texts)


def store_passages(
    runtime: Runtime, chunks: Sequence[Chunk], texts: Sequence[str], vectors: Vectors | None
) -> None:
    """Store chunks[i], found by vectors[i] and by the words of texts[i]."""
    if vectors is not None:
        with runtime.stage("store"):
            PassageIndex.create(runtime.index_dir / "vectors", chunks, vectors)
    with runtime.stage("words"):
        WordIndex.create(runtime.index_dir / "words", chunks, texts)


def open_passages(runtime: Runtime, params: SearchParams) -> PassageSearch:
    """The stored passages, opened as far as the search needs them."""
    load_reranker(runtime, params)
    vectors = PassageIndex.open(runtime.index_dir / "vectors") if params.is_dense else None
    words = WordIndex.open(runtime.index_dir / "words") if params.needs_words else None
    return PassageSearch(runtime, params, vectors, words)


def counted(*found: tuple[int, str]) -> tuple[str, ...]:
    """Notes of an index: every number that is not 0, with what it counts."""
    return tuple(f"{number} {what}" for number, what in found if number)


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
    return counted((empty, "documents have no text"))


Index = TypeVar("Index", bound=PassageParams)
Answer = TypeVar("Answer", bound=SearchParams)


class PassageSystem(Generic[Index, Answer]):
    """Indexes, opens and closes stored passages; subclasses answer. See `harness.protocols.System`."""

    def __init__(self, index: Index, answer: Answer, runtime: Runtime) -> None:
        self._index_params = index
        self._params = answer
        self._runtime = runtime
        self._opened: PassageSearch | None = None

    @property
    def _passages(self) -> PassageSearch:
        return loaded(self._opened)

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Chunk and store, with vectors and keywords."""
        return await build_passages(self._runtime, corpus, self._index_params)

    async def load(self) -> None:
        self._opened = open_passages(self._runtime, self._params)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


def passage_system_spec(**given: Any) -> SystemSpec:
    """The spec of a system over stored passages, in which `given` replaces fields."""
    shared = {
        "index_params": PassageParams,
        "index_roles": index_roles,
        "settle": settle_vectors,
        "answer_roles": lambda _, answer: answer.search_roles | GENERATES,
        "index_kind": INDEX_KIND,
        "reranker": lambda answer: answer.reranker,
        "preflight": check_passages,
    }
    return SystemSpec(**{**shared, **given})
