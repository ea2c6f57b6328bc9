"""KG-eval's Algorithms 1-3 as published, on networkx: slow, but easy to compare with the paper.

Dong et al. 2025, https://arxiv.org/abs/2510.02549. Details that the paper leaves open are as in
`harness.evaluators.kg`.
"""

import random
from collections.abc import Callable, Sequence
from statistics import mean, pstdev

import igraph
import networkx as nx
import numpy as np
from numpy.typing import NDArray

WEIGHT, COST = 0.9, 0.1
TOLERANCE = 1e-6

Triplet = tuple[str, str, str]
Vector = NDArray[np.float64]
Louvain = Callable[[nx.DiGraph, int], list[set[str]]]
"""louvain(graph, seed) -> communities of its nodes."""


def build_graph(
    input_triplets: Sequence[Triplet], context_triplets: Sequence[Triplet], vectors: dict[str, Vector], tau: float
) -> nx.DiGraph:
    """Algorithm 1."""
    graph = nx.DiGraph()
    add_triplets(graph, input_triplets, "input", "_in")
    add_triplets(graph, context_triplets, "context", "_ctx")
    for one in entities(graph, "input"):
        for other in entities(graph, "context"):
            similarity = cosine(vectors[graph.nodes[one]["label"]], vectors[graph.nodes[other]["label"]])
            if similarity >= tau - TOLERANCE:
                graph.add_edge(one, other, kind="SIMILAR", weight=max(similarity, 0.0), cost=1 - similarity)
    return graph


def add_triplets(graph: nx.DiGraph, triplets: Sequence[Triplet], group: str, suffix: str) -> None:
    """Labels merge entities; a relation's suffix is unique: labels contain no line break."""
    stated = {(" ".join(h.split()), " ".join(r.split()), " ".join(t.split())) for h, r, t in triplets}
    for number, (head, relation, tail) in enumerate(sorted(stated)):
        if head == "" or tail == "":
            continue
        middle = f"{relation}\n{number:06}{suffix}"
        graph.add_node(head + suffix, type="head", group=group, label=head)
        graph.add_node(middle, type="relation", group=group, label=relation)
        graph.add_node(tail + suffix, type="tail", group=group, label=tail)
        graph.add_edge(head + suffix, middle, kind="TRIPLET", weight=WEIGHT, cost=COST)
        graph.add_edge(middle, tail + suffix, kind="TRIPLET", weight=WEIGHT, cost=COST)


def entities(graph: nx.DiGraph, group: str) -> list[str]:
    return [node for node, data in graph.nodes(data=True) if data["group"] == group and data["type"] != "relation"]


def cosine(one: Vector, other: Vector) -> float:
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return min(1.0, max(-1.0, round(float(np.dot(one, other)) / lengths, 9))) if lengths else 0.0


def multi_hop(graph: nx.DiGraph, delta: float) -> float:
    """Algorithm 2 and Formula 1; with `graph.to_undirected()` the undirected variant."""
    inputs, contexts = entities(graph, "input"), set(entities(graph, "context"))
    if not inputs or not contexts:
        return 0.0
    matched = [one for one in inputs if cheapest(graph, one, contexts, delta) is not None]
    return len(matched) / len(inputs)


def cheapest(graph: nx.DiGraph, start: str, contexts: set[str], delta: float) -> float | None:
    """The cost of the cheapest path to a context entity; None beyond delta."""
    costs, _ = nx.single_source_dijkstra(graph, start, cutoff=delta + TOLERANCE, weight="cost")
    return min((cost for node, cost in costs.items() if node in contexts), default=None)


def direct(graph: nx.DiGraph) -> float:
    inputs, contexts = entities(graph, "input"), set(entities(graph, "context"))
    return sum(not contexts.isdisjoint(graph.successors(one)) for one in inputs) / len(inputs) if inputs else 0.0


def community(graph: nx.DiGraph, communities: Sequence[set[str]]) -> float:
    """Formula 2."""
    inputs, contexts = entities(graph, "input"), set(entities(graph, "context"))
    if not inputs or not contexts:
        return 0.0
    home = {node: number for number, nodes in enumerate(communities) for node in nodes}
    return sum(not contexts.isdisjoint(communities[home[one]]) for one in inputs) / len(inputs)


def community_coverage(graph: nx.DiGraph, communities: Sequence[set[str]]) -> float:
    """Algorithm 3."""
    inputs, contexts = set(entities(graph, "input")), set(entities(graph, "context"))
    if not inputs or not contexts:
        return 0.0
    both = [nodes for nodes in communities if nodes & inputs and nodes & contexts]
    return len(both) / len(communities)


def over_seeds(
    graph: nx.DiGraph,
    score: Callable[[nx.DiGraph, Sequence[set[str]]], float],
    louvain: Louvain,
    seeds: int,
) -> tuple[float, float]:
    """Mean and population standard deviation."""
    values = [score(graph, louvain(graph, seed)) if len(graph) else 0.0 for seed in range(seeds)]
    return mean(values), pstdev(values)


def networkx_louvain(graph: nx.DiGraph, seed: int) -> list[set[str]]:
    # Sets of numbers have the same order in every process, unlike sets of strings.
    numbered = nx.convert_node_labels_to_integers(graph.to_undirected())
    nodes = list(graph)
    found = nx.community.louvain_communities(numbered, weight="weight", seed=seed)
    return [{nodes[member] for member in members} for members in found]


def igraph_louvain(graph: nx.DiGraph, seed: int) -> list[set[str]]:
    """igraph's on the same graph, with nodes and edges in the order of the fast path, on which it depends."""
    nodes = sorted(graph, key=lambda node: node_order(graph, node))
    place = {node: number for number, node in enumerate(nodes)}
    directed = sorted((kind == "SIMILAR", place[a], place[b]) for a, b, kind in graph.edges(data="kind"))
    # A triplet with equal head and tail has only one undirected edge.
    edges = [(a, b) for _, a, b in directed if a < b or not graph.has_edge(nodes[b], nodes[a])]
    whole = igraph.Graph(n=len(nodes), edges=edges)
    igraph.set_random_number_generator(random.Random(seed))
    try:
        found = whole.community_multilevel(weights=[graph[nodes[a]][nodes[b]]["weight"] for a, b in edges])
    finally:
        igraph.set_random_number_generator(random)
    return [{nodes[member] for member in members} for members in found]


def node_order(graph: nx.DiGraph, node: str) -> tuple[bool, bool, str]:
    """Input before context, entities before relations, entities by label, relations by their number."""
    data = graph.nodes[node]
    relation = data["type"] == "relation"
    return data["group"] == "context", relation, node.rpartition("\n")[2] if relation else data["label"]
