"""Splits contexts into windows that fit a judge, as the generator saw them: in rank order, with the rank in
brackets before the text (`harness.llm_utils.answer_contract`). One that is longer than a window is split between
paragraphs, lines, sentences or words, each part under the context's number. Nothing is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from harness.core.records import Context
from harness.extraction.text_windows import windows_of
from harness.llm_utils.answer_contract import BETWEEN, numbered_contexts

LONGEST = 12_000
"""Characters: about 3,000 English tokens. The rest of a judge's 8,192 is for task, answer and reply."""
ContextCharacters = Annotated[int, Field(ge=200)]
"""Shared parameter of evaluators: characters of contexts that a judge sees at once. Longer contexts are judged
window by window. Use less for a judge with 8,192 tokens if the script has one token per letter."""


@dataclass(frozen=True)
class Unit:
    rank: int
    """Rank of the context, from 1."""
    text: str
    """Text with the context's number."""
    read: int
    """Its characters of the context, without white space."""


@dataclass(frozen=True)
class ContextWindow:
    units: tuple[Unit, ...]

    @property
    def text(self) -> str:
        """The text as the generator saw it."""
        return BETWEEN.join(unit.text for unit in self.units)

    @property
    def ranks(self) -> frozenset[int]:
        return frozenset(unit.rank for unit in self.units)


@dataclass(frozen=True)
class ContextReading:
    """The contexts of one answer, as a judge reads them."""

    windows: tuple[ContextWindow, ...]
    """None if no context has text."""
    length: int
    """Characters of all contexts, without white space."""

    @property
    def units(self) -> tuple[Unit, ...]:
        return tuple(unit for window in self.windows for unit in window.units)

    @property
    def share_read(self) -> float:
        """Share of the contexts' characters that is in the windows."""
        return sum(unit.read for unit in self.units) / self.length if self.length else 1.0

    def mean(self, values: Sequence[float]) -> float:
        """The mean of one value per window, weighted by the window's share of the contexts."""
        if len(values) == 1:
            return values[0]
        weights = [sum(unit.read for unit in window.units) for window in self.windows]
        weighted = sum(weight * value for weight, value in zip(weights, values, strict=True))
        return weighted / sum(weights)


def reading_of(contexts: Iterable[Context], longest: int) -> ContextReading:
    """The contexts in windows of at most `longest` characters; blank contexts are left out, but still count in the
    numbering.
    """
    texts = [context.text for context in contexts]
    windows: list[list[Unit]] = []
    room = 0
    for unit in _units(texts, longest):
        if not windows or len(BETWEEN) + len(unit.text) > room:
            windows.append([])
            room = longest + len(BETWEEN)
        windows[-1].append(unit)
        room -= len(BETWEEN) + len(unit.text)
    return ContextReading(tuple(ContextWindow(tuple(units)) for units in windows), sum(map(_letters, texts)))


def _units(texts: Sequence[str], longest: int) -> Iterable[Unit]:
    for rank, (text, whole) in enumerate(zip(texts, numbered_contexts(texts), strict=True), start=1):
        number = whole[: len(whole) - len(text.strip())]
        for part in windows_of(text, longest - len(number)):
            yield Unit(rank, f"{number}{part}", _letters(part))


def _letters(text: str) -> int:
    return sum(map(len, text.split()))
