"""What kg hands over, step by step, over a real store with a scripted extractor."""

import pytest
from kg_corpus import ask, loaded, of_kind
from runtimes import BareRuntime

from harness.core.errors import ConfigError
from harness.core.records import Query
from harness.evaluators.triplet_extraction import stated_by
from systems.common.graph_index import GraphIndexParams
from systems.common.graph_search.params import GraphSearchParams
from systems.kg.system import SPEC

MEANING = {"names_by": "graph", "rank": "meaning"}


async def test_a_publisher_is_no_entity_of_the_question(indexed: BareRuntime) -> None:
    async with loaded(indexed, names_by="graph") as system:
        said = await system.answer(Query(query_id="q", text="What does The Post say of Gull Sound?"))
    assert said.trace[0].content == "Gull Sound"


async def test_a_question_that_names_nothing_of_the_graph_is_searched_for_as_a_whole(indexed: BareRuntime) -> None:
    async with loaded(indexed, names_by="graph", mode="triplets") as system:
        said = await system.answer(Query(query_id="q", text="who runs that line"))
    assert said.trace[0].content.startswith("none")
    assert "Coastal Line" in said.trace[1].content


async def test_triplets_by_meaning_stand_with_their_sentence_and_its_publisher(indexed: BareRuntime) -> None:
    contexts = await ask(indexed, "What lies off Port Aldery?", mode="triplets", **MEANING)
    assert of_kind(contexts, "triplet") == [
        "(Gull Sound)-[LIES_OFF]->(Port Aldery): Gull Sound lies off Port Aldery. (The Post)"
    ]
    assert contexts[0].doc_ids == ("d2",)
    assert contexts[0].triplets[0].relation == "LIES_OFF"
    assert stated_by(contexts).texts == ("Gull Sound lies off Port Aldery. (The Post)",)


async def test_a_sentence_that_stands_in_a_passage_is_not_said_again(indexed: BareRuntime) -> None:
    contexts = await ask(indexed, "What lies off Port Aldery?", top_k=1, **MEANING)
    assert [context.kind for context in contexts] == ["passage"]
    assert contexts[0].doc_ids == ("d2",)


async def test_the_passages_that_state_what_is_nearest_come_in_its_order(indexed: BareRuntime) -> None:
    contexts = await ask(indexed, "Where is Gull Sound, off which port?", mode="triplets+text", top_k=1, **MEANING)
    assert [context.doc_ids for context in contexts if context.kind == "passage"] == [("d2",)]


async def test_passages_that_mention_the_question_s_entities_are_fused_with_the_search_s(
    indexed: BareRuntime,
) -> None:
    question = "Ondrevik: turbines, turbines, turbines?"
    alone = await ask(indexed, question, top_k=1, max_triplets=1, names_by="graph")
    assert alone[0].doc_ids == ("d0",)
    both = await ask(indexed, question, top_k=2, max_triplets=1, names_by="graph", mentions=True)
    assert {context.doc_ids for context in both if context.kind == "passage"} == {("d0",), ("d1",)}


async def test_two_hops_bring_the_triplets_of_neighbours_behind_those_of_the_question(
    indexed: BareRuntime,
) -> None:
    near = of_kind(await ask(indexed, "Who is Ingrid Solvane?", mode="triplets"), "triplet")
    far = of_kind(await ask(indexed, "Who is Ingrid Solvane?", mode="triplets", hops=2), "triplet")
    assert stated_by(await ask(indexed, "Who is Ingrid Solvane?", mode="triplets")).texts == ()
    assert near == ["(Ingrid Solvane)-[RUNS]->(Tidewright Power)"]
    assert far == [*near, "(Tidewright Power)-[BUILDS_TURBINES_FOR]->(Gull Sound)"]


async def test_a_reranker_orders_what_search_and_mentions_found(indexed: BareRuntime) -> None:
    contexts = await ask(indexed, "Where is Gull Sound?", top_k=2, rerank="x", mentions=True, names_by="graph")
    assert "rerank" in indexed.stages
    assert [context.score for context in contexts if context.kind == "passage"] == [0.0, 0.0]


def test_a_reranker_is_named_where_passages_are_searched_for() -> None:
    assert SPEC.own_reranker(GraphSearchParams(rerank="x")) == "x"
    assert SPEC.own_reranker(GraphSearchParams(rerank="x", mode="triplets")) is None


def test_sentences_that_the_index_does_not_keep_cannot_be_ranked() -> None:
    assert SPEC.preflight is not None
    with pytest.raises(ConfigError, match=r"index\.statements=false"):
        SPEC.preflight(GraphIndexParams(statements=False), GraphSearchParams(rank="meaning"))
    SPEC.preflight(GraphIndexParams(statements=False), GraphSearchParams(rank="words"))
