"""The contract of extractors, and the one without a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from harness.extraction.nlp import NlpExtractor
from harness.extraction.types import TextGraph
from harness.llm_utils.concurrency import Progress
from systems.common.chunking import Chunk


class NlpOfChunks:
    def __init__(self, pipeline: str | None, progress: Progress) -> None:
        self._extractor = NlpExtractor(pipeline=pipeline, progress=progress)

    async def extract(self, chunks: Sequence[Chunk]) -> list[TextGraph]:
        """Parse the texts, without the headings that are put before them elsewhere."""
        return await self._extractor.extract([chunk.text for chunk in chunks])


def english_only(params: Any) -> str:
    """`SystemSpec.english_only` for index parameters with an `extractor`."""
    if params.extractor != "nlp":
        return ""
    return "the parser of index.extractor=nlp: let the model extract (--set index.extractor=bounded)"


@dataclass(frozen=True)
class Focus:
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
