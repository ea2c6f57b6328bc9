"""The metered embedder of a system or an evaluator, with a content-addressed cache of document vectors."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from harness.config import EmbedderConfig
from harness.core.errors import ModelUnavailable
from harness.core.records import Usage
from harness.models.clients import AnyCallContext, OpenAIEmbedding, open_client
from harness.models.embedding_cache import CachedVector, EmbeddingCache, usage_of_entries
from harness.models.metering import Meter, collect_replayed_calls, current_meter
from harness.models.providers import TextEncoder, provider_of
from harness.models.vectors import BatchTooLarge
from harness.protocols import Vectors
from harness.store import StoredCall

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
        self._progress = progress or (lambda _done, _total: None)
        self._under_way: dict[str, asyncio.Event] = {}
        """What ends when a text that is being embedded is cached."""

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Each finished batch is stored, so a killed build resumes there."""
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        # Two queries often embed one text at the same time: it is paid once.
        while ends := next((self._under_way[text] for text in texts if text in self._under_way), None):
            await ends.wait()
        meter, kept = current_meter(), self._cache.entries(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in kept]
        # A text that occurs twice in a first build is not cached, and a cached one counts once.
        self._count_cached(meter, {text: entry for text, entry in kept.items() if not meter.has_embedded(text)})
        ends = asyncio.Event()
        self._under_way |= dict.fromkeys(missing, ends)
        try:
            # Texts of similar length together, to save padding.
            await self._add_in_batches(sorted(missing, key=len), len(texts))
        finally:
            for text in missing:
                del self._under_way[text]
            ends.set()
        return self._cache.get(texts)

    async def embed_query(self, text: str) -> Vectors:
        current_meter().embedded_texts += 1
        vectors, _, _ = await self._embed([text])
        row: Vectors = vectors[0]
        return row

    async def close(self) -> None:
        if self._server:
            await self._server.close()

    def _count_cached(self, meter: Meter, cached: Mapping[str, CachedVector]) -> None:
        payers = {text: entry.paid_by for text, entry in cached.items()}
        meter.add_cached(payers, sum(entry.seconds for entry in cached.values()))
        if self._server:
            for payer, usage in usage_of_entries(cached.values()).items():
                meter.add_cached_usage(payer, self._server.role, usage)

    async def _add_in_batches(self, missing: Sequence[str], n_all: int) -> None:
        """Embed texts, and keep their vectors with cost and payer. Of `n_all` texts the others were cached."""
        start = 0
        self._progress(n_all - len(missing), n_all)
        while start < len(missing):
            batch, began = missing[start : start + self._batch_size], time.monotonic()
            try:
                vectors, usage, replayed = await self._embed(batch)
            except BatchTooLarge:
                self._batch_size = len(batch) // 2
                continue
            if replayed:
                # A lost cache is filled again from the journal, which is no work of this run.
                self._cache.add(batch, vectors, replayed.wall_s, usage, payer=replayed.paid_by)
            else:
                self._cache.add(batch, vectors, time.monotonic() - began, usage)
            start += len(batch)
            current_meter().add_embedded(batch)
            self._progress(n_all - len(missing) + start, n_all)

    async def _embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage, StoredCall | None]:
        """The vectors, and the journal's call if it answered. ModelUnavailable if they are not as long as those
        that are stored.
        """
        if self._server is None:
            # Its work counts as a call, not as waiting for a provider.
            with current_meter().call():
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


def build_embedder(
    config: EmbedderConfig,
    call_context: AnyCallContext,
    cache: EmbeddingCache,
    progress: EmbedProgress | None = None,
) -> CachedEmbedder:
    within = provider_of(config).encoder
    encoder = within(config) if within else OpenAIEmbedding(config, open_client(config, call_context))
    return CachedEmbedder(encoder, cache, config.batch_size, progress)
