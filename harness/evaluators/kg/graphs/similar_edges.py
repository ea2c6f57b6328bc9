"""Finds equivalent entities of the two texts: pairs with a cosine of at least tau."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Numbers = NDArray[np.float64]
    Places = NDArray[np.intp]

TOLERANCE = 1e-6
"""How far a similarity may miss tau, or a cost exceed delta, and still count as a tie.

A float32 component is off by up to 6e-8 of itself, so a cosine of two float32 vectors by up to 1.2e-7, or a few
times that if the embedder also normalised in float32. A cost is one minus such a cosine plus multiples of 0.1."""
DECIMALS = 9
"""Similarities are rounded, so that the last bits of a matrix product, which depend on its size and on the
machine, reach neither Louvain nor a comparison."""
MOST_PAIRS = 5_000_000
"""More SIMILAR edges than this take gigabytes; real embeddings at a sensible tau stay far below."""
_BLOCK = 2_000_000


class Pairs(NamedTuple):
    """The SIMILAR edges as label indices, sorted by input, then context."""

    inputs: Places
    contexts: Places
    similarities: Numbers


def no_pairs() -> Pairs:
    """No SIMILAR edge."""
    return Pairs(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0))


def unit_rows(labels: Sequence[str], vectors: Mapping[str, ArrayLike]) -> Numbers:
    """The labels' vectors at length 1, float64, shape (len(labels), d); a zero vector stays zero.

    ValueError, with the label, for NaN, infinity or a different shape; KeyError for a label without a
    vector.
    """
    found = [np.asarray(vectors[label]) for label in labels]
    shape = found[0].shape
    if len(shape) != 1 or not shape[0]:
        raise ValueError(f"the vector of {labels[0]!r} has the shape {shape}, not (d,)")
    for label, vector in zip(labels, found, strict=True):
        if vector.shape != shape:
            raise ValueError(
                f"the vector of {label!r} has the shape {vector.shape}, that of {labels[0]!r} {shape}"
            )
    rows = np.stack(found).astype(np.float64)
    # Scaled before squaring, which would overflow for 1e200.
    peaks = np.abs(rows).max(axis=1, keepdims=True)
    if not np.isfinite(peaks).all():
        raise ValueError(f"the vector of {labels[int(np.isfinite(peaks).argmin())]!r} holds NaN or infinity")
    rows /= np.where(peaks > 0, peaks, 1.0)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    rows /= np.where(lengths > 0, lengths, 1.0)
    return rows


def similar_pairs(inputs: Numbers, contexts: Numbers, tau: float) -> Pairs:
    """Pairs of unit rows with cosine >= tau; at most 16 MB of cosines at once.

    ValueError if the dimensions differ, or for more than `MOST_PAIRS`.
    """
    if inputs.shape[1] != contexts.shape[1]:
        raise ValueError(f"input vectors have {inputs.shape[1]} dimensions, context vectors {contexts.shape[1]}")
    blocks, count = [no_pairs()], 0
    for block in _blocks(inputs, contexts, tau - TOLERANCE):
        blocks.append(block)
        count += len(block.inputs)
        if count > MOST_PAIRS:
            raise ValueError(
                f"more than {MOST_PAIRS:,} pairs of entities reach tau = {tau:g}: choose a higher tau"
            )
    return Pairs(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def _blocks(inputs: Numbers, contexts: Numbers, least: float) -> Iterator[Pairs]:
    rows = max(1, _BLOCK // len(contexts))
    for start in range(0, len(inputs), rows):
        cosines = inputs[start : start + rows] @ contexts.T
        row, column = np.nonzero(cosines >= least)
        taken = np.clip(np.round(cosines[row, column], DECIMALS), -1.0, 1.0)
        yield Pairs(row + start, column, taken)
