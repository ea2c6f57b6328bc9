"""The scores of a graph: KG-eval's Algorithm 2 (which input entities reach a context entity?), Formula 2 and
Algorithm 3 (which communities contain entities of both texts?).

A path ends at the first context node it meets, so it consists of input triplets and, at its end, the cheapest
SIMILAR edge of the entity where they end. One search over the input graph, backwards from all entities with a
SIMILAR edge at once and started at the cost of that edge, therefore finds the cheapest path of every input entity
without the context graph.
"""

from __future__ import annotations

import heapq
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from statistics import mean, pstdev
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harness.core.errors import need
from harness.core.records import Triplet
from harness.evaluators.kg.graphs.graph import TOLERANCE, TRIPLET_COST, TRIPLET_WEIGHT, KgGraph, SimilarEdge
from harness.evaluators.text_vectors import DECIMALS

if TYPE_CHECKING:
    from numpy.typing import NDArray

DELTA = 0.5
SEEDS = 10
_ONE_AT_A_TIME = threading.Lock()
"""igraph has one random generator for the whole process."""


@dataclass(frozen=True)
class KgScores:
    """The five scores of the package, between 0 and 1."""

    multi_hop: float
    multi_hop_undirected: float
    direct: float
    community: float
    """Like the coverage a mean over the seeds, with their population standard deviation."""
    community_spread: float
    community_coverage: float
    community_coverage_spread: float

    @property
    def values(self) -> dict[str, float]:
        """The five scores by name, as in the table of the package."""
        names = ("multi_hop", "multi_hop_undirected", "direct", "community", "community_coverage")
        return {name: getattr(self, name) for name in names}


def scores_of(graph: KgGraph, delta: float = DELTA, seeds: int = SEEDS) -> KgScores:
    """All scores; 0 if a text has no entities. MissingDependency without igraph."""
    entities = max(1, len(graph.inputs.labels))
    by_entity, by_community = zip(*_shared_communities(graph, seeds), strict=True)
    return KgScores(
        multi_hop=len(_search(graph, delta, directed=True)) / entities,
        multi_hop_undirected=len(_search(graph, delta, directed=False)) / entities,
        direct=len(np.unique(graph.pairs.inputs)) / entities,
        community=mean(by_entity),
        community_spread=pstdev(by_entity),
        community_coverage=mean(by_community),
        community_coverage_spread=pstdev(by_community),
    )


@dataclass(frozen=True)
class Match:
    """The cheapest path from an input entity to a context entity; among equally cheap ones the shortest."""

    entity: str
    triplets: tuple[Triplet, ...]
    """Input triplets from head to tail, each at a cost of 0.2; none if the entity itself is similar."""
    similar: SimilarEdge
    """The last edge, from the end of the triplets to the context entity."""
    cost: float


def paths(graph: KgGraph, delta: float = DELTA) -> list[Match]:
    """The path of every input entity that reaches a context entity at a cost of at most delta, by entity.

    Triplets are followed from head to tail, as published.
    """
    labels, reached = graph.inputs.labels, _search(graph, delta, directed=True)
    best: dict[str, SimilarEdge] = {}
    for edge in graph.similar_edges():
        if edge.input_entity not in best or edge.similarity > best[edge.input_entity].similarity:
            best[edge.input_entity] = edge
    matches = []
    for entity in sorted(reached):
        triplets, end = [], entity
        while reached[end].triplet >= 0:
            triplets.append(graph.inputs.triplets[reached[end].triplet])
            end = reached[end].onwards
        matches.append(Match(labels[entity], tuple(triplets), best[labels[end]], reached[entity].cost))
    return matches


class _NextStep(NamedTuple):
    cost: float
    triplet: int
    """The next triplet; -1 if the SIMILAR edge comes next."""
    onwards: int
    """The entity at the end of that triplet."""


def _search(graph: KgGraph, delta: float, *, directed: bool) -> dict[int, _NextStep]:
    """Dijkstra's algorithm from many starts; all entities with a path, and its next step."""
    leading_to: list[list[tuple[int, int]]] = [[] for _ in graph.inputs.labels]
    for number, (head, tail) in enumerate(graph.inputs.ends):
        leading_to[tail].append((number, head))
        if not directed:
            leading_to[head].append((number, tail))
    exits: dict[int, float] = {}
    for entity, similarity in zip(graph.pairs.inputs.tolist(), graph.pairs.similarities.tolist(), strict=True):
        exits[entity] = min(round(1 - similarity, DECIMALS), exits.get(entity, 2.0))
    limit, found = delta + TOLERANCE, dict[int, _NextStep]()
    # Cost, number of triplets, entity, next step.
    waiting = [(cost, 0, entity, -1, -1) for entity, cost in exits.items() if cost <= limit]
    heapq.heapify(waiting)
    while waiting:
        cost, hops, entity, triplet, onwards = heapq.heappop(waiting)
        if entity in found:
            continue
        found[entity] = _NextStep(cost, triplet, onwards)
        further = round(cost + 2 * TRIPLET_COST, DECIMALS)
        if further <= limit:
            for number, before in leading_to[entity]:
                if before not in found:
                    heapq.heappush(waiting, (further, hops + 1, before, number, entity))
    return found


def _shared_communities(graph: KgGraph, seeds: int) -> Iterator[tuple[float, float]]:
    """For each partition: the share of the input entities in a community with a context entity (Formula 2), and
    that of the communities with entities of both texts (Algorithm 3).
    """
    if not len(graph.pairs.inputs):
        # Without edges between the texts, no community contains both.
        yield from [(0.0, 0.0)] * seeds
        return
    for inputs, contexts, communities in partitions(graph, seeds):
        holds_input, holds_context = np.zeros((2, communities), dtype=bool)
        holds_input[inputs] = holds_context[contexts] = True
        both = np.count_nonzero(holds_input & holds_context)
        yield float(np.count_nonzero(holds_context[inputs]) / len(inputs)), float(both / communities)


def partitions(graph: KgGraph, seeds: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], int]]:
    """The Louvain partitions with seeds 0, 1, ..., seeds - 1: the community of each input entity and of each
    context entity, and the number of communities.
    """
    need("evaluator-kg", "igraph")
    import igraph

    # Nodes are the input entities and relations, then those of the contexts.
    edges, nodes = list[tuple[int, int]](), 0
    for side in (graph.inputs, graph.contexts):
        first, relations = nodes, count(nodes + len(side.labels))
        stated = [(first + head, next(relations), first + tail) for head, tail in side.ends]
        edges += [(head, relation) for head, relation, _ in stated]
        # Where head and tail are one entity, the two edges read undirected are one.
        edges += [(relation, tail) for head, relation, tail in stated if tail != head]
        nodes = next(relations)
    weights = [TRIPLET_WEIGHT] * len(edges)
    edges += zip(graph.pairs.inputs.tolist(), (graph.pairs.contexts + first).tolist(), strict=True)
    # A negative cosine (only with a negative tau) has weight 0.
    weights += np.maximum(graph.pairs.similarities, 0.0).tolist()
    whole, generator = igraph.Graph(n=nodes, edges=edges), random.Random()  # noqa: S311 - no secret
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
        in_contexts = members[first : first + len(graph.contexts.labels)]
        yield members[: len(graph.inputs.labels)], in_contexts, int(members.max()) + 1
