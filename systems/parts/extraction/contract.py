"""What turns chunks into graphs."""

from collections.abc import Sequence
from typing import Protocol

from systems.parts.chunking import Chunk
from systems.parts.graph import ChunkGraph


class Extractor(Protocol):
    """Finds entities and triplets in chunks.

    A chunk that cannot be read (a model answers prose, an HTTP error that is this call's alone) is a ChunkGraph
    with its `failure`, and the others go on. `harness.errors.HarnessError` is raised: nothing that follows could
    succeed.
    """

    async def extract(self, chunks: Sequence[Chunk]) -> list[ChunkGraph]:
        """One ChunkGraph for each chunk, in the same order."""
        ...
