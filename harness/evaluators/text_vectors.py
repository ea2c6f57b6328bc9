"""Unit vectors of labels and texts, and their cosines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.extraction.text_windows import EMBEDDED_WHOLE, windows_of
from harness.protocols import Embedder

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Numbers = NDArray[np.float64]

DECIMALS = 9
"""Cosines are rounded, so that the last bits of a matrix product, which depend on its size and on the machine,
reach no score and no comparison."""


def unit_rows(labels: Sequence[str], vectors: Mapping[str, ArrayLike]) -> Numbers:
    """The labels' vectors at length 1, float64, shape (len(labels), d); a zero vector stays zero.

    ValueError, with the label, for NaN or infinity.
    """
    rows = np.array([vectors[label] for label in labels], dtype=np.float64)
    # Scaled before squaring, which would overflow for 1e200.
    peaks = np.abs(rows).max(axis=1, keepdims=True)
    if not np.isfinite(peaks).all():
        raise ValueError(f"the vector of {labels[int(np.isfinite(peaks).argmin())]!r} holds NaN or infinity")
    rows /= np.where(peaks > 0, peaks, 1.0)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    rows /= np.where(lengths > 0, lengths, 1.0)
    return rows


def cosines(rows: Numbers, others: Numbers) -> Numbers:
    """The cosines of unit rows, rounded, shape (len(rows), len(others))."""
    found: Numbers = np.clip(np.round(rows @ others.T, DECIMALS), -1.0, 1.0)
    return found


async def rows_of(embedder: Embedder, texts: Sequence[str]) -> Numbers:
    """A unit row for each text (at least one). ValueError, with the text, for an invalid vector."""
    distinct = list(dict.fromkeys(texts))
    return unit_rows(texts, dict(zip(distinct, await embedder.embed_documents(distinct), strict=True)))


async def cosine_matrix(embedder: Embedder, texts: Sequence[str], others: Sequence[str]) -> Numbers:
    """The cosines of all texts with all others, which are embedded together; neither may be empty."""
    rows = await rows_of(embedder, [*texts, *others])
    return cosines(rows[: len(texts)], rows[len(texts) :])


def windows_of_texts(texts: Iterable[str]) -> list[str]:
    """The texts, long ones in windows that the default embedder reads whole."""
    return [window for text in texts for window in windows_of(text, EMBEDDED_WHOLE)]
