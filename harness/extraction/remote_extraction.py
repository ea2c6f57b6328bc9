"""Shares extraction by rules between this process and other machines."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from harness.extraction.types import TextFinds

BATCH = 32
"""Texts per batch: about a second of work on a core."""
_AGAIN_S = 1.0
"""Before the next attempt to find a free machine."""


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

    found: tuple[TextFinds, ...]
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


async def read_shared(
    texts: Sequence[str],
    asked: TextsToRead,
    told: Callable[[int], None],
    here: Callable[[Sequence[str]], Awaitable[list[TextFinds]]],
    readers: Readers | None,
) -> list[TextFinds]:
    """The phrases of all texts, in order. `asked`: the request without its texts; `told` is called with the number
    of parsed texts. Without `readers` this process parses all of them.

    This process parses from the start, other machines from the end; at the end it also parses batches that have
    not come back, so a slow or lost machine delays nothing.
    """
    left = deque((start, tuple(texts[start : start + BATCH])) for start in range(0, len(texts), BATCH))
    n_batches = len(left)
    away: dict[int, tuple[str, ...]] = {}
    """Batches on other machines, the oldest first."""
    found: dict[int, list[TextFinds]] = {}

    def take(start: int, read: list[TextFinds]) -> None:
        if start not in found:  # The first result for a batch counts.
            found[start] = read
            told(sum(map(len, found.values())))

    async def read_there(readers: Readers) -> None:
        while left:
            start, batch = left.pop()
            away[start] = batch
            read = await readers.read(asked.model_copy(update={"texts": batch}))
            if read is not None and len(read.found) == len(batch):
                away.pop(start, None)
                take(start, list(read.found))
                continue
            if away.pop(start, None) is not None:
                left.append((start, batch))
            await asyncio.sleep(_AGAIN_S)

    helping = [asyncio.create_task(read_there(readers)) for _ in range(readers.n)] if readers else []
    try:
        while len(found) < n_batches:
            start, batch = left.popleft() if left else next(iter(away.items()))
            away.pop(start, None)
            take(start, await here(batch))
    finally:
        for one in helping:
            one.cancel()
        # Errors are ignored, because this process has parsed those texts.
        await asyncio.gather(*helping, return_exceptions=True)
    if readers:
        await readers.leave()
    return [one for start in sorted(found) for one in found[start]]
