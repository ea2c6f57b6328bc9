"""all-MiniLM-L6-v2 on onnxruntime, in this process: the default embedder."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.config import EmbedderConfig
from harness.core.current_process import usable_cores
from harness.core.errors import ConfigError, need
from harness.core.hashing import digest
from harness.models.huggingface_hub_files import MINILM_ONNX, MINILM_TOKENIZER
from harness.models.providers import ProviderSpec
from harness.models.vectors import unit_rows
from harness.models.weights import fetch
from harness.protocols import Vectors

_FILES = (MINILM_ONNX, MINILM_TOKENIZER)
_NAMES = frozenset({"minilm", "all-minilm-l6-v2"})
MINILM_MAX_TOKENS = 256
"""From the model card; the rest of a longer text is cut off."""
_DIMENSIONS = 384
_BATCH = 4
"""On a CPU a larger batch is no faster, and 32 full-length texts at once take 1.5 GB instead of 0.4."""


def need_onnx() -> None:
    """Raise MissingDependency without onnxruntime."""
    need("provider-minilm", "onnxruntime", "tokenizers")


def onnx_model(model: Path, tokenizer: Path, threads: int) -> tuple[Any, Any]:
    """A session of onnxruntime with so many threads of the CPU, which logs errors only; and a tokenizer."""
    need_onnx()
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return session, Tokenizer.from_file(str(tokenizer))


def minilm_session(threads: int) -> tuple[Any, Any]:
    """MiniLM and its tokenizer, downloaded if missing."""
    need_onnx()
    return onnx_model(fetch(MINILM_ONNX), fetch(MINILM_TOKENIZER), threads)


class MiniLM:
    """Mean pooling over tokens, unit length (Reimers and Gurevych, 2019).

    The weights are stored as int8 and computed in float32, so a text's vector does not depend on its batch.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._session, self._tokenizer = minilm_session(threads or usable_cores())
        self._tokenizer.enable_truncation(MINILM_MAX_TOKENS)
        self._tokenizer.enable_padding()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), 384), unit rows."""
        # Texts are sorted by length, because each batch is padded to its longest one.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        vectors = np.empty((len(texts), _DIMENSIONS), dtype=np.float32)
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            vectors[batch] = await asyncio.to_thread(self._embed, [texts[place] for place in batch])
        return vectors

    def _embed(self, texts: list[str]) -> Vectors:
        encoded = self._tokenizer.encode_batch(texts)
        ids = np.array([item.ids for item in encoded], dtype=np.int64)
        mask = np.array([item.attention_mask for item in encoded], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, inputs)[0]
        pooled = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return unit_rows(pooled.astype(np.float32))


def _resolve(config: EmbedderConfig) -> EmbedderConfig:
    if config.model and config.model.rpartition("/")[2].lower() not in _NAMES:
        # Otherwise a run would be recorded under the name of a model that did not embed it.
        raise ConfigError(
            f"provider 'minilm' is all-MiniLM-L6-v2 and not {config.model}",
            f"--set models.{config.role}.model=null, or choose provider sentence-transformers",
        )
    return config.model_copy(update={"model": config.model or config.provider})


MINILM = ProviderSpec(
    name="minilm",
    summary="all-MiniLM-L6-v2 on this machine (onnxruntime), no key, no call",
    roles=frozenset({"embedder"}),
    resolve=_resolve,
    identity=lambda _config: {"weights_sha256": digest([file.sha256 for file in _FILES])},
    check=lambda _config: need_onnx(),
    weights=lambda _config: _FILES,
    encoder=lambda config: MiniLM(config.options.get("threads")),
    counts_tokens=False,
    is_here=True,
)
