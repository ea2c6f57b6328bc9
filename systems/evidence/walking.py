"""From a statement to the passages that may prove it, over the graph."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from harness.protocols import Runtime
from harness.records import Context
from systems.evidence.params import AnswerParams
from systems.evidence.picking import LogicStep
from systems.parts.graph_index import GraphIndex
from systems.parts.graph_stores.contract import StoredTriplet

_MOST_ENTITIES = 300
"""Of a neighbourhood that are gone on from: an entity with thousands of relations would fetch the whole graph."""


@dataclass(frozen=True)
class Walk:
    """What the graph leads a step to."""

    entities: Sequence[str]
    """The ids of those it was matched to, the nearest first."""
    triplets: int
    """In their neighbourhood."""
    passages: Sequence[Context]
    """Best first."""


async def walk(params: AnswerParams, runtime: Runtime, graph: GraphIndex, step: LogicStep) -> Walk:
    """The entities nearest to a step, their neighbourhood, and the passages whose sentences state its triplets in
    the words nearest to the step, at most `step_chunks`.
    """
    with runtime.stage("graph"):
        matched = await asyncio.to_thread(graph.statements.entities_near, step.vector, params.step_entities)
        triplets = await _neighbourhood(graph, matched, params.step_hops)
        # A passage has a few dozen sentences at most.
        stated = await asyncio.to_thread(graph.statements.rank, step.vector, triplets, 40 * params.step_chunks)
        chunk_ids = dict.fromkeys(each.sentence.chunk_id for each in stated)
        passages = await graph.store.chunks(list(chunk_ids)[: params.step_chunks])
    return Walk(matched, len(triplets), passages)


async def _neighbourhood(graph: GraphIndex, matched: Sequence[str], hops: int) -> list[StoredTriplet]:
    """The triplets between entities at most `hops` edges away, those nearest to `matched` first, each once."""
    found: dict[StoredTriplet, None] = {}
    reached, frontier = set(matched), list(matched)
    for _ in range(hops):
        if not frontier:
            break
        near = await graph.store.triplets_of(frontier)
        found.update(dict.fromkeys(near))
        ends = dict.fromkeys(end for triplet in near for end in (triplet.head_id, triplet.tail_id))
        frontier = [end for end in ends if end not in reached][:_MOST_ENTITIES]
        reached.update(frontier)
    return list(found)
