"""Generated triplets and vectors that resemble those of extraction and an embedder."""

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.evaluators.kg.graphs.graph import TAU, KgGraph, TripletSide, connect, distinct_labels

Triplet = tuple[str, str, str]


class Sample(NamedTuple):
    inputs: list[Triplet]
    contexts: list[Triplet]
    vectors: dict[str, NDArray[np.float32]]

    def embed(self, labels: list[str]) -> NDArray[np.float32]:
        return np.stack([self.vectors[label] for label in labels])


def connected(
    inputs: list[Triplet], contexts: list[Triplet], embed: Callable[[list[str]], Any], tau: float = TAU
) -> KgGraph:
    """The graph of two lists of triplets, with one call to `embed`, or none if a text has no triplet."""
    sides = TripletSide.of(inputs), TripletSide.of(contexts)
    labels = distinct_labels(*sides)
    return connect(*sides, dict(zip(labels, embed(labels) if labels else [], strict=True)), tau)


def sample(inputs: int, contexts: int, *, dimensions: int = 384, seed: int = 0) -> Sample:
    """This number of triplets per text, with a few frequent entities; a third of the contexts' are near an input
    entity.
    """
    draw, noise = random.Random(seed), np.random.default_rng(seed)
    stated, held = _triplets("i", inputs, draw), _triplets("c", contexts, draw)
    vectors = {label: _unit(noise.normal(size=dimensions)) for label in _labels(stated)}
    known = list(vectors.values())
    for label in _labels(held):
        other = _unit(noise.normal(size=dimensions))
        cosine = draw.uniform(0.6, 1.0) if draw.random() < 1 / 3 else 0.0
        vectors[label] = _unit(cosine * draw.choice(known) + (1 - cosine**2) ** 0.5 * other)
    return Sample(stated, held, {label: vector.astype(np.float32) for label, vector in vectors.items()})


def _triplets(prefix: str, count: int, draw: random.Random) -> list[Triplet]:
    names = [f"{prefix}{number}" for number in range(count)]
    weights = [1 / (rank + 1) ** 0.6 for rank in range(count)]
    heads, tails = draw.choices(names, weights, k=count), draw.choices(names, weights, k=count)
    return [(head, f"relation {draw.randrange(40)}", tail) for head, tail in zip(heads, tails, strict=True)]


def _labels(triplets: list[Triplet]) -> list[str]:
    return sorted({label for head, _, tail in triplets for label in (head, tail)})


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    return vector / np.linalg.norm(vector)
