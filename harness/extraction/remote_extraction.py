"""Shares extraction by rules between this process and other machines."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from harness.extraction.nlp_found import FoundLine, TextFinds

BATCH = 32
"""Texts per batch: about a second of work on a core."""
_AGAIN_S = 1.0
"""Seconds before the next attempt to find a free machine."""


class TextsToRead(BaseModel):
    """A batch of texts, and the pipeline for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pipeline: str
    digest: str
    """Digest of the pipeline's files; machines with other files do not take part."""
    every_phrase: bool
    texts: tuple[str, ...]


class TextsRead(BaseModel):
    """The phrases of the texts, in their order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    found: tuple[FoundLine, ...]
    cpu_s: float
    """Processor seconds used."""


class Readers(Protocol):
    """Extracts on other machines."""

    @property
    def n(self) -> int:
        """Maximum number of batches in parallel."""
        ...

    async def read(self, asked: TextsToRead) -> TextsRead | None:
        """The phrases of texts. None: no machine is free, or the machine was lost."""
        ...

    async def leave(self) -> None:
        """Release the machines until the next texts."""
        ...


READERS: ContextVar[Readers | None] = ContextVar("readers", default=None)
"""Readers for the index that is being built; None: there are none."""

ReadHere = Callable[[Sequence[str]], Awaitable[list[TextFinds]]]


class SharedReading:
    """The texts of one extraction, parsed here and on free machines."""

    def __init__(self, texts: Sequence[str], asked: TextsToRead, told: Callable[[int], None]) -> None:
        """`asked`: the request without its texts; `told` is called with the number of parsed texts."""
        self._asked, self._told = asked, told
        starts = range(0, len(texts), BATCH)
        self._left = deque((start, tuple(texts[start : start + BATCH])) for start in starts)
        self._away: dict[int, tuple[str, ...]] = {}
        """Batches on other machines, the oldest first."""
        self._found: dict[int, list[TextFinds]] = {}
        self._n_batches = len(starts)

    async def found(self, here: ReadHere, readers: Readers) -> list[TextFinds]:
        """The phrases of all texts, in order. This process parses from the start, other machines from the end; at
        the end it also parses batches that have not come back, so a slow or lost machine delays nothing.
        """
        helping = [asyncio.create_task(self._read_there(readers)) for _ in range(readers.n)]
        try:
            await self._read_here(here)
        finally:
            for one in helping:
                one.cancel()
            # Errors are ignored, because this process has parsed those texts.
            await asyncio.gather(*helping, return_exceptions=True)
        await readers.leave()
        return [one for start in sorted(self._found) for one in self._found[start]]

    async def _read_here(self, here: ReadHere) -> None:
        while len(self._found) < self._n_batches:
            start, texts = self._left.popleft() if self._left else next(iter(self._away.items()))
            self._away.pop(start, None)
            self._take(start, await here(texts))

    async def _read_there(self, readers: Readers) -> None:
        while self._left:
            start, texts = self._left.pop()
            self._away[start] = texts
            read = await readers.read(self._asked.model_copy(update={"texts": texts}))
            if read is not None and len(read.found) == len(texts):
                self._away.pop(start, None)
                self._take(start, [line.found() for line in read.found])
                continue
            if self._away.pop(start, None) is not None:
                self._left.append((start, texts))
            await asyncio.sleep(_AGAIN_S)

    def _take(self, start: int, found: list[TextFinds]) -> None:
        """Keep the first result for a batch."""
        if start not in self._found:
            self._found[start] = found
            self._told(sum(map(len, self._found.values())))
