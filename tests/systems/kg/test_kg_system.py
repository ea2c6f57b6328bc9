"""kg over the real stores, with a scripted model."""

import pytest
from kg_corpus import CORPUS, THESIS, ask, loaded, of_kind, scripted
from pydantic import ValidationError
from runtimes import Asked, BareRuntime, Chat

from harness.core.errors import ConfigError, ModelUnavailable
from harness.core.records import Query, Triplet
from systems.common.graph_index import GraphIndexParams
from systems.common.graph_search.params import GraphSearchParams
from systems.kg.system import SPEC, KgSystem

SOLVANE = "(Ingrid Solvane)-[RUNS]->(Tidewright Power)"
TURBINES = "(Tidewright Power)-[BUILDS_TURBINES_FOR]->(Gull Sound)"
LIES = "(Gull Sound)-[LIES_OFF]->(Port Aldery)"


@pytest.mark.slow
async def test_the_index_is_one_call_a_chunk_and_says_what_it_holds(runtime: BareRuntime) -> None:
    system = KgSystem(GraphIndexParams(), GraphSearchParams(), runtime)
    stats = await system.index(CORPUS)
    system.close()
    assert isinstance(runtime.chat, Chat)
    assert len(runtime.chat.calls) == 3
    assert (stats.documents, stats.chunks, stats.nodes, stats.edges) == (4, 3, 7, 5)
    assert (stats.failed_chunks, stats.notes) == (0, ("1 documents have no text",))
    assert runtime.stages == ["chunk", "extract", "assemble", "embed", "words", "embed", "store", "store"]
    assert runtime.told[-1] == (3, 3, "extracting")


async def test_a_chunk_whose_replies_are_prose_is_counted_and_its_passage_is_still_found(
    runtime: BareRuntime,
) -> None:
    runtime.chat = Chat(lambda asked: "prose" if "Ondrevik" in asked.text else scripted(asked))
    system = KgSystem(GraphIndexParams(), GraphSearchParams(), runtime)
    stats = await system.index(CORPUS)
    assert (stats.chunks, stats.failed_chunks) == (3, 1)
    assert stats.notes[1].startswith("1 of 3 chunks")
    assert stats.notes[2].startswith("1 chunks failed")
    await system.load()
    contexts = (await system.answer(Query(query_id="q", text="Who makes signals for the Coastal Line?"))).contexts
    system.close()
    assert contexts[0].doc_ids == ("d1",)


async def test_a_model_that_is_gone_ends_the_index(runtime: BareRuntime) -> None:
    def gone(_: Asked) -> str:
        raise ModelUnavailable("gone", "start it")

    runtime.chat = Chat(gone)
    system = KgSystem(GraphIndexParams(), GraphSearchParams(), runtime)
    with pytest.raises(ModelUnavailable):
        await system.index(CORPUS)
    system.close()


async def test_hybrid_gives_the_nearest_passages_and_then_the_triplets_of_the_question_s_entities(
    indexed: BareRuntime,
) -> None:
    contexts = await ask(indexed, "What does Tidewright Power build?", top_k=2)
    assert [context.kind for context in contexts] == ["passage", "passage", "triplet", "triplet"]
    assert contexts[0].doc_ids == ("d0",)
    assert of_kind(contexts, "triplet") == [SOLVANE, TURBINES]
    assert contexts[-1].doc_ids == ("d0",)
    assert contexts[-1].triplets == (Triplet("Tidewright Power", "BUILDS_TURBINES_FOR", "Gull Sound"),)
    assert [context.triplets for context in contexts[:2]] == [(), ()]


async def test_passages_by_words_embed_nothing(indexed: BareRuntime) -> None:
    contexts = await ask(indexed, "Where is Gull Sound?", search="bm25", top_k=1)
    assert [context.kind for context in contexts] == ["passage", "triplet", "triplet"]
    assert contexts[0].doc_ids == ("d2",)
    assert indexed.embedder.queries == []  # type: ignore[attr-defined]


