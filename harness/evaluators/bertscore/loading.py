"""Encoders for BERTScore: MiniLM from the weight cache on onnxruntime or torch, or any model that the
bert-score package can load.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.core.current_process import usable_cores
from harness.core.errors import (
    ConfigError,
    HarnessError,
    MissingDependency,
    ModelUnavailable,
    explained_io,
    install,
)
from harness.core.hashing import folder_digest
from harness.models.huggingface_hub_files import (
    MINILM_ONNX,
    MINILM_TOKENIZER,
    MINILM_TORCH,
    hub_is_reachable,
    hub_revision,
)
from harness.models.providers.minilm import minilm_session, need_onnx
from harness.models.vectors import unit_rows
from harness.models.weights import fetch, weights_dir
from harness.store.atomic_files import write_atomic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harness.protocols import Vectors

    TokenIds = NDArray[np.int64]
    Weights = NDArray[np.float32]


class Encoder(ABC):
    """Embeds the tokens of texts. Windows are embedded one at a time, in several threads, since padding in a batch
    would change the last bits.
    """

    def __init__(
        self, head: int, tail: int, unweighed: Sequence[int], window: int, pool: ThreadPoolExecutor, workers: int
    ) -> None:
        """`head` and `tail`: special tokens before and after a text; `unweighed`: the ids with weight 0, [SEP] and
        [CLS] as in the bert-score package; `window`: tokens of the longest, special ones included; `pool` has
        `workers` threads.
        """
        self._head, self._tail, self._unweighed = head, tail, unweighed
        self._window, self._pool, self._workers = window, pool, workers

    @abstractmethod
    def _ids(self, text: str) -> TokenIds:
        """The tokens of a text, special tokens included."""

    @abstractmethod
    def _embed(self, window: TokenIds) -> Vectors:
        """Embed one window; called in the threads of the pool."""

    def split(self, text: str) -> list[TokenIds]:
        """The windows of a text that is not blank; none if it has no token."""
        ids = self._ids(text)
        body = ids[self._head : len(ids) - self._tail]
        if not self.weights(body).any():
            return []
        room = self._window - self._head - self._tail
        head, tail = ids[: self._head], ids[len(ids) - self._tail :]
        return [np.concatenate([head, piece, tail]) for piece in np.array_split(body, -(-len(body) // room))]

    def weights(self, window: TokenIds) -> Weights:
        """Shape (tokens,): 0 for special tokens, otherwise 1."""
        return (~np.isin(window, self._unweighed)).astype(np.float32)

    def embed(self, windows: Iterable[TokenIds]) -> Iterator[Vectors]:
        """For each window, in order, shape (tokens, d), unit rows; independent of the other windows."""
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
        self._pool.shutdown(cancel_futures=True)


def workers_here() -> int:
    return min(usable_cores(), 4)


class MiniLMTokens(Encoder):
    """The last layer's vectors, weights stored as int8 and computed in float32."""

    def __init__(self) -> None:
        # One thread per window: the last bits of a vector depend on the number of threads.
        self._session, self._tokenizer = minilm_session(1)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        marks = [self._tokenizer.token_to_id(mark) for mark in ("[SEP]", "[CLS]")]
        unweighed = [one for one in marks if one is not None]
        workers = workers_here()
        pool = ThreadPoolExecutor(workers, thread_name_prefix="bertscore")
        super().__init__(1, 1, unweighed, 512, pool, workers)

    def close(self) -> None:
        super().close()
        self._session = None

    def _ids(self, text: str) -> TokenIds:
        # Surrounding white space is stripped, as in the bert-score package.
        return np.array(self._tokenizer.encode(text.strip()).ids, dtype=np.int64)

    def _embed(self, window: TokenIds) -> Vectors:
        ids = window[None]
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden: Vectors = self._session.run(None, inputs)[0][0]
        return unit_rows(hidden)


MINILM = "minilm"
"""MiniLM on onnxruntime. Its numbers differ from those on torch, so its name does too."""
MINILM_ON_TORCH = "minilm-torch"
MINILM_LAYERS = 6
# All other values are BERT's defaults.
_MINILM_CONFIG = {
    "model_type": "bert",
    "hidden_size": 384,
    "intermediate_size": 1536,
    "num_hidden_layers": MINILM_LAYERS,
    "num_attention_heads": 12,
}
_MINILM_TOKENIZER_CONFIG = {"tokenizer_class": "BertTokenizer", "model_max_length": 512}


