"""The triplets of whole texts: cut into windows, each window read once."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

from harness.core.records import Triplet
from harness.core.scripts import CLAUSE_MARKS, SENTENCE_MARK_END
from harness.llm_utils.compute_once import Once

ReadWindow = Callable[[str], Coroutine[Any, Any, tuple[Triplet, ...]]]
"""The triplets of one window. Raises an error if it cannot be read; no triplets mean that it states nothing."""

EMBEDDED_WHOLE = 1_000
"""Characters of a window that the default embedder reads whole: 256 tokens."""

_BREAKS = tuple(
    re.compile(pattern)
    for pattern in (r"\n\s*\n", r"\n", rf"(?<=[.!?])\s+|{SENTENCE_MARK_END}", r"\s+", rf"(?<=[{CLAUSE_MARKS}])")
)
"""Where a text may be split, the best places first."""


class Extractions:
    """The triplets of texts. A window that several texts or askers share is read once."""

    def __init__(self, read: ReadWindow, longest: int) -> None:
        """`longest`: characters of a window."""
        self._read, self._longest = read, longest
        self._windows: Once[str, tuple[Triplet, ...]] = Once()

    async def of(self, *texts: str) -> tuple[Triplet, ...]:
        """The triplets of all texts, each once, in order.

        Raises the error of the first window that could not be read, after all have been tried.
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
    """`text` in parts of at most `longest` characters, none of them blank, nothing left out but white space.

    Cut between paragraphs if that will do, else lines, sentences, words, and at last anywhere.
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
