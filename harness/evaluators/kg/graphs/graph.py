"""The graph of KG-eval's Algorithm 1: the triplets of two texts, and SIMILAR edges from a cosine of tau on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harness.core.records import Triplet
from harness.evaluators.text_vectors import DECIMALS, unit_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from harness.evaluators.text_vectors import Numbers

TAU = 0.7
TRIPLET_WEIGHT = 0.9
"""Weight of an edge between a relation node and its head or tail."""
TRIPLET_COST = 0.1
TOLERANCE = 1e-6
"""How far a similarity may miss tau, or a cost exceed delta, and still count as a tie: a cosine of two float32
vectors is off by up to 1.2e-7, or a few times that if the embedder also normalised in float32."""
MOST_PAIRS = 5_000_000
"""More SIMILAR edges than this take gigabytes; real embeddings at a sensible tau stay far below."""
_BLOCK = 2_000_000
"""Cosines in memory at once: 16 MB."""


@dataclass(frozen=True)
class TripletSide:
    """The distinct triplets of one text, sorted, and their entities; or names without triplets."""

    triplets: tuple[Triplet, ...]
    """Labels without surplus white space; only a relation may be empty. Each triplet is one relation node, with an
    edge from its head and one to its tail."""
    names: tuple[str, ...] = ()
    """Entities without a triplet, sorted."""

    @staticmethod
    def of(triplets: Iterable[tuple[str, str, str]], names: Iterable[str] = ()) -> TripletSide:
        """A triplet without head or tail is dropped."""
        stated = {Triplet(*(" ".join(part.split()) for part in triplet)) for triplet in triplets}
        kept = sorted(one for one in stated if one.head and one.tail)
        return TripletSide(tuple(kept), tuple(sorted(set(names))))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The entities: every distinct head, tail and name, sorted."""
        return tuple(sorted({*self.names, *(label for one in self.triplets for label in (one.head, one.tail))}))

    @cached_property
    def ends(self) -> tuple[tuple[int, int], ...]:
        """Head and tail of each triplet, as places in the labels."""
        place = {label: number for number, label in enumerate(self.labels)}
        return tuple((place[one.head], place[one.tail]) for one in self.triplets)


class SimilarEdge(NamedTuple):
    """An input entity and a context entity that mean the same; the cost of the edge is 1 - similarity."""

    input_entity: str
    context_entity: str
    similarity: float


class Pairs(NamedTuple):
    """The SIMILAR edges as places in the labels, sorted by input, then context."""

    inputs: NDArray[np.intp]
    contexts: NDArray[np.intp]
    similarities: Numbers


@dataclass(frozen=True, eq=False)
class KgGraph:
    """Both texts' triplets and the SIMILAR edges. Equal labels merge within a text, never across."""

    inputs: TripletSide
    contexts: TripletSide
    pairs: Pairs

    def similar_edges(self) -> list[SimilarEdge]:
        entities, others = self.inputs.labels, self.contexts.labels
        rows = zip(*(column.tolist() for column in self.pairs), strict=True)
        return [SimilarEdge(entities[one], others[other], similarity) for one, other, similarity in rows]


def distinct_labels(inputs: TripletSide, contexts: TripletSide) -> list[str]:
    """The distinct labels to embed; none if a text is empty, because all scores are then 0."""
    if not inputs.labels or not contexts.labels:
        return []
    return list(dict.fromkeys([*inputs.labels, *contexts.labels]))


def connect(
    inputs: TripletSide, contexts: TripletSide, vectors: Mapping[str, ArrayLike], tau: float = TAU
) -> KgGraph:
    """The graph of two texts; `vectors` maps each of `distinct_labels` to a vector, not necessarily normalised. A
    zero vector has similarity 0 to everything.

    ValueError: a vector that holds NaN or infinity, by its label; more SIMILAR edges than `MOST_PAIRS`.
    """
    if not inputs.labels or not contexts.labels:
        return KgGraph(inputs, contexts, Pairs(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0)))
    rows, others = unit_rows(inputs.labels, vectors), unit_rows(contexts.labels, vectors)
    blocks, count, step = list[Pairs](), 0, max(1, _BLOCK // len(others))
    for start in range(0, len(rows), step):
        cosines = rows[start : start + step] @ others.T
        row, column = np.nonzero(cosines >= tau - TOLERANCE)
        blocks.append(Pairs(row + start, column, np.clip(np.round(cosines[row, column], DECIMALS), -1.0, 1.0)))
        count += len(row)
        if count > MOST_PAIRS:
            raise ValueError(
                f"more than {MOST_PAIRS:,} pairs of entities reach tau = {tau:g}: choose a higher tau"
            )
    return KgGraph(inputs, contexts, Pairs(*(np.concatenate(parts) for parts in zip(*blocks, strict=True))))
