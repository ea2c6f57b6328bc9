"""Passage search by embeddings, keywords or both, and reranking: for every system that searches passages."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from pydantic import Field

from harness.core.errors import ConfigError
from harness.core.records import Context, Places
from harness.protocols import EMBEDS, NO_ROLE, Role, Runtime, Vectors
from systems.common.answers import Found, PromptParams

if TYPE_CHECKING:
    from harness.core.records import Span
    from systems.common.word_index import WordIndex

Search = Literal["dense", "bm25", "hybrid"]
_RRF_K = 60
"""Cormack, Clarke & Büttcher 2009: a larger value reduces the weight of the very first ranks."""
KEPT = 50
"""Depth of the ranking that a prediction stores; only the first passages become contexts."""


class SearchParams(PromptParams):
    search: Search = "dense"
    """`dense`: nearest vectors to the question; `bm25`: shared words; `hybrid`: both lists, fused by rank."""
    fetch_k: int = Field(100, ge=1, le=10_000)
    """Depth of each of the two lists of `hybrid`, and number of passages that `rerank` reads."""
    rerank: str | None = Field(None, min_length=1)
    """What reranks the fetch_k passages of the search: a cross-encoder (`ms-marco-minilm-l12`, a folder, or a name
    on the Hugging Face hub), or `late-interaction`: ColBERT's MaxSim over the token vectors of MiniLM.
    """

    def depth(self, k: int) -> int:
        """Number of passages to search for if k are used."""
        return max(KEPT, self.read(k))

    def read(self, k: int) -> int:
        return max(k, self.fetch_k) if self.rerank else k

    @property
    def is_dense(self) -> bool:
        return self.search != "bm25"

    @property
    def needs_vectors(self) -> bool:
        """Whether a search looks up stored vectors."""
        return self.is_dense

    @property
    def needs_words(self) -> bool:
        """Whether a search looks up keywords."""
        return self.search != "dense"

    @property
    def reranker(self) -> str | None:
        """The model that reranks, if passages are searched at all."""
        return self.rerank

    @property
    def search_roles(self) -> frozenset[Role]:
        return EMBEDS if self.is_dense else NO_ROLE


class TopKParams(SearchParams):
    top_k: int = Field(10, ge=1, le=1000)
    """Passages for the generator."""


def best_of(ranked: Sequence[Context], k: int) -> Found:
    """The first k, and the ranking."""
    return Found(tuple(ranked[:k]), Places.of(context.span for context in ranked[:KEPT] if context.span))


def load_reranker(runtime: Runtime, params: SearchParams) -> None:
    """Load the model of `params` now, so that its loading time is not part of a query."""
    if params.reranker:
        _ = runtime.reranker


class VectorStore(Protocol):
    """Passages by their vectors."""

    async def nearest_chunks(self, vector: Vectors, k: int, among: Sequence[str] | None = None) -> list[Context]:
        """The k nearest, best first; with `among`, only of the chunks with these ids."""
        ...

    def close(self) -> None: ...


class PassageSearch:
    """Searches stored passages as `params` say; every part is timed as a stage."""

    def __init__(
        self, runtime: Runtime, params: SearchParams, vectors: VectorStore | None, words: WordIndex | None
    ) -> None:
        """`vectors` and `words`: those that `params` need, and no others."""
        self._runtime = runtime
        self._params = params
        self._vectors = vectors
        self._words = words

    async def find(self, text: str, k: int, hypothetical: Sequence[str] = ()) -> Found:
        """The k best passages for `text`, each with its score and span, and the ranking below them."""
        return await self.best(text, await self.ranked(text, self._params.depth(k), hypothetical), k)

    async def ranked(
        self, text: str, k: int, hypothetical: Sequence[str] = (), vector: Vectors | None = None
    ) -> list[Context]:
        """The k best passages for `text` before reranking; `vector`: its embedding, if already computed.

        With hypothetical passages, the vector is the mean of theirs and the text's (Gao et al. 2022), and the
        words are those of all.
        """
        is_hybrid = self._params.search == "hybrid"
        depth = max(k, self._params.fetch_k) if is_hybrid else k
        lists: list[list[Context]] = []
        if self._params.is_dense:
            if vector is None:
                vector = await self.embed_query([text, *hypothetical])
            lists.append(await self.nearest(vector, depth))
        if self._words is not None:
            with self._runtime.stage("retrieve"):
                words = "\n".join([text, *hypothetical])
                lists.append(await asyncio.to_thread(self._words.search, words, depth))
        return fuse(lists, k) if is_hybrid else lists[0]

    async def embed_query(self, texts: Sequence[str]) -> Vectors:
        """The mean of their vectors."""
        with self._runtime.stage("embed_query"):
            vectors = await asyncio.gather(*map(self._runtime.embedder.embed_query, texts))
        mean: Vectors = np.mean(vectors, axis=0)
        return mean

    async def nearest(self, vector: Vectors, k: int, among: Sequence[str] | None = None) -> list[Context]:
        """The k passages nearest to `vector`; with `among`, only of the chunks with these ids."""
        if self._vectors is None:
            raise RuntimeError("this search was opened without vectors")
        with self._runtime.stage("retrieve"):
            return await self._vectors.nearest_chunks(vector, k, among)

    async def best(self, question: str, found: Sequence[Context], k: int) -> Found:
        """The k best of `found`, best first, with the reranker's scores; ties in the order of `found`.

        The model reads passages with their headings, like the generator; passages beyond its limit come last.
        Without a model, the first k.
        """
        params = self._params
        if not params.rerank or not found:
            return best_of(found, k)
        read, behind = found[: params.read(k)], found[params.read(k) :]
        with self._runtime.stage("rerank"):
            scores = await self._runtime.reranker.scores(question, [context.text for context in read])
        # sorted() is stable.
        best = sorted(zip(scores, read, strict=True), key=lambda pair: -pair[0])
        ranked = [context.model_copy(update={"score": score}) for score, context in best]
        return best_of([*ranked, *behind], k)

    def close(self) -> None:
        for index in (self._vectors, self._words):
            if index is not None:
                index.close()


def fuse(lists: Sequence[Sequence[Context]], k: int) -> list[Context]:
    """The k best of several lists of passages by reciprocal rank fusion (Cormack, Clarke & Büttcher 2009).

    The score of a passage is the sum of 1 / (60 + rank) over the lists that contain it. Ties are in the order of
    the first list.
    """
    met: dict[Span | None, Context] = {}
    scores: dict[Span | None, float] = {}
    for found in lists:
        for rank, context in enumerate(found, start=1):
            met.setdefault(context.span, context)
            scores[context.span] = scores.get(context.span, 0.0) + 1 / (_RRF_K + rank)
    best = sorted(scores, key=lambda span: -scores[span])[:k]
    return [met[span].model_copy(update={"score": scores[span]}) for span in best]


def check_generator(runtime: Runtime, parameter: str, value: str, otherwise: str) -> None:
    """Raise ConfigError if the value of `parameter` is `model` and the run has none; `otherwise` needs none."""
    if value == "model" and runtime.chat is None:
        raise ConfigError(
            f"{parameter}=model needs a generator, but models.generator.provider is none",
            f"choose a provider or {parameter}={otherwise}",
        )


def place_of(context: Context) -> str:
    """Where a passage lies, for a trace: `handbook.pdf 100-300`."""
    span = context.span
    return f"{span.doc_id} {span.start}-{span.end}" if span else ", ".join(context.doc_ids)
