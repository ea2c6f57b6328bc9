"""Computes the scores of two lists of triplets: Algorithm 2 by `multi_hop`, Formula 2 and Algorithm 3 here."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, pstdev
from typing import TYPE_CHECKING

import numpy as np

from harness.core.errors import need
from harness.evaluators.kg.graphs.graph import TAU, TRIPLET_WEIGHT, KgGraph, TripletSide, connect, distinct_labels
from harness.evaluators.kg.graphs.multi_hop import DELTA, reaching

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

SEEDS = 10
_ONE_AT_A_TIME = threading.Lock()
"""igraph has one random generator for the whole process."""


@dataclass(frozen=True)
class KgScores:
    """The five scores of the package, between 0 and 1, with the counts behind them."""

    multi_hop: float
    multi_hop_undirected: float
    direct: float
    community: float
    """Like the coverage a mean over the seeds, with their population standard deviation."""
    community_spread: float
    community_coverage: float
    community_coverage_spread: float
    input_entities: int
    context_entities: int
    similar_edges: int
    dropped_triplets: int
    """Triplets of both texts without a head or a tail."""

    @property
    def values(self) -> dict[str, float]:
        """The five scores by name, as in the table of the package."""
        names = ("multi_hop", "multi_hop_undirected", "direct", "community", "community_coverage")
        return {name: getattr(self, name) for name in names}


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


def shared_communities(graph: KgGraph, seeds: int) -> list[tuple[float, float]]:
    """For the Louvain partitions with seeds 0, 1, ..., seeds - 1: the share of the input entities in a community
    with a context entity (Formula 2), and that of the communities with entities of both texts (Algorithm 3).

    ValueError for fewer than one seed.
    """
    if seeds < 1:
        raise ValueError(f"seeds = {seeds}: at least one is needed")
    if not len(graph.pairs.inputs):
        # Without edges between the texts, no community contains both.
        return [(0.0, 0.0)] * seeds
    shares = []
    for inputs, contexts, communities in _partitions(graph, seeds):
        holds_input, holds_context = np.zeros((2, communities), dtype=bool)
        holds_input[inputs] = holds_context[contexts] = True
        both = np.count_nonzero(holds_input & holds_context)
        shares.append((float(np.count_nonzero(holds_context[inputs]) / len(inputs)), float(both / communities)))
    return shares


def entity_communities(graph: KgGraph) -> tuple[list[int], list[int]]:
    ((inputs, contexts, _),) = _partitions(graph, 1)
    return inputs.tolist(), contexts.tolist()


def _partitions(graph: KgGraph, seeds: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], int]]:
    """By seed: the community of each input entity and of each context entity, and the number of communities."""
    need("evaluator-kg", "igraph")
    import igraph

    edges, weights = _edges(graph)
    # Nodes are the input entities and relations, then those of the contexts.
    first_context = len(graph.inputs.labels) + len(graph.inputs.triplets)
    last_context = first_context + len(graph.contexts.labels)
    nodes = last_context + len(graph.contexts.triplets)
    whole, generator = igraph.Graph(n=nodes, edges=edges.tolist()), random.Random()  # noqa: S311 - no secret
    for seed in range(seeds):
        generator.seed(seed)
        with _ONE_AT_A_TIME:
            igraph.set_random_number_generator(generator)
            try:
                found = whole.community_multilevel(weights=weights)
            finally:
                # igraph uses this random generator.
                igraph.set_random_number_generator(random)
        members = np.array(found.membership, dtype=np.intp)
        yield members[: len(graph.inputs.labels)], members[first_context:last_context], int(members.max()) + 1


def _edges(graph: KgGraph) -> tuple[NDArray[np.intp], list[float]]:
    """The undirected edges, shape (m, 2), without duplicates, and their weights."""
    inputs, contexts = graph.inputs, graph.contexts
    first_context = len(inputs.labels) + len(inputs.triplets)
    of_triplets = np.concatenate(
        [
            _triplet_edges(inputs.ends, 0, len(inputs.labels)),
            _triplet_edges(contexts.ends, first_context, len(contexts.labels)),
        ]
    )
    similar = np.stack([graph.pairs.inputs, graph.pairs.contexts + first_context], axis=1)
    # A negative cosine (only with a negative tau) has weight 0.
    attraction = np.maximum(graph.pairs.similarities, 0.0)
    return np.concatenate([of_triplets, similar]), [TRIPLET_WEIGHT] * len(of_triplets) + attraction.tolist()


def _triplet_edges(ends: tuple[tuple[int, int], ...], first: int, entities: int) -> NDArray[np.intp]:
    """Head to relation and relation to tail; where both are one entity, read undirected they are one edge."""
    if not ends:
        return np.zeros((0, 2), dtype=np.intp)
    heads, tails = np.array(ends, dtype=np.intp).T + first
    relations = np.arange(first + entities, first + entities + len(ends))
    other = tails != heads
    return np.concatenate(
        [np.stack([heads, relations], axis=1), np.stack([relations[other], tails[other]], axis=1)]
    )
