"""Greedy matching of tokens over several windows, and the table of token vectors that it reads."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.core.errors import explained_io
from harness.evaluators.bertscore.loading import Encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harness.protocols import Vectors


@dataclass(frozen=True)
class Window:
    vectors: Vectors
    """Shape (tokens, d), unit rows."""
    weights: NDArray[np.float32]
    """Shape (tokens,): 1, or 0 for special tokens such as [SEP]."""

    @property
    def n_tokens(self) -> int:
        return int(self.weights.sum())

    def total(self, cosines: NDArray[np.float32]) -> float:
        return float((cosines * self.weights).sum(dtype=np.float64))


@dataclass(frozen=True)
class Agreement:
    """Precision and recall of two token sets, and their sizes without special tokens."""

    precision: float
    recall: float
    candidate_tokens: int
    reference_tokens: int

    @property
    def f1(self) -> float:
        """The harmonic mean; 0 where either is not positive."""
        if self.precision <= 0 or self.recall <= 0:
            return 0.0
        return 2 * self.precision * self.recall / (self.precision + self.recall)


NOTHING = Agreement(0.0, 0.0, 0, 0)


def match(candidate: Iterable[Window], reference: Sequence[Window]) -> Agreement:
    """Precision and recall of the pooled tokens (Zhang et al. 2020, section 3); one candidate window at a time.

    Either side without a token that weighs anything: both are 0.
    """
    reached = [np.full(len(window.weights), -1.0, dtype=np.float32) for window in reference]
    found, tokens = 0.0, 0
    for window in candidate:
        best = np.full(len(window.weights), -1.0, dtype=np.float32)
        for other, highest in zip(reference, reached, strict=True):
            cosines = window.vectors @ other.vectors.T
            np.maximum(best, cosines.max(axis=1), out=best)
            np.maximum(highest, cosines.max(axis=0), out=highest)
        found += window.total(best)
        tokens += window.n_tokens
    wanted = sum(window.n_tokens for window in reference)
    if not tokens or not wanted:
        return Agreement(0.0, 0.0, tokens, wanted)
    recalled = sum(window.total(highest) for highest, window in zip(reached, reference, strict=True))
    return Agreement(found / tokens, recalled / wanted, tokens, wanted)


class TokenTable:
    """Texts and the windows of their tokens, across queries, systems and runs.

    The vectors of 7,000 passages of 1,200 characters take 3 GB with MiniLM: they are in an unnamed file, which
    disappears with the process, and memory holds only a few windows.
    """

    def __init__(self, encoder: Encoder, folder: Path, most_windows: int | None = None) -> None:
        """`most_windows`: how many of a text count; None: all."""
        self._encoder, self._folder, self._most_windows = encoder, folder, most_windows
        with explained_io("write to", folder):
            folder.mkdir(parents=True, exist_ok=True)
            # Unbuffered, so that a full disk raises here and not at close.
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - closed by close()
        self._end = 0
        self._kept: dict[str, list[tuple[int, tuple[int, ...], NDArray[np.float32]]]] = {}
        """The windows of a text: place and shape of the vectors, and the weights."""

    def missing(self, texts: Iterable[str]) -> list[str]:
        """The texts that `add` would have to embed: distinct, in order, blank ones left out."""
        distinct = dict.fromkeys(text.strip() for text in texts)
        return [text for text in distinct if text and text not in self._kept]

    def add(self, texts: Iterable[str]) -> Iterator[str]:
        """Embed missing texts, reporting each; a full disk raises `StoreError`."""
        missing = [(text, self._encoder.split(text)[: self._most_windows]) for text in self.missing(texts)]
        vectors = self._encoder.embed(window for _, windows in missing for window in windows)
        for text, windows in missing:
            # In this order, zip consumes no vector after the last window.
            pairs = zip(windows, vectors, strict=False)
            self._kept[text] = [
                (self._append(found), found.shape, self._encoder.weights(ids)) for ids, found in pairs
            ]
            yield text

    def windows(self, text: str) -> Iterator[Window]:
        """The windows of a text that was added; none of a blank one."""
        for place, shape, weights in self._kept[text.strip()] if text.strip() else ():
            vectors: Vectors = np.empty(shape, dtype=np.float32)
            with explained_io("read from", self._folder):
                self._file.seek(place)
                self._file.readinto(vectors.data)
            yield Window(vectors, weights)

    def close(self) -> None:
        self._file.close()
        self._encoder.close()

    def _append(self, vectors: Vectors) -> int:
        """The place of the vectors in the file."""
        place, left = self._end, memoryview(np.ascontiguousarray(vectors).data).cast("B")
        with explained_io("write to", self._folder):
            self._file.seek(place)
            while left:
                left = left[self._file.write(left) :]
        self._end += vectors.nbytes
        return place
