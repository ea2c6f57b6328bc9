"""Unit vectors of texts: whole, by sentence and by window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.core.scripts import SENTENCE_END
from harness.evaluators.kg.graphs.similar_edges import DECIMALS, unit_rows
from harness.extraction.text_windows import windows_of
from harness.protocols import Embedder

if TYPE_CHECKING:
    from harness.evaluators.kg.graphs.similar_edges import Numbers

WINDOW = 1_000
"""Characters that the default embedder reads whole: 256 tokens."""


def sentences_of(text: str) -> list[str]:
    """The sentences of a text that hold a letter or digit, in order; long ones in windows."""
    parts = (part for part in SENTENCE_END.split(text) if any(map(str.isalnum, part)))
    return [window for part in parts for window in windows_of(part, WINDOW)]


def parts_of(text: str) -> list[str]:
    """The windows of a text."""
    return list(windows_of(text, WINDOW))


async def rows_of(embedder: Embedder, texts: Sequence[str]) -> Numbers:
    """A unit row for each text (at least one). ValueError, with the text, for an invalid vector."""
    distinct = list(dict.fromkeys(texts))
    return unit_rows(texts, dict(zip(distinct, await embedder.embed_documents(distinct), strict=True)))


async def whole_of(embedder: Embedder, text: str) -> Numbers:
    """The unit row of a whole text, shape (1, d): the mean of its windows, weighted by length."""
    windows = parts_of(text)
    rows = await rows_of(embedder, windows)
    mean = np.array([len(window) for window in windows], dtype=np.float64) @ rows
    return unit_rows([text], {text: mean})


def highest(inputs: Numbers, others: Numbers) -> list[float]:
    """For each row its highest cosine with the others; rounded, so that scores do not depend on the last bits."""
    return list(map(float, np.clip(np.round((inputs @ others.T).max(axis=1), DECIMALS), -1.0, 1.0)))


def mean_of(cosines: Iterable[float]) -> float:
    """The mean of at least one cosine."""
    return float(np.mean(list(cosines)))
