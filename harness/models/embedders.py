"""Embedders: MiniLM on this machine, any sentence-transformers model, any OpenAI-compatible endpoint."""

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from harness.config import EmbedderConfig
from harness.errors import MissingDependency, ModelUnavailable
from harness.models.catalogue import MINILM_ONNX, MINILM_TOKENIZER
from harness.models.clients import OpenAIEmbedding, open_client, unit_rows
from harness.models.embedding_cache import EmbeddingCache
from harness.models.metering import current_meter
from harness.models.transport import Seam
from harness.models.weights import fetch

if TYPE_CHECKING:
    from harness.protocols import Vectors

MINILM_MAX_TOKENS = 256
"""As the model card of all-MiniLM-L6-v2 sets it: what follows in a longer text is not seen."""

_MINILM_BATCH = 4
"""On a CPU a larger batch is no faster, and 32 full-length texts at once take 1.5 GB instead of 0.4."""

EmbedProgress = Callable[[int, int], None]
"""progress(texts done, texts in all)."""


class TextEncoder(Protocol):
    """Texts to unit vectors, without cache or metering."""

    async def embed(self, texts: Sequence[str]) -> "Vectors":
        """Shape (len(texts), d)."""
        ...


class CachedEmbedder:
    """The `Embedder` a system gets: documents through the content cache, queries never."""

    def __init__(
        self, encoder: TextEncoder, cache: EmbeddingCache, batch_size: int, progress: EmbedProgress | None = None
    ) -> None:
        self._encoder = encoder
        self._cache = cache
        self._batch_size = batch_size
        self._progress = progress or (lambda _done, _total: None)

    async def embed_documents(self, texts: Sequence[str]) -> "Vectors":
        """See `harness.protocols.Embedder`. Each finished batch is kept, so a killed index resumes there."""
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        meter, missing = current_meter(), self._cache.missing(texts)
        # A text that stands twice in a first build comes from no cache.
        meter.cached_from.update(self._cache.payers(texts).values())
        # Texts of like length together: padding is work for nothing.
        missing.sort(key=len)
        done = len(texts) - len(missing)
        self._progress(done, len(texts))
        for start in range(0, len(missing), self._batch_size):
            batch = missing[start : start + self._batch_size]
            self._cache.add(batch, await self._encoder.embed(batch))
            done += len(batch)
            meter.embedded_texts += len(batch)
            self._progress(done, len(texts))
        return self._cache.get(texts)

    async def embed_query(self, text: str) -> "Vectors":
        """See `harness.protocols.Embedder`."""
        current_meter().embedded_texts += 1
        row: Vectors = (await self._encoder.embed([text]))[0]
        return row


class MiniLM:
    """all-MiniLM-L6-v2 on onnxruntime: mean pooling over tokens, unit length (Reimers and Gurevych, 2019).

    The weights are stored as int8 and computed in float32, so a text's vector does not depend on its batch.
    """

    def __init__(self, threads: int | None = None) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingDependency(
                "the minilm embedder needs onnxruntime and tokenizers", "pip install 'rag-harness[rag]'"
            ) from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or len(os.sched_getaffinity(0))
        self._session = onnxruntime.InferenceSession(
            str(fetch(MINILM_ONNX)), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = Tokenizer.from_file(str(fetch(MINILM_TOKENIZER)))
        self._tokenizer.enable_truncation(MINILM_MAX_TOKENS)
        self._tokenizer.enable_padding()

    async def embed(self, texts: Sequence[str]) -> "Vectors":
        """Shape (len(texts), 384), unit rows."""
        batches = [list(texts[start : start + _MINILM_BATCH]) for start in range(0, len(texts), _MINILM_BATCH)]
        return np.concatenate([await asyncio.to_thread(self._embed, batch) for batch in batches])

    def _embed(self, texts: list[str]) -> "Vectors":
        encoded = self._tokenizer.encode_batch(texts)
        ids = np.array([item.ids for item in encoded], dtype=np.int64)
        mask = np.array([item.attention_mask for item in encoded], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, inputs)[0]
        pooled = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return unit_rows(pooled.astype(np.float32))


class SentenceTransformerEncoder:
    """Any sentence-transformers model, by hub name or folder."""

    def __init__(self, name: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingDependency(
                "sentence-transformers is not installed", "run scripts/setup --torch, or choose provider=minilm"
            ) from error
        try:
            self._model: Any = SentenceTransformer(name)
        except Exception as error:
            raise ModelUnavailable(
                f"cannot load the sentence-transformers model '{name}' ({type(error).__name__})",
                "check the name, connect to the network, or give the path of a folder that holds it",
            ) from error

    async def embed(self, texts: Sequence[str]) -> "Vectors":
        """Shape (len(texts), d), unit rows."""
        return await asyncio.to_thread(self._embed, list(texts))

    def _embed(self, texts: list[str]) -> "Vectors":
        vectors = self._model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
        return unit_rows(np.asarray(vectors, dtype=np.float32))


def build_embedder(
    config: EmbedderConfig, seam: Seam, cache: EmbeddingCache, progress: EmbedProgress | None = None
) -> CachedEmbedder:
    """The embedder of a resolved config."""
    return CachedEmbedder(_encoder(config, seam), cache, config.batch_size, progress)


def embedder_cache_key(config: EmbedderConfig) -> str:
    """What determines a text's vector: the name under which the embedding cache keeps it."""
    return f"{config.provider}/{config.model}/{config.base_url or ''}"


def _encoder(config: EmbedderConfig, seam: Seam) -> TextEncoder:
    if config.provider == "minilm":
        return MiniLM(config.options.get("threads"))
    if config.provider == "sentence-transformers":
        return SentenceTransformerEncoder(str(config.model))
    return OpenAIEmbedding(config, open_client(config, seam))
