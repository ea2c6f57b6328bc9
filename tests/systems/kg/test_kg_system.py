"""kg over the real stores, with a scripted model."""

import asyncio
import json
from pathlib import Path

import pytest
from asking import asked, indexed
from kg_corpus import CORPUS, THESIS, ask, of_kind, scripted
from runtimes import Asked, BareRuntime, Chat, Embedder

from harness.core.errors import ConfigError
from harness.core.records import Document, Triplet
from harness.evaluators.triplet_extraction import content_of_contexts
from harness.models.metering import Meter, metered
from harness.runner.executing.system_runtime import WorkerRuntime
from systems.common.graph_index import GraphIndexParams
from systems.common.graph_retrieval import GraphSearchParams
from systems.kg.system import SPEC, KgSystem

SOLVANE = "(Ingrid Solvane)-[RUNS]->(Tidewright Power)"
TURBINES = "(Tidewright Power)-[BUILDS_TURBINES_FOR]->(Gull Sound)"
LIES = "(Gull Sound)-[LIES_OFF]->(Port Aldery)"
MEANING = {"names_by": "graph", "rank": "meaning"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """CORPUS, indexed, one chunk a document."""
    folder = tmp_path_factory.mktemp("kg")
    asyncio.run(indexed(SPEC, BareRuntime(folder, Chat(scripted)), CORPUS))
    return folder


@pytest.fixture
def stored(folder: Path) -> BareRuntime:
    return BareRuntime(folder, Chat(scripted))


async def test_the_index_is_one_call_a_chunk_and_says_what_it_holds(tmp_path: Path) -> None:
    runtime = BareRuntime(tmp_path, chat := Chat(scripted))
    stats = await indexed(SPEC, runtime, CORPUS)
    assert len(chat.calls) == 3
    assert (stats.documents, stats.chunks, stats.nodes, stats.edges) == (4, 3, 7, 5)
    assert (stats.failed_chunks, stats.notes) == (0, ("1 documents have no text",))
    assert runtime.stages == ["chunk", "extract", "assemble", "embed", "words", "embed", "store", "store"]
    assert runtime.told[-1] == (3, 3, "extracting")


async def test_a_chunk_whose_replies_are_prose_is_counted_and_its_passage_is_still_found(tmp_path: Path) -> None:
    runtime = BareRuntime(tmp_path, Chat(lambda asked: "prose" if "Ondrevik" in asked.text else scripted(asked)))
    stats = await indexed(SPEC, runtime, CORPUS)
    assert (stats.chunks, stats.failed_chunks) == (3, 1)
    assert stats.notes[1].startswith("1 of 3 chunks")
    assert stats.notes[2].startswith("1 chunks failed")
    found = await asked(SPEC, runtime, "Who makes signals for the Coastal Line?")
    assert found.contexts[0].doc_ids == ("d1",)


async def test_hybrid_gives_near_passages_then_triplets_of_the_question_s_entities(
    stored: BareRuntime,
) -> None:
    contexts = await ask(stored, "What does Tidewright Power build?", top_k=2)
    assert [context.kind for context in contexts] == ["passage", "passage", "triplet", "triplet"]
    assert contexts[0].doc_ids == ("d0",)
    assert of_kind(contexts, "triplet") == [SOLVANE, TURBINES]
    assert contexts[-1].doc_ids == ("d0",)
    assert contexts[-1].triplets == (Triplet("Tidewright Power", "BUILDS_TURBINES_FOR", "Gull Sound"),)
    assert [context.triplets for context in contexts[:2]] == [(), ()]


async def test_dates_of_relations_stand_behind_their_triplets(tmp_path: Path) -> None:
    fact = {"head": "Norrand Rail", "relation": "runs", "tail": "the Coastal Line", "date": "2021"}
    runtime, dated = BareRuntime(tmp_path, Chat(lambda _: json.dumps({"triplets": [fact]}))), {"dates": True}
    await indexed(SPEC, runtime, CORPUS[1:2], dated)
    found = await asked(SPEC, runtime, "Who runs the Coastal Line?", dated, rank="words")
    assert of_kind(found.contexts, "triplet") == ["(Norrand Rail)-[RUNS]->(the Coastal Line) (2021)"]


async def test_passages_by_words_embed_nothing(stored: BareRuntime) -> None:
    contexts = await ask(stored, "Where is Gull Sound?", search="bm25", top_k=1)
    assert [context.kind for context in contexts] == ["passage", "triplet", "triplet"]
    assert contexts[0].doc_ids == ("d2",)
    assert stored.embedder.queries == []  # type: ignore[attr-defined]


async def test_triplets_with_text_bring_the_passages_that_state_them(stored: BareRuntime) -> None:
    contexts = await ask(stored, "Where is Gull Sound?", mode="triplets+text")
    assert [context.doc_ids for context in contexts if context.kind == "passage"] == [("d2",), ("d0",)]
    assert of_kind(contexts, "triplet") == [LIES, TURBINES]
    assert stored.embedder.queries == []  # type: ignore[attr-defined]
    few = await ask(stored, "Where is Gull Sound?", mode="triplets+text", top_k=1)
    assert [context.kind for context in few] == ["passage", "triplet", "triplet"]


async def test_a_question_without_a_name_is_searched_for_as_a_whole(stored: BareRuntime) -> None:
    assert of_kind(await ask(stored, "who runs the coastal line", mode="triplets"), "triplet") == [
        "(Norrand Rail)-[RUNS]->(Coastal Line)",
        "(Ondrevik)-[MAKES_SIGNALS_FOR]->(Coastal Line)",
    ]


async def test_names_may_be_found_by_the_model(stored: BareRuntime) -> None:
    def answer(asked: Asked) -> str:
        return "an answer" if asked.json_schema is None else '{"names": ["Ingrid Solvane"]}'

    stored.chat = Chat(answer)
    contexts = await ask(stored, "who is she", mode="triplets", names_by="model")
    assert of_kind(contexts, "triplet") == [SOLVANE]


async def test_names_by_the_model_without_a_generator_are_refused(stored: BareRuntime) -> None:
    stored.chat = None
    with pytest.raises(ConfigError, match="names_by=graph"):
        await ask(stored, "who is she", names_by="model")


async def test_the_trace_says_which_entities_were_found(stored: BareRuntime) -> None:
    prediction = await asked(SPEC, stored, "What does Tidewright Power build?", **THESIS)
    assert prediction.answer == "an answer"
    assert [step.name for step in prediction.trace] == ["names", "entities", "triplets"]
    assert prediction.trace[1].content.startswith("Tidewright Power (2 relations)")


@pytest.mark.parametrize(
    ("index", "mode", "index_roles", "answer_roles"),
    [
        ({}, "hybrid", {"embedder", "generator"}, {"embedder", "generator"}),
        ({"extractor": "langchain"}, "triplets", {"embedder", "generator"}, {"generator"}),
        ({"extractor": "nlp"}, "triplets+text", {"embedder"}, {"generator"}),
    ],
)
def test_a_generator_is_asked_unless_rules_extract_and_only_a_search_by_meaning_embeds_the_question(
    index: dict[str, str], mode: str, index_roles: set[str], answer_roles: set[str]
) -> None:
    params = GraphSearchParams.model_validate({**THESIS, "mode": mode})
    roles = SPEC.roles(GraphIndexParams.model_validate(index), params)
    assert roles.index == index_roles
    assert roles.answer == answer_roles
    by_meaning = params.model_copy(update={"rank": "meaning"})
    assert SPEC.roles(GraphIndexParams(), by_meaning).answer == {"embedder", "generator"}


async def test_a_publisher_is_no_entity_of_the_question(stored: BareRuntime) -> None:
    prediction = await asked(SPEC, stored, "What does The Post say of Gull Sound?")
    assert prediction.trace[0].content == "Gull Sound"


async def test_triplets_by_meaning_stand_with_their_sentence_and_its_publisher(stored: BareRuntime) -> None:
    contexts = await ask(stored, "What lies off Port Aldery?", mode="triplets", **MEANING)
    assert of_kind(contexts, "triplet") == [
        "(Gull Sound)-[LIES_OFF]->(Port Aldery): Gull Sound lies off Port Aldery. (The Post)"
    ]
    assert contexts[0].doc_ids == ("d2",)
    assert contexts[0].triplets[0].relation == "LIES_OFF"
    assert content_of_contexts(contexts).texts == ("Gull Sound lies off Port Aldery. (The Post)",)


async def test_a_sentence_that_stands_in_a_passage_is_not_said_again(stored: BareRuntime) -> None:
    contexts = await ask(stored, "What lies off Port Aldery?", top_k=1, **MEANING)
    assert [context.kind for context in contexts] == ["passage"]
    assert contexts[0].doc_ids == ("d2",)


async def test_the_passages_that_state_what_is_nearest_come_in_its_order(stored: BareRuntime) -> None:
    contexts = await ask(stored, "Where is Gull Sound, off which port?", mode="triplets+text", top_k=1, **MEANING)
    assert [context.doc_ids for context in contexts if context.kind == "passage"] == [("d2",)]


async def test_passages_that_mention_the_question_s_entities_are_fused_in(
    stored: BareRuntime,
) -> None:
    question = "Ondrevik: turbines, turbines, turbines?"
    alone = await ask(stored, question, top_k=1, max_triplets=1, names_by="graph")
    assert alone[0].doc_ids == ("d0",)
    both = await ask(stored, question, top_k=2, max_triplets=1, names_by="graph", mentions=True)
    assert {context.doc_ids for context in both if context.kind == "passage"} == {("d0",), ("d1",)}


async def test_two_hops_bring_the_triplets_of_neighbours_behind_those_of_the_question(
    stored: BareRuntime,
) -> None:
    near = of_kind(await ask(stored, "Who is Ingrid Solvane?", mode="triplets"), "triplet")
    far = of_kind(await ask(stored, "Who is Ingrid Solvane?", mode="triplets", hops=2), "triplet")
    assert content_of_contexts(await ask(stored, "Who is Ingrid Solvane?", mode="triplets")).texts == ()
    assert near == ["(Ingrid Solvane)-[RUNS]->(Tidewright Power)"]
    assert far == [*near, "(Tidewright Power)-[BUILDS_TURBINES_FOR]->(Gull Sound)"]


async def test_a_reranker_orders_what_search_and_mentions_found(stored: BareRuntime) -> None:
    contexts = await ask(stored, "Where is Gull Sound?", top_k=2, rerank="x", mentions=True, names_by="graph")
    assert "rerank" in stored.stages
    assert [context.score for context in contexts if context.kind == "passage"] == [0.0, 0.0]


def test_a_reranker_is_named_where_passages_are_searched_for() -> None:
    assert SPEC.reranker(GraphSearchParams(rerank="x")) == "x"
    assert SPEC.reranker(GraphSearchParams(rerank="x", mode="triplets")) is None


def test_sentences_that_the_index_does_not_keep_cannot_be_ranked() -> None:
    assert SPEC.preflight is not None
    with pytest.raises(ConfigError, match=r"index\.statements=false"):
        SPEC.preflight(GraphIndexParams(statements=False), GraphSearchParams(rank="meaning"))
    SPEC.preflight(GraphIndexParams(statements=False), GraphSearchParams(rank="words"))


# kg with the nlp extractor, the real spaCy pipeline and no generator.


PLAIN = "Ingrid Solvane runs Tidewright Power. Tidewright Power built the Gull Sound array near Port Aldery."


@pytest.mark.slow
async def test_by_rules_the_index_asks_for_no_generator(tmp_path: Path) -> None:
    runtime = WorkerRuntime(tmp_path, 0, None, Embedder(), names_generator=False)
    system = KgSystem(GraphIndexParams(extractor="nlp"), GraphSearchParams(), runtime)
    with metered(Meter("index")):
        stats = await system.index([Document(doc_id="d", text=PLAIN)])
    system.close()
    assert stats.nodes
