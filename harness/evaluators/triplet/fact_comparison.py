"""Compares lists of triplets and texts by cosine, and words the results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.core.records import Triplet
from harness.evaluators.kg.graphs.similar_edges import DECIMALS, unit_rows
from harness.extraction.text_windows import EMBEDDED_WHOLE, windows_of
from harness.protocols import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray


async def cosine_matrix(embedder: Embedder, texts: Sequence[str], others: Sequence[str]) -> NDArray[np.float64]:
    """The cosines of all texts with all others, shape (len(texts), len(others)).

    Both must be non-empty. Rounded, so that scores do not depend on the last bits. ValueError, with the text, for
    a vector with NaN or infinity.
    """
    distinct = list(dict.fromkeys([*texts, *others]))
    vectors = dict(zip(distinct, await embedder.embed_documents(distinct), strict=True))
    cosines = unit_rows(texts, vectors) @ unit_rows(others, vectors).T
    found: NDArray[np.float64] = np.clip(np.round(cosines, DECIMALS), -1.0, 1.0)
    return found


def texts_of_triplets(triplets: Iterable[Triplet]) -> list[str]:
    """Each as "head relation tail"."""
    return [" ".join(triplet) for triplet in triplets]


def windows_of_texts(texts: Iterable[str]) -> list[str]:
    """The texts, long ones in windows that an embedder reads whole."""
    return [window for text in texts for window in windows_of(text, EMBEDDED_WHOLE)]


def share_found(triplets: Sequence[Triplet], found: Sequence[bool], how: str, note: str = "") -> tuple[float, str]:
    """The share that was found, with the first that was not."""
    missing = [" | ".join(triplet) for triplet, is_found in zip(triplets, found, strict=True) if not is_found]
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    count = f"{sum(found)} of {len(found)} {how}"
    return sum(found) / len(found), joined(count, note, f"not: {missing[0]}{more}" if missing else "")


def joined(*parts: str) -> str:
    """The non-empty parts of an explanation."""
    return "; ".join(part for part in parts if part)


def rounded(cosines: Iterable[float]) -> str:
    """For an explanation."""
    return " ".join(f"{cosine:.2f}" for cosine in cosines)
