"""KG-eval's Algorithm 2: which input entities reach a context entity?

A path ends at the first context node it meets. Only SIMILAR edges lead from the input graph to the context graph,
so it consists of input triplets and, at its end, the cheapest SIMILAR edge of the entity where they end. One
search over the input graph, backwards from all entities with a SIMILAR edge at once and started at the cost of
that edge, therefore finds the cheapest path of every input entity without the context graph.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from harness.core.records import Triplet
from harness.evaluators.kg.graphs.graph import TOLERANCE, TRIPLET_COST, KgGraph, SimilarEdge
from harness.evaluators.text_vectors import DECIMALS

DELTA = 0.5

_Steps = list[list[tuple[int, int]]]
"""For each entity the triplets that lead to it: (index of the triplet, index of its other entity)."""


@dataclass(frozen=True)
class Match:
    """The cheapest path from an input entity to a context entity; among equally cheap ones the shortest."""

    entity: str
    triplets: tuple[Triplet, ...]
    """Input triplets from head to tail, each at a cost of 0.2; none if the entity itself is similar."""
    similar: SimilarEdge
    """The last edge, from the end of the triplets to the context entity."""
    cost: float

    @property
    def path(self) -> tuple[str, ...]:
        """The labels of all nodes on the path: entities and relations in turn, then the context entity."""
        walked = (label for one in self.triplets for label in (one.relation, one.tail))
        return self.entity, *walked, self.similar.context_entity


class _NextStep(NamedTuple):
    cost: float
    triplet: int
    """The next triplet; -1 if the SIMILAR edge comes next."""
    onwards: int
    """The entity at the end of that triplet."""


def reaching(graph: KgGraph, delta: float, *, directed: bool) -> int:
    """The number of input entities that reach a context entity at a cost of at most delta."""
    return len(_search(graph, delta, directed=directed))


def paths(graph: KgGraph, delta: float = DELTA) -> list[Match]:
    """The path of every input entity that reaches a context entity at a cost of at most delta, by entity.

    Triplets are followed from head to tail, as published. ValueError for a negative delta.
    """
    reached = _search(graph, delta, directed=True)
    best: dict[str, SimilarEdge] = {}
    for edge in graph.similar_edges():
        if edge.input_entity not in best or edge.similarity > best[edge.input_entity].similarity:
            best[edge.input_entity] = edge
    return [_match(graph, reached, entity, best) for entity in sorted(reached)]


def _match(graph: KgGraph, reached: dict[int, _NextStep], entity: int, best: dict[str, SimilarEdge]) -> Match:
    triplets, end = [], entity
    while reached[end].triplet >= 0:
        triplets.append(graph.inputs.triplets[reached[end].triplet])
        end = reached[end].onwards
    labels = graph.inputs.labels
    return Match(labels[entity], tuple(triplets), best[labels[end]], reached[entity].cost)


def _search(graph: KgGraph, delta: float, *, directed: bool) -> dict[int, _NextStep]:
    """Dijkstra's algorithm from many starts; all entities with a path, and its next step."""
    if not delta >= 0:
        raise ValueError(f"delta = {delta:g} is not a cost of 0 or more")
    limit, steps = delta + TOLERANCE, _steps(graph, directed=directed)
    found: dict[int, _NextStep] = {}
    # Cost, number of triplets, entity, next step.
    waiting = [(cost, 0, entity, -1, -1) for entity, cost in _exits(graph) if cost <= limit]
    heapq.heapify(waiting)
    while waiting:
        cost, hops, entity, triplet, onwards = heapq.heappop(waiting)
        if entity in found:
            continue
        found[entity] = _NextStep(cost, triplet, onwards)
        further = round(cost + 2 * TRIPLET_COST, DECIMALS)
        if further <= limit:
            for number, before in steps[entity]:
                if before not in found:
                    heapq.heappush(waiting, (further, hops + 1, before, number, entity))
    return found


def _steps(graph: KgGraph, *, directed: bool) -> _Steps:
    steps: _Steps = [[] for _ in graph.inputs.labels]
    for number, (head, tail) in enumerate(graph.inputs.ends):
        steps[tail].append((number, head))
        if not directed:
            steps[head].append((number, tail))
    return steps


def _exits(graph: KgGraph) -> Iterable[tuple[int, float]]:
    best: dict[int, float] = {}
    for entity, similarity in zip(graph.pairs.inputs.tolist(), graph.pairs.similarities.tolist(), strict=True):
        if similarity > best.get(entity, -2.0):
            best[entity] = similarity
    return ((entity, round(1 - similarity, DECIMALS)) for entity, similarity in best.items())
