"""Passages by the words they share with a question: BM25 (Robertson & Zaragoza 2009), by the library bm25s.

Lucene's variant, k1 = 1.5 and b = 0.75. Terms of any script (`harness.core.scripts.search_terms`), without English
stop words.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.core.errors import need
from harness.core.scripts import bm25_terms
from systems.common.vector_index import passage, passage_metadata

if TYPE_CHECKING:
    from harness.core.records import Context
    from systems.common.chunking import Chunk

_PASSAGES, _STARTS = "passages.jsonl", "starts.npy"


class WordIndex:
    """Build once with `create`, open in another process with `open`, ask with `search`."""

    def __init__(self, folder: Path, ranking: Any, starts: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        self._ranking = ranking
        self._starts = starts
        self._passages = (folder / _PASSAGES).open("rb")

    @staticmethod
    def create(folder: Path, chunks: Sequence[Chunk], texts: Sequence[str]) -> None:
        """Store the chunks under `folder`; chunks[i] is found by the words of texts[i]."""
        folder.mkdir(parents=True)
        starts = [0]
        with (folder / _PASSAGES).open("wb") as file:
            for chunk in chunks:
                row = {"text": chunk.text, "metadata": passage_metadata(chunk)}
                starts.append(starts[-1] + file.write(json.dumps(row).encode() + b"\n"))
        np.save(folder / _STARTS, np.array(starts, dtype=np.int64))
        words = bm25_terms(texts)
        # The library cannot count a corpus without any word.
        if any(words):
            import bm25s

            ranking = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
            ranking.index(words, show_progress=False)
            ranking.save(folder, show_progress=False)

    @classmethod
    def open(cls, folder: Path) -> WordIndex:
        """The stored index; its texts stay on disk."""
        ranking = None
        # An index without any word has no such file.
        if (folder / "params.index.json").exists():
            import bm25s

            ranking = bm25s.BM25.load(folder, show_progress=False)
        return cls(folder, ranking, np.load(folder / _STARTS))

    def search(self, text: str, k: int) -> list[Context]:
        """The k passages that rank highest of those that share a word with `text`; equal ones in corpus order."""
        return [self.passage(number, score) for number, score in self.rank(text)[:k]]

    def rank(self, text: str) -> list[tuple[int, float]]:
        """Number and score of every passage that shares a word with `text`, in the order of `search`."""
        (words,) = bm25_terms([text])
        if self._ranking is None or not words:
            return []
        scores = self._ranking.get_scores(words)
        # argsort() is stable: ties stay in corpus order.
        order = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores > 0)]
        return list(zip(order.tolist(), scores[order].tolist(), strict=True))

    def passage(self, number: int, score: float | None = None) -> Context:
        """The passage with this number in corpus order."""
        start, end = int(self._starts[number]), int(self._starts[number + 1])
        # Several threads read one file: none may move the others' place in it.
        row = json.loads(os.pread(self._passages.fileno(), end - start, start))
        return passage(row["text"], row["metadata"], score)

    def close(self) -> None:
        self._passages.close()


def check_word_index() -> None:
    """Raise MissingDependency if the library is not installed."""
    need("system-naive", "bm25s")
