"""Splits texts into windows and extracts the triplets of each window once."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator
from functools import partial
from typing import Any

from harness.core.records import Triplet
from harness.core.scripts import CLAUSE_MARKS, SENTENCE_MARK_END
from harness.extraction.nlp import NlpExtractor
from harness.extraction.types import TextGraph
from harness.llm_utils.concurrency import Once, Progress

WINDOW = 1_500
"""Characters. News has about 10 triplets per 1,000: 1 of 80 windows exceeds `types.MAX_TRIPLETS`."""


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
        triplets: dict[Triplet, None] = {}
        for found in (self._windows[window] for text in texts for window in windows_of(text, WINDOW)):
            if found.failure:
                raise Unparsed(found.failure)
            triplets |= dict.fromkeys(found.triplets)
        return tuple(triplets)


ReadWindow = Callable[[str], Coroutine[Any, Any, tuple[Triplet, ...]]]
"""Extracts the triplets of one window; raises an error if that fails."""
EMBEDDED_WHOLE = 1_000
"""Characters that fit the default embedder: 256 tokens."""

_BREAKS = tuple(
    re.compile(pattern)
    for pattern in (r"\n\s*\n", r"\n", rf"(?<=[.!?])\s+|{SENTENCE_MARK_END}", r"\s+", rf"(?<=[{CLAUSE_MARKS}])")
)
"""Where a text may be split, the best places first."""


class Extractions:
    """The triplets of texts. A window in several texts or requests is extracted once."""

    def __init__(self, read: ReadWindow, longest: int) -> None:
        """`longest`: characters of a window."""
        self._read, self._longest = read, longest
        self._windows: Once[str, tuple[Triplet, ...]] = Once()

    async def of(self, *texts: str) -> tuple[Triplet, ...]:
        """The distinct triplets of all texts, in order.

        Raises the error of the first window that failed, after all were tried.
        """
        windows = dict.fromkeys(window for text in texts for window in windows_of(text, self._longest))
        reads = [self._windows.of(window, partial(self._read, window)) for window in windows]
        found = await asyncio.gather(*reads, return_exceptions=True)
        triplets: dict[Triplet, None] = {}
        for result in found:
            if isinstance(result, BaseException):
                raise result
            triplets |= dict.fromkeys(result)
        return tuple(triplets)


def windows_of(text: str, longest: int) -> Iterator[str]:
    """`text` in parts of at most `longest` characters, none of them blank; only white space is dropped.

    Splits between paragraphs if possible, otherwise between lines, sentences or words, or else anywhere.
    """
    text = text.strip()
    while len(text) > longest:
        cut = _cut(text, longest)
        yield text[:cut].strip()
        text = text[cut:].strip()
    if text:
        yield text


def _cut(text: str, longest: int) -> int:
    for pattern in _BREAKS:
        ends = [found.end() for found in pattern.finditer(text, longest // 4, longest + 1)]
        within = [end for end in ends if len(text[:end].rstrip()) <= longest]
        if within:
            return within[-1]
    return longest
