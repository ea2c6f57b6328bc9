"""Retrieval over all documents for a question: BM25 and, with an embedder, vectors, fused by rank."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.core.errors import need
from harness.core.records import Context, Document
from harness.core.scripts import search_terms
from harness.extensions.testset.excerpts import passages_of

if TYPE_CHECKING:
    from harness.protocols import Embedder, Vectors

PASSAGE = 800
"""Characters of the searched passages."""
FOUND = 8
"""Number of passages that are checked."""
_RANK_OFFSET = 60
"""The constant of reciprocal rank fusion (Cormack et al. 2009)."""


class PassageSearch:
    """Lexical and vector search over all passages of some documents."""

    def __init__(self, documents: Sequence[Document], embedder: "Embedder | None") -> None:
        need("questions", "bm25s")
        self._passages = [
            Context(text=_headed(document, text), doc_ids=(document.doc_id,))
            for document in documents
            for text in passages_of(document.text, PASSAGE)
        ]
        self._embedder = embedder
        self._vectors: Vectors | None = None
        self._words = _ranking([passage.text for passage in self._passages])

    async def prepare(self) -> None:
        """Embed all passages; must run inside a charge."""
        if self._embedder and self._passages:
            self._vectors = await self._embedder.embed_documents([passage.text for passage in self._passages])

    async def search(self, question: str) -> list[Context]:
        """The top passages, best first."""
        rankings = [await asyncio.to_thread(self._by_words, question)]
        if self._embedder and self._vectors is not None:
            near = self._vectors @ await self._embedder.embed_query(question)
            rankings.append([int(place) for place in np.argsort(-near, kind="stable")[:FOUND]])
        merit: dict[int, float] = {}
        for ranking in rankings:
            for rank, place in enumerate(ranking):
                merit[place] = merit.get(place, 0.0) + 1 / (_RANK_OFFSET + rank)
        best = sorted(merit, key=lambda place: (-merit[place], place))[:FOUND]
        return [self._passages[place] for place in best]

    def _by_words(self, question: str) -> list[int]:
        (words,) = _words([question])
        if self._words is None or not words:
            return []
        scores = self._words.get_scores(words)
        return [int(place) for place in np.argsort(-scores, kind="stable")[:FOUND] if scores[place] > 0]


def _headed(document: Document, text: str) -> str:
    title = " ".join(document.title.split())
    return f"{title}\n{text}" if title else text


def _ranking(texts: Sequence[str]) -> Any:
    words = _words(texts)
    # bm25s cannot index a corpus without any word.
    if not any(words):
        return None
    import bm25s

    ranking = bm25s.BM25(method="lucene")
    ranking.index(words, show_progress=False)
    return ranking


def _words(texts: Sequence[str]) -> list[list[str]]:
    from bm25s.stopwords import STOPWORDS_EN

    # bm25s cannot store half of a surrogate pair.
    whole = (text.encode(errors="replace").decode() for text in texts)
    return [[term for term in search_terms(text) if term not in STOPWORDS_EN] for text in whole]
