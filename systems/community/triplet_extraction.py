"""Converts a knowledge graph to the nodes and edges of nano-graphrag, without a model call."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from harness.core.records import Triplet
from systems.common.headings import with_origins
from systems.common.knowledge_graph import KnowledgeGraph, Relation
from systems.common.wrapped_libraries import SEPARATOR, LibraryReplies
from systems.community import library
from systems.community.text_units import TRIPLETS, TextUnits

_STATEMENTS = 5
"""Maximum statements in one description, from most chunks first. Lists end before the first item that is too long.
"""


async def store(graph: KnowledgeGraph, units: TextUnits, storage: Any, vectors: Any) -> None:
    """Put the graph into nano-graphrag's stores: every entity, described by its statements, and every pair of
    entities with a statement, because the library's graph has neither directions nor parallel edges. The weight of
    an edge is its number of chunks.
    """
    names = {entity.entity_id: entity.name for entity in graph.entities}
    origins = {chunk.chunk_id: chunk.origin for chunk in graph.chunks}
    mentions, taken_part = defaultdict[str, list[str]](list), defaultdict[str, list[Relation]](list)
    between = defaultdict[tuple[str, ...], list[Relation]](list)
    for mention in graph.mentions:
        mentions[mention.entity_id].append(mention.chunk_id)
    for relation in graph.relations:
        ends = relation.head_id, relation.tail_id
        for end in ends:
            taken_part[end].append(relation)
        between[tuple(sorted(names[end] for end in ends))].append(relation)
    embedded = {}
    for entity in graph.entities:
        relations = _main(taken_part[entity.entity_id])
        node = {"entity_type": entity.kind or "UNKNOWN", **_described(relations, names, origins)}
        node["source_id"] = SEPARATOR.join(units.ids_of(mentions[entity.entity_id]))
        await storage.upsert_node(entity.name, node)
        # Without sources, which do not change the meaning.
        stated = ". ".join(" ".join(_triplet(one, names)) for one in relations)
        content = f"{entity.name}: {stated}" if stated else entity.name
        key = library.utilities().compute_mdhash_id(entity.name, prefix="ent-")
        embedded[key] = {"content": content, "entity_name": entity.name}
    for (source, target), relations in sorted(between.items()):
        chunk_ids = sorted({chunk_id for one in relations for chunk_id in one.chunk_ids})
        edge = {"weight": float(len(chunk_ids)), **_described(_main(relations), names, origins)}
        edge |= {"source_id": SEPARATOR.join(units.ids_of(chunk_ids)), "order": 1}
        await storage.upsert_edge(source, target, edge)
    await vectors.upsert(embedded)


def _main(relations: Sequence[Relation]) -> list[Relation]:
    return sorted(relations, key=lambda one: -len(one.chunk_ids))[:_STATEMENTS]


def _triplet(one: Relation, names: dict[str, str]) -> Triplet:
    return Triplet(names[one.head_id], one.relation.lower().replace("_", " "), names[one.tail_id])


def _described(relations: Sequence[Relation], names: dict[str, str], origins: dict[str, str]) -> dict[str, Any]:
    """The attributes of a node or an edge with these statements, as text with their sources, and as data."""
    triplets = [_triplet(one, names) for one in relations]
    texts = (
        with_origins(" ".join(triplet), (origins[chunk_id] for chunk_id in one.chunk_ids))
        for triplet, one in zip(triplets, relations, strict=True)
    )
    return {"description": ". ".join(texts), TRIPLETS: json.dumps(triplets)}


_MAX_TOKENS = 4096
"""Maximum tokens of a reply: the library sets no limit, and that of an answer is far too small."""
_RECORDS = ('("entity"', "<|COMPLETE|>")
"""A reply without either is prose. Only the second means that there is nothing to extract."""


class LibraryExtraction(LibraryReplies):
    def is_graph(self, reply: str) -> bool:
        return any(mark in reply for mark in _RECORDS)

    async def run(
        self, chunks: Mapping[str, Any], units: TextUnits, stores: tuple[Any, Any], config: Mapping[str, Any]
    ) -> None:
        """Fill the stores (graph, vectors) from the chunks; raises errors after which no call can succeed."""
        graph, vectors = stores

        async def ask(prompt: str, *_: Any, history_messages: Sequence[Mapping[str, str]] = (), **__: Any) -> str:
            return await self.extract(prompt, history_messages, _MAX_TOKENS)

        async def shorten(prompt: str, *_: Any, max_tokens: int, **__: Any) -> str:
            return await self.summarise(prompt, max_tokens)

        ours = {**config, "best_model_func": ask, "cheap_model_func": shorten}
        await library.operations().extract_entities(
            chunks, knwoledge_graph_inst=graph, entity_vdb=vectors, global_config=ours
        )
        self._guard.check()
        graph.order_sources({unit_id: rank for rank, unit_id in enumerate(units.in_order())})
