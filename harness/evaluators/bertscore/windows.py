"""Splits texts into windows of token vectors, for every encoder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from harness.models.cpu_count import usable_cores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harness.protocols import Vectors

    TokenIds = NDArray[np.int64]
    Weights = NDArray[np.float32]

MOST_WORKERS = 4


class Encoder(Protocol):
    """Embeds the tokens of texts."""

    def split(self, text: str) -> list[TokenIds]:
        """The windows of a text that is not blank; none if it has no token."""
        ...

    def weights(self, window: TokenIds) -> Weights:
        """Shape (tokens,): 0 for special tokens, otherwise 1."""
        ...

    def embed(self, windows: Iterable[TokenIds]) -> Iterator[Vectors]:
        """For each window, in order, shape (tokens, d), unit rows; independent of the other windows."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...


class Marks(NamedTuple):
    """The special tokens around a text."""

    head: int
    """Number of special tokens before it."""
    tail: int
    """Number of special tokens after it."""
    unweighed: Sequence[int]
    """The ids with weight 0: [SEP] and [CLS], as in the bert-score package."""


class WindowEncoder(ABC):
    """Windows are embedded one at a time, since padding in a batch would change the last bits. Several threads
    embed at once instead; on a busy machine that is also several times faster than splitting each operation among
    cores.
    """

    def __init__(self, marks: Marks, window: int, pool: ThreadPoolExecutor, workers: int) -> None:
        """`window`: tokens of the longest, marks included; `pool` has `workers` threads."""
        self._head, self._tail, self._unweighed = marks
        self._window, self._pool, self._workers = window, pool, workers

    @abstractmethod
    def _ids(self, text: str) -> TokenIds:
        """The tokens of a text, special tokens included."""

    @abstractmethod
    def _embed(self, window: TokenIds) -> Vectors:
        """Embed one window; called in the threads of the pool."""

    def split(self, text: str) -> list[TokenIds]:
        """See `Encoder`: as few windows as hold the text, of nearly the same length."""
        ids = self._ids(text)
        body = ids[self._head : len(ids) - self._tail]
        if not self.weights(body).any():
            return []
        room = self._window - self._head - self._tail
        head, tail = ids[: self._head], ids[len(ids) - self._tail :]
        return [np.concatenate([head, piece, tail]) for piece in np.array_split(body, -(-len(body) // room))]

    def weights(self, window: TokenIds) -> Weights:
        """See `Encoder`."""
        return (~np.isin(window, self._unweighed)).astype(np.float32)

    def embed(self, windows: Iterable[TokenIds]) -> Iterator[Vectors]:
        """See `Encoder`; a few windows at a time."""
        waiting: deque[Future[Vectors]] = deque()
        try:
            for window in windows:
                waiting.append(self._pool.submit(self._embed, window))
                if len(waiting) > 2 * self._workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(cancel_futures=True)


def workers_here() -> int:
    """Number of windows to embed in parallel on this machine."""
    return min(usable_cores(), MOST_WORKERS)
