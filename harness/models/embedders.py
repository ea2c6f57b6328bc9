"""The metered embedder of a system or an evaluator, with a content-addressed cache of document vectors."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.config import EmbedderConfig
from harness.core.errors import ModelUnavailable
from harness.core.records import Usage
from harness.models.clients import AnyCallContext, OpenAIEmbedding, open_client
from harness.models.embedding_cache import EmbeddingCache
from harness.models.metering import Meter, collect_replayed_calls, current_meter
from harness.models.providers import TextEncoder, provider_of
from harness.models.vectors import BatchTooLarge
from harness.store import StoredCall

if TYPE_CHECKING:
    from harness.protocols import Vectors


EmbedProgress = Callable[[int, int], None]
"""progress(embedded texts, all texts)."""


class CachedEmbedder:
    """The `Embedder` of a system. Documents use the content cache, queries do not."""

    def __init__(
        self, encoder: TextEncoder, cache: EmbeddingCache, batch_size: int, progress: EmbedProgress | None = None
    ) -> None:
        self._encoder = encoder
        self._server = encoder if isinstance(encoder, OpenAIEmbedding) else None
        self._cache = cache
        self._batch_size = batch_size
        self._dimension: int | None = None
        """The length of its vectors."""
        self._progress = progress or (lambda _done, _total: None)
        self._under_way: dict[str, asyncio.Event] = {}
        """What ends when a text that is being embedded is cached."""

    async def embed_documents(self, texts: Sequence[str]) -> "Vectors":
        """See `harness.protocols.Embedder`. Each finished batch is stored, so a killed build resumes there."""
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        # Two queries often embed one text at the same time: it is paid once.
        while ends := next((self._under_way[text] for text in texts if text in self._under_way), None):
            await ends.wait()
        meter, kept = current_meter(), self._cache.payers(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in kept]
        # A text that occurs twice in a first build is not cached, and a cached one counts once.
        self._count_cached(meter, {text: by for text, by in kept.items() if not meter.has_embedded(text)})
        self._progress(len(texts) - len(missing), len(texts))
        ends = asyncio.Event()
        self._under_way |= dict.fromkeys(missing, ends)
        try:
            await self._add_in_batches(missing, len(texts))
        finally:
            for text in missing:
                del self._under_way[text]
            ends.set()
        return self._cache.get(texts)

    async def embed_query(self, text: str) -> "Vectors":
        """See `harness.protocols.Embedder`."""
        current_meter().embedded_texts += 1
        vectors, _, _ = await self._embed([text])
        row: Vectors = vectors[0]
        return row

    async def close(self) -> None:
        """Close its connections, if it uses a server."""
        if self._server:
            await self._server.close()

    def _count_cached(self, meter: Meter, cached: Mapping[str, str]) -> None:
        meter.add_cached(cached, self._cache.seconds(cached))
        if self._server:
            for payer, usage in self._cache.usage(cached).items():
                meter.add_cached_usage(payer, self._server.role, usage)

    async def _add_in_batches(self, missing: Sequence[str], n_all: int) -> None:
        """Embed texts that are not cached. Of `n_all` texts the others were."""
        # Texts of similar length together, to save padding.
        ordered = sorted(missing, key=len)
        start = 0
        while start < len(ordered):
            batch = ordered[start : start + self._batch_size]
            try:
                await self._add(batch)
            except BatchTooLarge:
                self._batch_size = len(batch) // 2
                continue
            start += len(batch)
            current_meter().add_embedded(batch)
            self._progress(n_all - len(ordered) + start, n_all)

    async def _add(self, texts: Sequence[str]) -> None:
        """Embed the texts, and keep their vectors with their cost and payer."""
        began = time.monotonic()
        vectors, usage, replayed = await self._embed(texts)
        if replayed:
            # A lost cache is filled again from the journal, which is no work of this run.
            self._cache.add(texts, vectors, replayed.wall_s, usage, payer=replayed.paid_by)
        else:
            self._cache.add(texts, vectors, time.monotonic() - began, usage)

    async def _embed(self, texts: Sequence[str]) -> "tuple[Vectors, Usage, StoredCall | None]":
        """The vectors, and the journal's call if it answered. ModelUnavailable if they are not as long as those
        that are stored.
        """
        if self._server is None:
            return await self._encoder.embed(texts), Usage(), None
        while True:
            with collect_replayed_calls() as replayed:
                vectors, usage = await self._server.embed_counted(texts)
            self._dimension = self._dimension or self._cache.dimension() or vectors.shape[1]
            if vectors.shape[1] == self._dimension:
                return vectors, usage, replayed[-1] if replayed else None
            # The journal may hold a reply of the other model: asked again.
            if not replayed:
                raise ModelUnavailable(
                    f"the {self._server.named} returns vectors of {vectors.shape[1]} numbers, and the stored ones "
                    f"have {self._dimension}",
                    "serve the earlier model and run again, or give this one another name "
                    f"(models.{self._server.role}.model, or its extra.dimensions), which builds a new index",
                )


class _Within:
    """An encoder in this process. Its work counts as a call, not as waiting for a provider."""

    def __init__(self, encoder: TextEncoder) -> None:
        self._encoder = encoder

    async def embed(self, texts: Sequence[str]) -> "Vectors":
        with current_meter().call():
            return await self._encoder.embed(texts)


def build_embedder(
    config: EmbedderConfig,
    call_context: AnyCallContext,
    cache: EmbeddingCache,
    progress: EmbedProgress | None = None,
) -> CachedEmbedder:
    """The embedder of a resolved config."""
    within = provider_of(config).encoder
    encoder = _Within(within(config)) if within else OpenAIEmbedding(config, open_client(config, call_context))
    return CachedEmbedder(encoder, cache, config.batch_size, progress)
