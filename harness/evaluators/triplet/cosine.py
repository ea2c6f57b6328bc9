"""Cosines for the cosine variants of the judged metrics, and for the relevancy of questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.core.records import Context, Triplet
from harness.evaluators.kg.graphs.similar_edges import DECIMALS, unit_rows
from harness.extraction.text_windows import EMBEDDED_WHOLE, windows_of
from harness.protocols import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray


async def highest_cosines(embedder: Embedder, texts: Sequence[str], others: Sequence[str]) -> NDArray[np.float64]:
    """For each text its highest cosine with the others, shape (len(texts),).

    Both must be non-empty. Rounded, so that scores do not depend on the last bits. ValueError, with the text, for
    a vector with NaN or infinity.
    """
    distinct = list(dict.fromkeys([*texts, *others]))
    vectors = dict(zip(distinct, await embedder.embed_documents(distinct), strict=True))
    cosines = unit_rows(texts, vectors) @ unit_rows(others, vectors).T
    nearest: NDArray[np.float64] = np.clip(np.round(cosines.max(axis=1), DECIMALS), -1.0, 1.0)
    return nearest


def texts_of_triplets(triplets: Iterable[Triplet]) -> list[str]:
    """Each as "head relation tail"."""
    return [" ".join(triplet) for triplet in triplets]


def windows_of_contexts(contexts: Iterable[Context]) -> list[str]:
    """Each context as text, also a graph's triplet; long ones in windows."""
    return [window for context in contexts for window in windows_of(context.text, EMBEDDED_WHOLE)]
