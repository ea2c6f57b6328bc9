"""Computes the scores of two lists of triplets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, pstdev
from typing import TYPE_CHECKING

import numpy as np

from harness.evaluators.kg.graphs.graph import TAU, KgGraph, TripletSide, connect, distinct_labels
from harness.evaluators.kg.graphs.multi_hop import DELTA, reaching
from harness.evaluators.kg.graphs.shared_communities import shared_communities

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

SEEDS = 10


@dataclass(frozen=True)
class KgScores:
    """The shares of the input in the context, between 0 and 1, with the counts behind them."""

    multi_hop: float
    """Algorithm 2, as published: input entities that reach a context entity, from head to tail."""
    multi_hop_undirected: float
    """The same, if triplets may also be followed from tail to head."""
    direct: float
    """Input entities that have a SIMILAR edge themselves, whatever its cost."""
    community: float
    """Formula 2, mean over the seeds: share of input entities in a community with a context entity."""
    community_spread: float
    """The population standard deviation over the seeds."""
    community_coverage: float
    """Algorithm 3, mean over the seeds: communities with entities of both texts."""
    community_coverage_spread: float
    """The population standard deviation over the seeds."""
    input_entities: int
    context_entities: int
    similar_edges: int
    dropped_triplets: int
    """Triplets of both texts without a head or a tail."""


def kg_scores(
    input_triplets: Iterable[Sequence[str]],
    context_triplets: Iterable[Sequence[str]],
    embed: Callable[[list[str]], ArrayLike],
    tau: float = TAU,
    delta: float = DELTA,
    seeds: int = SEEDS,
) -> KgScores:
    """The KG-based scores of two lists of (head, relation, tail); the package docstring defines them.

    `embed` maps labels to an array of shape (n, d). It is called once with each distinct label, or not at all if a
    text has no triplet; then all scores are 0. Raises ValueError for impossible parameters, NaN or infinity in a
    vector (with its label), or an array of another shape; MissingDependency without igraph.
    """
    inputs, contexts = TripletSide.of(input_triplets), TripletSide.of(context_triplets)
    labels = distinct_labels(inputs, contexts)
    rows = np.asarray(embed(labels)) if labels else np.zeros((0, 1))
    if rows.ndim != 2 or len(rows) != len(labels):
        wanted = f"one row for each of the {len(labels)} labels from {labels[0]!r} to {labels[-1]!r}"
        raise ValueError(f"embed returned an array of shape {rows.shape}, not {wanted}")
    return scores_of(connect(inputs, contexts, dict(zip(labels, rows, strict=True)), tau), delta, seeds)


def scores_of(graph: KgGraph, delta: float = DELTA, seeds: int = SEEDS) -> KgScores:
    """The scores of a graph. ValueError: delta below 0, seeds below 1. MissingDependency without igraph."""
    entities = len(graph.inputs.labels)
    directed, undirected = (reaching(graph, delta, directed=one) for one in (True, False))
    by_entity, by_community = zip(*shared_communities(graph, seeds), strict=True)

    def share(count: int) -> float:
        return count / entities if entities else 0.0

    return KgScores(
        multi_hop=share(directed),
        multi_hop_undirected=share(undirected),
        direct=share(len(np.unique(graph.pairs.inputs))),
        community=mean(by_entity),
        community_spread=pstdev(by_entity),
        community_coverage=mean(by_community),
        community_coverage_spread=pstdev(by_community),
        input_entities=entities,
        context_entities=len(graph.contexts.labels),
        similar_edges=len(graph.pairs.inputs),
        dropped_triplets=graph.inputs.dropped + graph.contexts.dropped,
    )
