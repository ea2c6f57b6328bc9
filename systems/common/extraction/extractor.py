"""The contract of extractors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from harness.extraction.types import TextGraph
from systems.common.chunking import Chunk


@dataclass(frozen=True)
class Focus:
    """What a model is asked to extract."""

    entity_types: tuple[str, ...] = ()
    """Kinds of entities; empty: all."""
    relation_types: tuple[str, ...] = ()
    """Names of relations; empty: all."""
    dates: bool = False
    """Whether each relation is asked for with its date."""


class Extractor(Protocol):
    """Finds entities and triplets in chunks.

    A chunk that fails (an invalid reply, an HTTP error of this call only) is a TextGraph with its `failure`, and
    the others continue. A `harness.core.errors.HarnessError` is raised: no later call could succeed.
    """

    async def extract(self, chunks: Sequence[Chunk]) -> list[TextGraph]:
        """One TextGraph for each chunk, in the same order."""
        ...
