"""The graph of KG-eval's Algorithm 1, as two texts' triplets and the SIMILAR edges between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from harness.core.records import Triplet
from harness.evaluators.kg.graphs.similar_edges import Pairs, no_pairs, similar_pairs, unit_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


TAU = 0.7
TRIPLET_WEIGHT = 0.9
"""Weight of an edge between a relation node and its head or tail."""
TRIPLET_COST = 0.1


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
        """Every SIMILAR edge, sorted by its labels."""
        entities, others = self.inputs.labels, self.contexts.labels
        rows = zip(*(column.tolist() for column in self.pairs), strict=True)
        return [SimilarEdge(entities[one], others[other], similarity) for one, other, similarity in rows]


def connect(
    inputs: TripletSide, contexts: TripletSide, vectors: Mapping[str, ArrayLike], tau: float = TAU
) -> KgGraph:
    """The graph of two texts; `vectors` maps each of `distinct_labels` to a vector of shape (d,), not necessarily
    normalised.

    A zero vector has similarity 0 to everything. ValueError: tau outside [-1, 1]; a vector that holds NaN or
    infinity or has another shape, by its label; more SIMILAR edges than `similar.MOST_PAIRS`.
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
        """Head and tail of each triplet as indices into `labels`."""
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
