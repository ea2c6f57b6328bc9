"""Texts to windows of token vectors, by any encoder that the bert-score package can load."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.core.current_process import usable_cores
from harness.evaluators.bertscore.loading import Encoder, Loaded, workers_here

if TYPE_CHECKING:
    from harness.evaluators.bertscore.loading import TokenIds
    from harness.protocols import Vectors

_UNSTATED = 1_000_000
"""From here on, the maximum length of a tokenizer says that there is none."""


class TokenEncoder(Encoder):
    """An encoder as the bert-score package uses it, on torch."""

    def __init__(self, loaded: Loaded) -> None:
        import torch

        self._tokenizer, model = loaded
        longest = _longest_window(self._tokenizer.model_max_length, model.config)
        # The package would truncate here; texts are split into windows instead.
        self._tokenizer.model_max_length = 10**9
        device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model: Any = model.to(device)
        workers = workers_here() if device == "cpu" else 1
        pool = _start_pool(workers, max(1, usable_cores() // workers))
        super().__init__(*self._marks(), longest, pool, workers)

    def close(self) -> None:
        super().close()
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

    def _marks(self) -> tuple[int, int, list[int]]:
        """How many special tokens stand before and after a text, and which have no weight."""
        marks = set(self._tokenizer.all_special_ids) - {self._tokenizer.unk_token_id}
        ids = self._ids("a").tolist()
        unweighed = [self._tokenizer.sep_token_id, self._tokenizer.cls_token_id]
        head, tail = (sum(1 for _ in takewhile(marks.__contains__, order)) for order in (ids, ids[::-1]))
        return head, tail, [one for one in unweighed if one is not None]


def _longest_window(stated: int, config: Any) -> int:
    """Maximum tokens of a window, special tokens included: from the tokenizer and the model's positions."""
    positions = getattr(config, "max_position_embeddings", None) or 0
    if positions <= 0:
        return int(stated) if stated < _UNSTATED else 512
    # RoBERTa models have two more positions than tokens.
    return int(min(stated, positions)) if stated < _UNSTATED else positions - 2


def _start_pool(workers: int, threads_each: int) -> ThreadPoolExecutor:
    """Threads that compute with `threads_each` threads each; torch's global setting does not change."""
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