async def test_triplets_alone_embed_nothing(indexed: BareRuntime) -> None:
    contexts = await ask(indexed, "Where is Gull Sound?", mode="triplets")
    assert of_kind(contexts, "triplet") == [LIES, TURBINES]
    assert len(contexts) == 2
    assert indexed.embedder.queries == []  # type: ignore[attr-defined]


async def test_triplets_with_text_bring_the_passages_that_state_them(indexed: BareRuntime) -> None:
    contexts = await ask(indexed, "Where is Gull Sound?", mode="triplets+text")
    assert [context.doc_ids for context in contexts if context.kind == "passage"] == [("d2",), ("d0",)]
    assert of_kind(contexts, "triplet") == [LIES, TURBINES]
    assert indexed.embedder.queries == []  # type: ignore[attr-defined]
    few = await ask(indexed, "Where is Gull Sound?", mode="triplets+text", top_k=1)
    assert [context.kind for context in few] == ["passage", "triplet", "triplet"]


async def test_no_more_triplets_than_asked_for(indexed: BareRuntime) -> None:
    contexts = await ask(indexed, "Tidewright Power and Gull Sound?", mode="triplets", max_triplets=1)
    assert of_kind(contexts, "triplet") == [TURBINES]


async def test_a_question_without_a_name_is_searched_for_as_a_whole(indexed: BareRuntime) -> None:
    assert of_kind(await ask(indexed, "who runs the coastal line", mode="triplets"), "triplet") == [
        "(Norrand Rail)-[RUNS]->(Coastal Line)",
        "(Ondrevik)-[MAKES_SIGNALS_FOR]->(Coastal Line)",
    ]


async def test_names_may_be_found_by_the_model(indexed: BareRuntime) -> None:
    def answer(asked: Asked) -> str:
        return "an answer" if asked.json_schema is None else '{"names": ["Ingrid Solvane"]}'

    indexed.chat = Chat(answer)
    contexts = await ask(indexed, "who is she", mode="triplets", names_by="model")
    assert of_kind(contexts, "triplet") == [SOLVANE]


async def test_names_by_the_model_without_a_generator_are_refused(indexed: BareRuntime) -> None:
    indexed.chat = None
    system = KgSystem(GraphIndexParams(), GraphSearchParams(names_by="model"), indexed)
    with pytest.raises(ConfigError, match="names_by=graph"):
        await system.load()
    system.close()


async def test_the_trace_says_which_entities_were_found(indexed: BareRuntime) -> None:
    async with loaded(indexed) as system:
        prediction = await system.answer(Query(query_id="q", text="What does Tidewright Power build?"))
    assert prediction.answer == "an answer"
    assert [step.name for step in prediction.trace] == ["names", "entities", "triplets"]
    assert prediction.trace[1].content.startswith("Tidewright Power (2 relations)")


@pytest.mark.parametrize(
    ("params", "roles"),
    [({}, {"embedder", "generator"}), ({"extractor": "langchain"}, {"embedder", "generator"}),
     ({"extractor": "nlp"}, {"embedder"})],
)  # fmt: skip
def test_the_generator_determines_the_graph_unless_no_model_extracts_it(
    params: dict[str, str], roles: set[str]
) -> None:
    assert SPEC.roles(GraphIndexParams.model_validate(params), GraphSearchParams()).index == roles


@pytest.mark.parametrize(
    ("mode", "roles"),
    [
        ("hybrid", {"embedder", "generator"}),
        ("triplets", {"generator"}),
        ("triplets+text", {"generator"}),
    ],
)
def test_only_a_search_by_meaning_embeds_the_question(mode: str, roles: set[str]) -> None:
    params = GraphSearchParams.model_validate({**THESIS, "mode": mode})
    assert SPEC.roles(GraphIndexParams(), params).answer == roles
    by_meaning = params.model_copy(update={"rank": "meaning"})
    assert SPEC.roles(GraphIndexParams(), by_meaning).answer == {"embedder", "generator"}


@pytest.mark.parametrize(
    "bad", [{"mode": "graph"}, {"top_k": 0}, {"max_triplets": 0}, {"names_by": "magic"}, {"entities_per_name": 0}]
)
def test_parameters_that_cannot_be_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        GraphSearchParams.model_validate(bad)
