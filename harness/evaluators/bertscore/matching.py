"""Greedy matching of tokens over several windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harness.protocols import Vectors


@dataclass(frozen=True)
class Window:
    """Tokens embedded together."""

    vectors: Vectors
    """Shape (tokens, d), unit rows."""
    weights: NDArray[np.float32]
    """Shape (tokens,): 1, or 0 for special tokens such as [SEP]."""


@dataclass(frozen=True)
class Agreement:
    """Precision and recall of two token sets, and their sizes without special tokens."""

    precision: float
    recall: float
    candidate_tokens: int
    reference_tokens: int

    @property
    def f1(self) -> float:
        """The harmonic mean; 0 where either is not positive."""
        if self.precision <= 0 or self.recall <= 0:
            return 0.0
        return 2 * self.precision * self.recall / (self.precision + self.recall)


NOTHING = Agreement(0.0, 0.0, 0, 0)


def match(candidate: Iterable[Window], reference: Sequence[Window]) -> Agreement:
    """Precision and recall of the pooled tokens (Zhang et al. 2020, section 3); one candidate window at a time.

    Either side without a token that weighs anything: both are 0.
    """
    reached = [np.full(len(window.weights), -1.0, dtype=np.float32) for window in reference]
    found, tokens = 0.0, 0
    for window in candidate:
        best = np.full(len(window.weights), -1.0, dtype=np.float32)
        for other, highest in zip(reference, reached, strict=True):
            cosines = window.vectors @ other.vectors.T
            np.maximum(best, cosines.max(axis=1), out=best)
            np.maximum(highest, cosines.max(axis=0), out=highest)
        found += _weighed(best, window)
        tokens += _count(window)
    wanted = sum(map(_count, reference))
    if not tokens or not wanted:
        return Agreement(0.0, 0.0, tokens, wanted)
    recalled = sum(_weighed(highest, window) for highest, window in zip(reached, reference, strict=True))
    return Agreement(found / tokens, recalled / wanted, tokens, wanted)


def _weighed(cosines: NDArray[np.float32], window: Window) -> float:
    return float((cosines * window.weights).sum(dtype=np.float64))


def _count(window: Window) -> int:
    return int(window.weights.sum())
