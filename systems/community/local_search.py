"""Local search: the entities near the question, with their reports, relations and text units."""

import sys
from collections.abc import Sequence
from typing import Any

from harness.core.records import Context, Query, Step
from harness.protocols import Runtime
from systems.common.answers import Found
from systems.common.headings import with_origins
from systems.common.wrapped_libraries import entity_text, plain, relation_text
from systems.community import library
from systems.community.params import AnswerParams
from systems.community.stored_index import StoredIndex
from systems.community.text_units import UnitRow, passage, triplets_in, within

# The library's 3,200, 4,800 and 4,000 of 12,000 tokens.
REPORTS, GRAPH, PASSAGES = 0.27, 0.40, 0.33
"""Shares of the context: reports, entities and relations, passages."""


async def search_locally(runtime: Runtime, index: StoredIndex, params: AnswerParams, query: Query) -> Found:
    """Reports, entities, relations and passages, in the library's order and ranked by its functions."""
    with runtime.stage("embed_query"):
        vector = await runtime.embedder.embed_query(query.text)
    with runtime.stage("retrieve"):
        near = index.vectors.nearest(vector, params.top_entities)
        entities = [await _entity(index, name) for name, _ in near]
        graph_tokens = int(GRAPH * params.context_tokens)
        described = [_entity_context(index, data, score) for data, (_, score) in zip(entities, near, strict=True)]
        # The library does not limit its entity table; half of the graph's share leaves room for relations.
        contexts = [
            *within(await _reports(index, params, entities), int(REPORTS * params.context_tokens)),
            *within(described, graph_tokens // 2),
            *within(await _relations(index, entities), graph_tokens - graph_tokens // 2),
            *within(await _passages(index, entities), int(PASSAGES * params.context_tokens)),
        ]
    names = "\n".join(plain(name) for name, _ in near)
    return Found(tuple(contexts), trace=(Step(name="entities", content=names),))


async def _entity(index: StoredIndex, name: str) -> UnitRow:
    return {**await index.graph.get_node(name), "entity_name": name}


def _entity_context(index: StoredIndex, entity: UnitRow, score: float) -> Context:
    text = entity_text(entity["entity_name"], entity["entity_type"], entity["description"])
    return _graph_context(index, entity, text, score)


def _graph_context(index: StoredIndex, data: UnitRow, text: str, score: float | None = None) -> Context:
    """The text of a node or an edge with its sources: our statements name them, descriptions from the library's
    extraction do not.
    """
    doc_ids = index.sources(data)
    triplets = triplets_in(data)
    shown = text if triplets else with_origins(text, [index.origins([doc_id]) for doc_id in doc_ids])
    return Context(text=shown, doc_ids=doc_ids, kind="triplet", triplets=triplets, score=score)


async def _reports(index: StoredIndex, params: AnswerParams, entities: Sequence[UnitRow]) -> list[Context]:
    """Reports of the communities with most of the entities, then by rating."""
    found = await library.operations()._find_most_related_community_from_entities(
        entities, _unbounded(level=params.community_level), index.reports
    )
    return [index.report_titled(data["title"]).as_context for data in found]


async def _relations(index: StoredIndex, entities: Sequence[UnitRow]) -> list[Context]:
    """Relations by the degree of their entities, then by weight."""
    found = await library.operations()._find_most_related_edges_from_entities(entities, _unbounded(), index.graph)
    # Ties come in the order of a set, which differs between processes.
    found.sort(key=lambda edge: (-edge["rank"], -edge["weight"], edge["src_tgt"]))
    ends = [edge["src_tgt"] for edge in found]
    return [
        _graph_context(index, edge, relation_text(source, target, edge["description"]))
        for edge, (source, target) in zip(found, ends, strict=True)
    ]


async def _passages(index: StoredIndex, entities: Sequence[UnitRow]) -> list[Context]:
    """Text units of the nearest entity first; for one entity, those with most of its neighbours first."""
    found = await library.operations()._find_most_related_text_unit_from_entities(
        entities, _unbounded(), index.units, index.graph
    )
    return [passage(record) for record in found]


def _unbounded(level: int = 0) -> Any:
    """The library's budgets count only descriptions; ours count the whole text."""
    return library.load().QueryParam(
        level=level,
        local_max_token_for_text_unit=sys.maxsize,
        local_max_token_for_local_context=sys.maxsize,
        local_max_token_for_community_report=sys.maxsize,
    )
