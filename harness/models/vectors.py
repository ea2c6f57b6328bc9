"""The vector format of all embedders."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from harness.protocols import Vectors


def unit_rows(vectors: "Vectors") -> "Vectors":
    """The same rows at length 1; a row of zeros or of NaN raises ValueError."""
    if vectors.ndim != 2:
        raise ValueError("the embedder's reply holds no embeddings")
        # float32 squares of small numbers are 0.
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths == 0).any():
        raise ValueError("the embedder returned a vector of zeros, NaN or infinity")
    unit: Vectors = (vectors / lengths).astype(np.float32)
    return unit
