"""KG-eval's Formula 2 and Algorithm 3: do the two texts share communities?"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harness.core.errors import MissingDependency, install
from harness.evaluators.kg.graphs.graph import TRIPLET_WEIGHT, KgGraph

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ONE_AT_A_TIME = threading.Lock()
"""igraph has one random generator for the whole process."""


class SharedCommunities(NamedTuple):
    """The shares of one partition into communities."""

    entities: float
    """Formula 2: share of the input entities in a community with a context entity."""
    communities: float
    """Algorithm 3: share of the communities with entities of both texts."""


def shared_communities(graph: KgGraph, seeds: int) -> list[SharedCommunities]:
    """Louvain partitions with seeds 0, 1, ..., seeds - 1; ValueError for fewer than one seed."""
    if seeds < 1:
        raise ValueError(f"seeds = {seeds}: at least one is needed")
    if not len(graph.pairs.inputs):
        # Without edges between the texts, no community contains both.
        return [SharedCommunities(0.0, 0.0)] * seeds
    entities, first_context = len(graph.inputs.labels), len(graph.inputs.labels) + len(graph.inputs.triplets)
    last_context = first_context + len(graph.contexts.labels)
    return [
        _shared(membership[:entities], membership[first_context:last_context], int(membership.max()) + 1)
        for membership in _partitions(graph, seeds)
    ]


def entity_communities(graph: KgGraph) -> tuple[list[int], list[int]]:
    """The community of each input entity and of each context entity, in the partition of seed 0."""
    (membership,) = _partitions(graph, 1)
    first_context = len(graph.inputs.labels) + len(graph.inputs.triplets)
    contexts = membership[first_context : first_context + len(graph.contexts.labels)]
    return membership[: len(graph.inputs.labels)].tolist(), contexts.tolist()


def _shared(inputs: NDArray[np.intp], contexts: NDArray[np.intp], communities: int) -> SharedCommunities:
    holds_input, holds_context = np.zeros((2, communities), dtype=bool)
    holds_input[inputs] = holds_context[contexts] = True
    both = np.count_nonzero(holds_input & holds_context)
    return SharedCommunities(
        float(np.count_nonzero(holds_context[inputs]) / len(inputs)), float(both / communities)
    )


def _partitions(graph: KgGraph, seeds: int) -> Iterator[NDArray[np.intp]]:
    """The community of every node by seed; nodes are input entities and relations, then the contexts'."""
    igraph = _igraph()
    edges, weights = _edges(graph)
    nodes = sum(len(side.labels) + len(side.triplets) for side in (graph.inputs, graph.contexts))
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
        yield np.array(found.membership, dtype=np.intp)


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


def _igraph() -> Any:
    try:
        import igraph
    except ImportError as error:
        raise MissingDependency("the igraph package is not installed", install("evaluator-kg")) from error
    return igraph
