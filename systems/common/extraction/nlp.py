"""The `nlp` extractor over chunks."""

from collections.abc import Sequence
from typing import Any

from harness.extraction.nlp import NlpExtractor
from harness.extraction.types import TextGraph
from harness.llm_utils.concurrency import Progress
from systems.common.chunking import Chunk


class NlpOfChunks:
    """See `systems.common.extraction.extractor.Extractor`."""

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
