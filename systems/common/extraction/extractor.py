"""What turns chunks into graphs."""

from collections.abc import Sequence
from typing import Protocol

from harness.extraction.types import TextGraph
from systems.common.chunking import Chunk


class Extractor(Protocol):
    """Finds entities and triplets in chunks.

    A chunk that cannot be read (a model answers prose, an HTTP error that is this call's alone) is a TextGraph
    with its `failure`, and the others go on. `harness.core.errors.HarnessError` is raised: nothing that follows
    could succeed.
    """

    async def extract(self, chunks: Sequence[Chunk]) -> list[TextGraph]:
        """One TextGraph for each chunk, in the same order."""
        ...
