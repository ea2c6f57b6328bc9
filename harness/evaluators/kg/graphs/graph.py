"""The graph of KG-eval's Algorithm 1, as two texts' triplets and the SIMILAR edges between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from harness.evaluators.kg.graphs.similar_edges import Pairs, no_pairs, similar_pairs, unit_rows
from harness.evaluators.kg.graphs.triplet_graph import TripletSide

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
