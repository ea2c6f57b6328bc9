"""From a knowledge graph to the nodes and edges of nano-graphrag, without a model call."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.records import Triplet
from systems.community import library
from systems.community.fields import SEPARATOR
from systems.community.units import TRIPLETS, TextUnits
from systems.parts.graph import KnowledgeGraph, Relation

_STATEMENTS = 5
"""In one description, those of most chunks first. Lists are cut before the first item that is too long."""


@dataclass(frozen=True)
class Node:
    """An entity."""

    name: str
    kind: str
    stated: tuple[Triplet, ...]
    """What describes it."""
    chunk_ids: tuple[str, ...]


@dataclass(frozen=True)
class Edge:
    """All that is stated of two entities: the library's graph has neither directions nor parallel edges."""

    source: str
    target: str
    stated: tuple[Triplet, ...]
    """What describes it."""
    chunk_ids: tuple[str, ...]


def nodes_of(graph: KnowledgeGraph) -> list[Node]:
    """Every entity, described by the statements it takes part in."""
    names = _names(graph)
    mentions = defaultdict(list)
    for mention in graph.mentions:
        mentions[mention.entity_id].append(mention.chunk_id)
    taken_part = defaultdict(list)
    for relation in graph.relations:
        taken_part[relation.head_id].append(relation)
        taken_part[relation.tail_id].append(relation)
    return [
        Node(entity.name, entity.kind, _main_statements(taken_part[met], names), tuple(mentions[met]))
        for entity in graph.entities
        for met in [entity.entity_id]
    ]


def edges_of(graph: KnowledgeGraph) -> list[Edge]:
    """Every pair of entities of which something is stated."""
    names = _names(graph)
    between = defaultdict(list)
    for relation in graph.relations:
        ends = sorted((names[relation.head_id], names[relation.tail_id]))
        between[ends[0], ends[1]].append(relation)
    return [
        Edge(
            source,
            target,
            _main_statements(relations, names),
            tuple(sorted({c for r in relations for c in r.chunk_ids})),
        )
        for (source, target), relations in sorted(between.items())
    ]


def _names(graph: KnowledgeGraph) -> dict[str, str]:
    return {entity.entity_id: entity.name for entity in graph.entities}


def _main_statements(relations: Sequence[Relation], names: dict[str, str]) -> tuple[Triplet, ...]:
    most_stated = sorted(relations, key=lambda relation: -len(relation.chunk_ids))[:_STATEMENTS]
    return tuple(
        Triplet(names[one.head_id], one.relation.lower().replace("_", " "), names[one.tail_id])
        for one in most_stated
    )


def _described(stated: Sequence[Triplet]) -> dict[str, str]:
    """The attributes of a node or an edge that say what is stated: in words, and as it is."""
    return {"description": ". ".join(map(" ".join, stated)), TRIPLETS: json.dumps(stated)}


async def store(graph: KnowledgeGraph, units: TextUnits, storage: Any, vectors: Any) -> None:
    """Put the graph into nano-graphrag's stores; an edge weighs as many chunks as state it."""
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
    """What is embedded."""
    description = _described(node.stated)["description"]
    return f"{node.name}: {description}" if description else node.name
