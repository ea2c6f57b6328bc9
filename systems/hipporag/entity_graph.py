"""A graph in memory, for walks over all of it: relations, synonyms, and the passages that mention each entity."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.protocols import Vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from systems.common.knowledge_graph import KnowledgeGraph

_ARRAYS, _TEXTS = "graph.npz", "names.json"
_MOST_SYNONYMS = 100
"""Maximum synonyms of an entity, the most similar ones."""
_MOST_STEPS, _PRECISION = 1_000, 1e-9
"""The walk is computed until the probabilities change by less in all; with damping .5 that takes 30 steps."""
_BLOCK = 256
"""Entities whose cosines to all others are in memory at a time."""


@dataclass(frozen=True)
class EntityGraph:
    """Entities and passages are numbered from 0, in the order of the stored graph."""

    names: Sequence[str]
    chunk_ids: Sequence[str]
    vectors: Vectors
    """vectors[i] (unit length) belongs to names[i]."""
    edges: NDArray[np.float64]
    """Rows of two entities and a weight, undirected; several may join the same two."""
    mentions: NDArray[np.int64]
    """Rows of a passage and an entity that it mentions, each pair once."""

    @classmethod
    def of(cls, graph: KnowledgeGraph, vectors: Vectors, threshold: float) -> Self:
        """A relation weighs as much as passages state it, synonyms as much as their names are alike."""
        entities = {entity.entity_id: number for number, entity in enumerate(graph.entities)}
        chunks = {chunk.chunk_id: number for number, chunk in enumerate(graph.chunks)}
        stated = [(entities[one.head_id], entities[one.tail_id], len(one.chunk_ids)) for one in graph.relations]
        mentions = [(chunks[one.chunk_id], entities[one.entity_id]) for one in graph.mentions]
        return cls(
            names=[entity.name for entity in graph.entities],
            chunk_ids=list(chunks),
            vectors=vectors,
            edges=np.array([*stated, *synonyms(vectors, threshold)], dtype=np.float64).reshape(-1, 3),
            mentions=np.array(mentions, dtype=np.int64).reshape(-1, 2),
        )

    def save(self, folder: Path) -> None:
        """Write it into the new folder `folder`."""
        folder.mkdir()
        (folder / _TEXTS).write_text(json.dumps([self.names, self.chunk_ids]), encoding="utf-8")
        np.savez(folder / _ARRAYS, vectors=self.vectors, edges=self.edges, mentions=self.mentions)

    @classmethod
    def open(cls, folder: Path) -> Self:
        names, chunk_ids = json.loads((folder / _TEXTS).read_text(encoding="utf-8"))
        with np.load(folder / _ARRAYS) as stored:
            return cls(names, chunk_ids, stored["vectors"], stored["edges"], stored["mentions"])

    @cached_property
    def passage_counts(self) -> NDArray[np.int64]:
        """By entity, the number of passages that mention it."""
        return np.bincount(self.mentions[:, 1], minlength=len(self.names))

    def nearest(self, vector: Vectors) -> tuple[int, float]:
        """The entity whose name is nearest to `vector`, and the cosine."""
        cosines = self.vectors @ vector
        best = int(np.argmax(cosines))
        return best, float(cosines[best])

    def walk(self, seeds: Mapping[int, float], damping: float) -> NDArray[np.float64]:
        """Personalised PageRank (Haveliwala 2002): by entity, the probability that a random walk is there. It
        starts, and with probability 1 - damping starts again, at an entity of `seeds` in proportion to its weight;
        from an entity without edges it always starts again.
        """
        reset = np.zeros(len(self.names))
        reset[list(seeds)] = list(seeds.values())
        reset /= reset.sum()
        start, end, share = self._steps
        there = reset
        for _ in range(_MOST_STEPS):
            moved = damping * np.bincount(end, weights=there[start] * share, minlength=len(reset))
            before, there = there, moved + (1 - moved.sum()) * reset
            if np.abs(there - before).sum() < _PRECISION:
                break
        return there

    @cached_property
    def _steps(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Every edge in both directions: from, to, and the probability of this step from there."""
        one, other = self.edges[:, :2].astype(np.int64).T
        start, end, weights = np.append(one, other), np.append(other, one), np.tile(self.edges[:, 2], 2)
        return start, end, weights / np.bincount(start, weights=weights)[start]

    def passages(self, probabilities: NDArray[np.float64], k: int) -> dict[str, float]:
        """The k passages with the largest sums of their entities' probabilities, best first, ties in corpus order;
        none that the walk does not reach.
        """
        passage, entity = self.mentions.T
        sums = np.bincount(passage, weights=probabilities[entity], minlength=len(self.chunk_ids))
        best = np.argsort(-sums, kind="stable")[:k]
        return {self.chunk_ids[number]: float(sums[number]) for number in best if sums[number] > 0}


def synonyms(vectors: Vectors, threshold: float) -> Iterator[tuple[int, int, float]]:
    """Two entities, by the row of their unit vector, and their cosine: each pair with at least `threshold` that is
    among the 100 nearest of either, once, the lower number first.
    """
    found: dict[tuple[int, int], float] = {}
    for start in range(0, len(vectors), _BLOCK):
        for number, cosines in enumerate(vectors[start : start + _BLOCK] @ vectors.T, start):
            cosines[number] = 0.0
            # Equal vectors have a cosine just below 1.
            near = np.flatnonzero(cosines >= threshold - 1e-6)
            for other in near[np.argsort(-cosines[near], kind="stable")[:_MOST_SYNONYMS]].tolist():
                found[min(number, other), max(number, other)] = float(cosines[other])
    return ((*ends, cosine) for ends, cosine in sorted(found.items()))
