"""Walks the graph from a statement to the passages that may prove it."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain

from harness.core.records import Context
from harness.protocols import Runtime
from systems.common.graph_index import GraphIndex
from systems.common.graph_search.question_entities import entities_named
from systems.common.graph_stores.contract import StoredTriplet
from systems.evidence.params import AnswerParams
from systems.evidence.sentence_choice import LogicStep

_MOST_ENTITIES = 300
"""Maximum entities that are expanded: an entity with thousands of relations would fetch the whole graph."""
_MOST_PASSAGES = 2_000
"""Passages of a neighbourhood that are considered."""


@dataclass(frozen=True)
class Walk:
    """The passages to which the graph leads from a step."""

    entities: Sequence[str]
    """The ids of the matched entities, nearest first."""
    reached: int
    """Number of passages that mention an entity of the neighbourhood or state one of its triplets."""
    passages: Sequence[Context]
    """Best first."""


async def walk(params: AnswerParams, runtime: Runtime, graph: GraphIndex, step: LogicStep) -> Walk:
    """Matches a step to entities by name and similarity, expands their neighbourhood, and returns the
    `step_chunks` passages of it nearest to the step.
    """
    with runtime.stage("graph"):
        matched = await _matched(params, graph, step)
        triplets, entities = await _neighbourhood(graph, matched, params.step_hops)
        mentions = await graph.store.mentions_of(list(entities)[:_MOST_ENTITIES])
        stating = chain.from_iterable(triplet.chunk_ids for triplet in triplets)
        reached = list(dict.fromkeys(chain(stating, *mentions.values())))[:_MOST_PASSAGES]
    with runtime.stage("retrieve"):
        near = await graph.store.nearest_chunks(step.vector, params.step_chunks, reached)
    return Walk(matched, len(reached), near)


async def _matched(params: AnswerParams, graph: GraphIndex, step: LogicStep) -> list[str]:
    """By name first, then by semantic search of the sentences that state triplets."""
    named = await entities_named(graph.store, step.text, (), params.entities_per_name)
    near = await asyncio.to_thread(graph.statements.entities_near, step.vector, params.step_entities)
    return list(dict.fromkeys([*(hit.entity_id for hit in named), *near]))[: params.step_entities]


async def _neighbourhood(
    graph: GraphIndex, matched: Sequence[str], hops: int
) -> tuple[list[StoredTriplet], Collection[str]]:
    """The distinct triplets between entities at most `hops` edges away, and these entities, nearest first."""
    found: dict[StoredTriplet, None] = {}
    entities, frontier = dict.fromkeys(matched), list(matched)
    for _ in range(hops):
        if not frontier:
            break
        near = await graph.store.triplets_of(frontier)
        found.update(dict.fromkeys(near))
        ends = dict.fromkeys(end for triplet in near for end in (triplet.head_id, triplet.tail_id))
        frontier = [end for end in ends if end not in entities][:_MOST_ENTITIES]
        entities.update(dict.fromkeys(frontier))
    return list(found), entities
