"""Extracts the triplets of whole texts by rules: free, offline, deterministic."""

from collections.abc import Iterable, Iterator

from harness.core.records import Triplet
from harness.extraction.nlp import NlpExtractor
from harness.extraction.text_windows import windows_of
from harness.extraction.types import TextGraph
from harness.llm_utils.concurrency import Progress

WINDOW = 1_500
"""Characters. News has about 10 triplets per 1,000: 1 of 80 windows exceeds `nlp_found.MAX_TRIPLETS`; with 4,000
characters it would be 1 of 3.
"""


class Unparsed(Exception):
    """spaCy could not parse a text; the message says why."""


class ParsedTexts:
    """The triplets of texts. A window in several texts or requests is parsed once."""

    def __init__(self, progress: Progress) -> None:
        """`progress` is called per window. MissingDependency if spaCy or an English pipeline is missing."""
        self._extractor = NlpExtractor(pipeline=None, progress=progress, every_phrase=True)
        self._windows: dict[str, TextGraph] = {}

    async def parse(self, texts: Iterable[str]) -> None:
        """Parse all new windows of these texts in batches; `of` would parse text by text."""
        windows = dict.fromkeys(window for text in texts for window in windows_of(text, WINDOW))
        new = [window for window in windows if window not in self._windows]
        self._windows.update(zip(new, await self._extractor.extract(new), strict=True))

    async def of(self, *texts: str) -> tuple[Triplet, ...]:
        """All distinct triplets of the texts. Raises `Unparsed`."""
        await self.parse(texts)
        return tuple(dict.fromkeys(triplet for text in texts for triplet in self._of(text)))

    def _of(self, text: str) -> Iterator[Triplet]:
        for window in windows_of(text, WINDOW):
            found = self._windows[window]
            if found.failure:
                raise Unparsed(found.failure)
            yield from found.triplets
