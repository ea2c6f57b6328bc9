"""The graph of one pair as GraphML, for tools such as Gephi, yEd and NetworkX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from harness.core.errors import MissingDependency, install
from harness.evaluators.kg.graphs.graph import TRIPLET_COST, TRIPLET_WEIGHT, KgGraph, SimilarEdge
from harness.evaluators.kg.graphs.multi_hop import Match
from harness.evaluators.kg.graphs.triplet_graph import TripletSide
from harness.extraction.entity_names import one_line

if TYPE_CHECKING:
    from networkx import DiGraph

_Group = Literal["input", "context"]


def graphml(graph: KgGraph, matches: Sequence[Match]) -> str:
    """The GraphML document, deterministic. MissingDependency without networkx."""
    try:
        import networkx
    except ImportError as error:
        raise MissingDependency("GraphML needs networkx", install("evaluator-kg")) from error
    return "".join(f"{line}\n" for line in networkx.generate_graphml(to_networkx(graph, matches)))


def to_networkx(graph: KgGraph, matches: Sequence[Match]) -> DiGraph:
    """The graph of Algorithm 1. Nodes: label (without characters that XML forbids), type (entity, relation), group
    (input, context), on_path, and matched for input entities. Edges: kind (STATES, SIMILAR), weight, cost,
    on_path.

    `matches`: the result of `paths`.
    """
    import networkx

    whole = networkx.DiGraph()
    walked = {triplet for match in matches for triplet in match.triplets}
    _add_side(whole, graph.inputs, "input", [triplet in walked for triplet in graph.inputs.triplets])
    _add_side(whole, graph.contexts, "context", [False] * len(graph.contexts.triplets))
    taken = {match.similar for match in matches}
    matched = {match.entity for match in matches}
    for place, label in enumerate(graph.inputs.labels):
        whole.nodes[entity_id("input", place)]["matched"] = label in matched
    for edge, (source, target) in _similar(graph):
        cost, on_path = 1 - edge.similarity, edge in taken
        whole.add_edge(source, target, kind="SIMILAR", weight=edge.similarity, cost=cost, on_path=on_path)
    for *ends, on_path in whole.edges(data="on_path"):
        for node in ends if on_path else ():
            whole.nodes[node]["on_path"] = True
    return whole


def entity_id(group: _Group, place: int) -> str:
    """The node id of the entity at this position in its text's labels."""
    return f"{group}-entity-{place}"


def relation_id(group: _Group, place: int) -> str:
    """The node id of the triplet at this position in its text's triplets."""
    return f"{group}-relation-{place}"


def _add_side(whole: DiGraph, side: TripletSide, group: _Group, on_path: Sequence[bool]) -> None:
    for place, label in enumerate(side.labels):
        whole.add_node(entity_id(group, place), label=one_line(label), type="entity", group=group, on_path=False)
    for place, (triplet, (head, tail)) in enumerate(zip(side.triplets, side.ends, strict=True)):
        relation = relation_id(group, place)
        whole.add_node(relation, label=one_line(triplet.relation), type="relation", group=group, on_path=False)
        for source, target in pairwise((entity_id(group, head), relation, entity_id(group, tail))):
            costs = {"weight": TRIPLET_WEIGHT, "cost": TRIPLET_COST}
            whole.add_edge(source, target, kind="STATES", on_path=on_path[place], **costs)


def _similar(graph: KgGraph) -> Iterator[tuple[SimilarEdge, tuple[str, str]]]:
    """Every SIMILAR edge with its node ids."""
    rows = zip(graph.pairs.inputs.tolist(), graph.pairs.contexts.tolist(), strict=True)
    for edge, (one, other) in zip(graph.similar_edges(), rows, strict=True):
        yield edge, (entity_id("input", one), entity_id("context", other))
