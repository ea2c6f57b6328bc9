"""The graph of KG-eval's Algorithm 1: the triplets of two texts, and SIMILAR edges from a cosine of tau on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harness.core.records import Triplet
from harness.evaluators.text_vectors import DECIMALS, unit_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from harness.evaluators.text_vectors import Numbers

    Places = NDArray[np.intp]

TAU = 0.7
TRIPLET_WEIGHT = 0.9
"""Weight of an edge between a relation node and its head or tail."""
TRIPLET_COST = 0.1
TOLERANCE = 1e-6
"""How far a similarity may miss tau, or a cost exceed delta, and still count as a tie.

A float32 component is off by up to 6e-8 of itself, so a cosine of two float32 vectors by up to 1.2e-7, or a few
times that if the embedder also normalised in float32. A cost is one minus such a cosine plus multiples of 0.1."""
MOST_PAIRS = 5_000_000
"""More SIMILAR edges than this take gigabytes; real embeddings at a sensible tau stay far below."""
_BLOCK = 2_000_000


class Pairs(NamedTuple):
    """The SIMILAR edges as label indices, sorted by input, then context."""

    inputs: Places
    contexts: Places
    similarities: Numbers


def no_pairs() -> Pairs:
    return Pairs(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0))


class SimilarEdge(NamedTuple):
    """An input entity and a context entity that mean the same; the cost of the edge is 1 - similarity."""

    input_entity: str
    context_entity: str
    similarity: float


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


def connect(
    inputs: TripletSide, contexts: TripletSide, vectors: Mapping[str, ArrayLike], tau: float = TAU
) -> KgGraph:
    """The graph of two texts; `vectors` maps each of `distinct_labels` to a vector of shape (d,), not necessarily
    normalised.

    A zero vector has similarity 0 to everything. ValueError: tau outside [-1, 1]; a vector that holds NaN or
    infinity or has another shape, by its label; more SIMILAR edges than `MOST_PAIRS`.
    """
    if not -1 <= tau <= 1:
        raise ValueError(f"tau = {tau:g} is not a cosine between -1 and 1")
    if not inputs.labels or not contexts.labels:
        return KgGraph(inputs, contexts, no_pairs())
    rows, others = unit_rows(inputs.labels, vectors), unit_rows(contexts.labels, vectors)
    return KgGraph(inputs, contexts, similar_pairs(rows, others, tau))


@dataclass(frozen=True)
class TripletSide:
    """The distinct triplets of one text, sorted, and their entities; or names without triplets.

    Independent of the order and repetition of the given triplets.
    """

    triplets: tuple[Triplet, ...]
    """Labels without surplus white space; only a relation may be empty. Each triplet is one relation node, with an
    edge from its head and one to its tail."""
    dropped: int
    """Number of triplets without a head or tail."""
    names: tuple[str, ...] = ()
    """Entities without a triplet, sorted."""

    @staticmethod
    def of(triplets: Iterable[Sequence[str]], names: Iterable[str] = ()) -> TripletSide:
        """From (head, relation, tail) sequences; ValueError if one does not have three parts."""
        stated = [_cleaned(*triplet) for triplet in triplets]
        kept = [one for one in stated if one.head and one.tail]
        return TripletSide(tuple(sorted(set(kept))), len(stated) - len(kept), tuple(sorted(set(names))))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The entities: every distinct head, tail and name, sorted."""
        return tuple(sorted({*self.names, *(label for one in self.triplets for label in (one.head, one.tail))}))

    @cached_property
    def ends(self) -> tuple[tuple[int, int], ...]:
        place = {label: number for number, label in enumerate(self.labels)}
        return tuple((place[one.head], place[one.tail]) for one in self.triplets)


def distinct_labels(inputs: TripletSide, contexts: TripletSide) -> list[str]:
    """The distinct labels to embed; none if a text is empty, because all scores are then 0."""
    if not inputs.labels or not contexts.labels:
        return []
    return list(dict.fromkeys([*inputs.labels, *contexts.labels]))


def _cleaned(*parts: str) -> Triplet:
    if len(parts) != 3:
        raise ValueError(f"a triplet is a head, a relation and a tail, not {len(parts)} parts")
    head, relation, tail = (" ".join(part.split()) for part in parts)
    return Triplet(head, relation, tail)


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
