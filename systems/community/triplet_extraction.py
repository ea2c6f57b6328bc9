"""Converts a knowledge graph to the nodes and edges of nano-graphrag, without a model call."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.core.records import Triplet
from systems.common.graph_types import KnowledgeGraph, Relation
from systems.common.headings import origin_of_chunk, with_origins
from systems.common.joined_fields import SEPARATOR
from systems.community import library
from systems.community.text_units import TRIPLETS, TextUnits

_STATEMENTS = 5
"""Maximum statements in one description, from most chunks first. Lists end before the first item that is too long.
"""


@dataclass(frozen=True)
class SourcedTriplet:
    """A relation as text, with its sources."""

    triplet: Triplet
    origins: tuple[str, ...] = ()
    """Sources of the documents that state it, in corpus order, without duplicates."""

    @property
    def text(self) -> str:
        """The text in a description."""
        return with_origins(" ".join(self.triplet), self.origins)


@dataclass(frozen=True)
class Node:
    """An entity."""

    name: str
    kind: str
    stated: tuple[SourcedTriplet, ...]
    """The statements that describe it."""
    chunk_ids: tuple[str, ...]


@dataclass(frozen=True)
class Edge:
    """All statements about two entities: the library's graph has neither directions nor parallel edges."""

    source: str
    target: str
    stated: tuple[SourcedTriplet, ...]
    """The statements that describe it."""
    chunk_ids: tuple[str, ...]


def nodes_of(graph: KnowledgeGraph) -> list[Node]:
    """Every entity, described by its statements."""
    stating = _Statements(graph)
    mentions = defaultdict(list)
    for mention in graph.mentions:
        mentions[mention.entity_id].append(mention.chunk_id)
    taken_part = defaultdict(list)
    for relation in graph.relations:
        taken_part[relation.head_id].append(relation)
        taken_part[relation.tail_id].append(relation)
    return [
        Node(entity.name, entity.kind, stating.main(taken_part[met]), tuple(mentions[met]))
        for entity in graph.entities
        for met in [entity.entity_id]
    ]


def edges_of(graph: KnowledgeGraph) -> list[Edge]:
    """Every pair of entities with a statement."""
    stating = _Statements(graph)
    between = defaultdict(list)
    for relation in graph.relations:
        ends = sorted((stating.names[relation.head_id], stating.names[relation.tail_id]))
        between[ends[0], ends[1]].append(relation)
    return [
        Edge(
            source,
            target,
            stating.main(relations),
            tuple(sorted({c for r in relations for c in r.chunk_ids})),
        )
        for (source, target), relations in sorted(between.items())
    ]


class _Statements:
    """Converts relations to statements."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.names = {entity.entity_id: entity.name for entity in graph.entities}
        self._origins = {chunk.chunk_id: origin_of_chunk(chunk) for chunk in graph.chunks}

    def main(self, relations: Sequence[Relation]) -> tuple[SourcedTriplet, ...]:
        """The statements from most chunks."""
        return tuple(map(self._statement, sorted(relations, key=lambda one: -len(one.chunk_ids))[:_STATEMENTS]))

    def _statement(self, one: Relation) -> SourcedTriplet:
        words = one.relation.lower().replace("_", " ")
        origins = dict.fromkeys(self._origins[chunk_id] for chunk_id in one.chunk_ids)
        return SourcedTriplet(
            Triplet(self.names[one.head_id], words, self.names[one.tail_id]), tuple(filter(None, origins))
        )


def _described(stated: Sequence[SourcedTriplet]) -> dict[str, str]:
    """The attributes of a node or an edge with these statements, as text and as data."""
    return {
        "description": ". ".join(one.text for one in stated),
        TRIPLETS: json.dumps([one.triplet for one in stated]),
    }


async def store(graph: KnowledgeGraph, units: TextUnits, storage: Any, vectors: Any) -> None:
    """Put the graph into nano-graphrag's stores; the weight of an edge is its number of chunks."""
    nodes = nodes_of(graph)
    for node in nodes:
        await storage.upsert_node(
            node.name,
            {
                "entity_type": node.kind or "UNKNOWN",
                **_described(node.stated),
                "source_id": SEPARATOR.join(units.ids_of(node.chunk_ids)),
            },
        )
    for edge in edges_of(graph):
        await storage.upsert_edge(
            edge.source,
            edge.target,
            {
                "weight": float(len(edge.chunk_ids)),
                **_described(edge.stated),
                "source_id": SEPARATOR.join(units.ids_of(edge.chunk_ids)),
                "order": 1,
            },
        )
    await vectors.upsert({_id_of(node): {"content": _content(node), "entity_name": node.name} for node in nodes})


def _id_of(node: Node) -> str:
    identified: str = library.utilities().compute_mdhash_id(node.name, prefix="ent-")
    return identified


def _content(node: Node) -> str:
    """The text to embed, without sources, which do not change its meaning."""
    stated = ". ".join(" ".join(one.triplet) for one in node.stated)
    return f"{node.name}: {stated}" if stated else node.name