Loaded = tuple[Any, Any]
"""A tokenizer and a model of the transformers library, without the layers above the selected one."""


def need_packages(name: str) -> None:
    """Raise MissingDependency if a package that this encoder needs is not installed; imports nothing."""
    if name == MINILM:
        need_onnx()
        return
    missing = [package for package in ("torch", "transformers", "bert_score") if find_spec(package) is None]
    if missing:
        fix = f"run scripts/setup --torch, or {install('evaluator-bertscore')}"
        what = f"bertscore with model '{name}' needs {' and '.join(missing)}"
        raise MissingDependency(what, f"{fix}, or use model {MINILM}")


def load(name: str, num_layers: int | None) -> Loaded:
    """The model called `name` (`minilm-torch`, a folder, or a name on the Hugging Face hub), quietly, for torch.

    `num_layers`: which layer's vectors; None: the one the package lists for this model. Raises MissingDependency,
    ModelUnavailable, or ConfigError where no or no such layer is known.
    """
    need_packages(name)
    with _quiet():
        from bert_score import utils

        folder = minilm_folder() if name == MINILM_ON_TORCH else Path(name)
        # A folder by its absolute path: the package takes some names for instructions to download.
        source = str(folder.resolve()) if folder.is_dir() else name
        layers = (
            num_layers
            if num_layers is not None
            else {**utils.model2layers, MINILM_ON_TORCH: MINILM_LAYERS}.get(name)
        )
        if layers is None:
            what = f"the bert-score package does not say which layer of '{name}' to use"
            raise ConfigError(what, "set per_evaluator.bertscore.num_layers")
        try:
            with _offline_if_need_be(source):
                _refuse_mistaken_t5(source)
                return utils.get_tokenizer(source), utils.get_model(source, layers)
        except HarnessError:
            raise
        except AssertionError as error:
            raise ConfigError(str(error), "correct per_evaluator.bertscore.num_layers") from error
        except Exception as error:
            raise ModelUnavailable(
                f"cannot load the BERTScore model '{name}' ({type(error).__name__})",
                f"check the name, connect to the network, name a folder that holds it, or use {MINILM}",
            ) from error


def weights_of(name: str) -> dict[str, str]:
    """The identity of the model's weights: their digests, or the commit on the hub."""
    if (file := {MINILM: MINILM_ONNX, MINILM_ON_TORCH: MINILM_TORCH}.get(name)) is not None:
        return {"encoder": file.sha256, "tokenizer": MINILM_TOKENIZER.sha256}
    return {"encoder": folder_digest(Path(name)) if Path(name).is_dir() else hub_revision(name)}


def minilm_folder() -> Path:
    """all-MiniLM-L6-v2 for the transformers library: a folder of the weight cache, downloaded if missing."""
    folder = weights_dir() / "all-minilm-l6-v2-torch"
    _link(folder / "model.safetensors", fetch(MINILM_TORCH))
    _link(folder / "tokenizer.json", fetch(MINILM_TOKENIZER))
    configs = {"config.json": _MINILM_CONFIG, "tokenizer_config.json": _MINILM_TOKENIZER_CONFIG}
    for path, text in ((folder / name, json.dumps(content)) for name, content in configs.items()):
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_atomic(path, text)
    return folder


def _link(path: Path, target: Path) -> None:
    """The weights may be here or in the hub's cache, and may have moved since the link was made."""
    if path.exists() and path.samefile(target):
        return
    with explained_io("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".link-") as scratch:
            link = Path(scratch, path.name)
            # Relative, so that the cache folder can be moved.
            link.symlink_to(os.path.relpath(target.resolve(), path.parent.resolve()))
            link.replace(path)


def _refuse_mistaken_t5(source: str) -> None:
    """The package reads any name or path with `t5` in it as a T5 model, and would continue with random weights."""
    if "t5" not in source:
        return
    from transformers import AutoConfig

    kind = AutoConfig.from_pretrained(source).model_type
    if "t5" not in kind:
        raise ModelUnavailable(
            f"the bert-score package takes '{source}' for a T5 model because of its name, but it is {kind}",
            "move it to a path without 't5' (RAG_HARNESS_CACHE says where the built-in model is kept)",
        )


@contextmanager
def _offline_if_need_be(source: str) -> Iterator[None]:
    """If the hub cannot be reached, use only its cache: the library would retry for most of a minute."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or Path(source).is_dir() or not hub_is_reachable()
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings and no progress bars of the libraries; their logs and bars stay off afterwards."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers.utils import logging

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        yield


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
