"""Texts to windows of token vectors, by a loaded encoder."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from harness.evaluators.bertscore.loading import Loaded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harness.protocols import Vectors

    TokenIds = NDArray[np.int64]
    Weights = NDArray[np.float32]

_UNSTATED = 1_000_000
"""The transformers library writes 1e30 where a tokenizer does not know its longest text."""
_USUAL_WINDOW = 512
_ENDLESS = 10**9
_MOST_WORKERS = 4


class Encoder(Protocol):
    """What turns texts into vectors of their tokens."""

    def split(self, text: str) -> list[TokenIds]:
        """The windows of a text that is not blank; none where it finds no token in it."""
        ...

    def weights(self, window: TokenIds) -> Weights:
        """Shape (tokens,): 0 for marks, 1 for all other tokens."""
        ...

    def embed(self, windows: Iterable[TokenIds]) -> Iterator[Vectors]:
        """For each window, in order, shape (tokens, d), unit rows; they depend on nothing but the window."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...


class TokenEncoder:
    """An encoder as the bert-score package uses it, window by window.

    Windows are embedded alone, never in a batch, whose padding would change the last bits. What a batch would
    gain is gained by embedding several at once in threads of their own; on a busy machine that is also
    several times faster than dividing each operation among the cores.
    """

    def __init__(self, loaded: Loaded) -> None:
        import torch

        self._tokenizer, device = loaded.tokenizer, "cuda" if torch.cuda.is_available() else "cpu"
        self._model: Any = loaded.model.to(device)
        self._window = _longest_window(loaded)
        # The package truncates at this length; windows are made here.
        self._tokenizer.model_max_length = _ENDLESS
        self._head, self._tail = self._marks()
        cores = len(os.sched_getaffinity(0))
        self._workers = min(cores, _MOST_WORKERS) if device == "cpu" else 1
        self._pool = _start_pool(self._workers, max(1, cores // self._workers))

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
        """See `Encoder`: the package gives no weight to [SEP] and [CLS]."""
        unweighed = [self._tokenizer.sep_token_id, self._tokenizer.cls_token_id]
        marks = [one for one in unweighed if one is not None]
        return (~np.isin(window, marks)).astype(np.float32)

    def embed(self, windows: Iterable[TokenIds]) -> Iterator[Vectors]:
        """See `Encoder`; a few windows are under way at once."""
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
        """End the threads and let go of the model."""
        self._pool.shutdown(cancel_futures=True)
        self._model = None

    def _embed(self, window: TokenIds) -> Vectors:
        import torch
        from bert_score.utils import bert_encode

        from harness.models.vectors import unit_rows

        ids = torch.from_numpy(window)[None].to(self._model.device)
        vectors: Vectors = bert_encode(self._model, ids, torch.ones_like(ids))[0].float().cpu().numpy()
        return unit_rows(vectors)

    def _ids(self, text: str) -> TokenIds:
        from bert_score.utils import sent_encode

        return np.array(sent_encode(self._tokenizer, text), dtype=np.int64)

    def _marks(self) -> tuple[int, int]:
        """How many marks the tokenizer sets before and behind a text."""
        marks = set(self._tokenizer.all_special_ids) - {self._tokenizer.unk_token_id}
        ids = self._ids("a").tolist()
        return _leading(marks, ids), _leading(marks, ids[::-1])


def _leading(marks: set[int], ids: list[int]) -> int:
    return sum(1 for _ in takewhile(marks.__contains__, ids))


def _longest_window(loaded: Loaded) -> int:
    """In tokens, marks included: what the tokenizer states and the model has positions for."""
    stated = loaded.tokenizer.model_max_length
    positions = getattr(loaded.model.config, "max_position_embeddings", None) or 0
    if positions <= 0:
        return int(stated) if stated < _UNSTATED else _USUAL_WINDOW
    # RoBERTa and its kin have two positions more than tokens.
    return int(min(stated, positions)) if stated < _UNSTATED else positions - 2


def _start_pool(workers: int, threads_each: int) -> ThreadPoolExecutor:
    """Threads that compute with `threads_each` threads each; torch's setting for everyone else stays as it is."""
    import torch

    before, started = torch.get_num_threads(), threading.Barrier(workers + 1)

    def begin() -> None:
        torch.set_num_threads(threads_each)
        started.wait()

    pool = ThreadPoolExecutor(workers, thread_name_prefix="bertscore", initializer=begin)
    for _ in range(workers):
        pool.submit(int)
    started.wait()
    torch.set_num_threads(before)
    return pool
