import json
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runtimes import Asked, Chat

from harness.core.errors import ModelUnavailable
from harness.core.records import Document, Span, Triplet
from harness.extraction.entity_names import entity_id
from harness.extraction.types import EVERYTHING, Focus, FoundEntity, TextGraph
from systems.common import extraction
from systems.common.chunking import Chunk, ChunkParams, iter_chunks
from systems.common.extraction import MAX_TRIPLETS
from systems.common.knowledge_graph import Entity, KnowledgeGraph, assemble

SOLVANE = Triplet("Ingrid Solvane", "runs", "Tidewright Power")


def chunks(*texts: str) -> list[Chunk]:
    documents = [
        Document(doc_id=f"d{number}", text=text, title="A title", metadata={"source": "The Post"})
        for number, text in enumerate(texts)
    ]
    return list(iter_chunks(documents, ChunkParams()))


def reply(*triplets: Triplet) -> str:
    return json.dumps({"triplets": [triplet._asdict() for triplet in triplets]})


async def extract(chat: Chat, *texts: str, focus: Focus = EVERYTHING) -> list[TextGraph]:
    return await extraction.extract("bounded", chunks(*texts), chat, lambda _done, _total: None, focus)


async def test_each_chunk_is_one_call_that_shows_its_heading_and_text_between_the_instruction() -> None:
    chat = Chat(lambda _: reply(SOLVANE))
    found = await extract(chat, "Text {one}.", "Text two.")
    assert found == [TextGraph(triplets=(SOLVANE,))] * 2
    first = chat.calls[0]
    assert [call.messages[0] for call in chat.calls] == [first.messages[0]] * 2
    user = first.messages[1].content
    assert "A title | The Post\nText {one}." in user
    instruction = first.messages[0].content.split("\n", 1)[1]
    assert user.endswith(instruction)
    assert first.max_tokens is not None
    assert first.json_schema is not None
    assert first.json_schema["properties"]["triplets"]["maxItems"] == MAX_TRIPLETS


async def test_a_focus_names_kinds_and_relations_and_reads_dates() -> None:
    other = Triplet("Ingrid Solvane", "likes", "tea")
    listed = [{**SOLVANE._asdict(), "date": "May 2023"}, {**other._asdict(), "date": "today"}]
    chat = Chat(lambda _: json.dumps({"triplets": listed}))
    focus = Focus(("person", "company"), ("runs", "built"), dates=True)
    (found,) = await extract(chat, "Text.", focus=focus)
    assert found == TextGraph(triplets=(SOLVANE,), dates=((SOLVANE, "May 2023"),))
    (asked,) = chat.calls
    assert all(word in asked.text for word in ("person, company", "runs, built", '"date"'))
    parts = (asked.json_schema or {})["properties"]["triplets"]["items"]["properties"]
    assert (parts["relation"]["enum"], "date" in parts) == (["runs", "built"], True)


async def test_a_call_that_fails_is_that_chunk_s_failure() -> None:
    def answer(asked: Asked) -> str:
        if "bad" in asked.text:
            raise ConnectionResetError("the line broke")
        return reply(SOLVANE)

    good, bad = await extract(Chat(answer), "good", "bad")
    assert not good.failure
    assert bad.failure == "ConnectionResetError: the line broke"


async def test_a_model_that_is_gone_ends_the_extraction() -> None:
    def answer(_: Asked) -> str:
        raise ModelUnavailable("the key is refused", "set a valid key")

    with pytest.raises(ModelUnavailable):
        await extract(Chat(answer), *map(str, range(20)))


@pytest.mark.parametrize(
    ("text", "triplets"),
    [
        (reply(), ()),
        (reply(SOLVANE, SOLVANE), (SOLVANE,)),
        (reply(*(Triplet(f"n{n}", "is", "x") for n in range(30))), 10),
        (json.dumps({"triplets": [{"head": "a", "relation": "b"}, SOLVANE._asdict(), "x", None]}), (SOLVANE,)),
        (json.dumps({"triplets": [{"head": " ", "relation": "is", "tail": "x"}, SOLVANE._asdict()]}), (SOLVANE,)),
        (reply(Triplet("n" * 200, "r" * 200, "t" * 200)), (Triplet("n" * 60, "r" * 40, "t" * 60),)),
    ],
    ids=["none", "twice", "too many", "half a triplet", "empty field", "too long"],
)
async def test_what_servers_without_schemas_send_is_bounded(
    text: str, triplets: tuple[Triplet, ...] | int
) -> None:
    (found,) = await extract(Chat(lambda _: text), "text")
    assert not found.failure
    assert (len(found.triplets) if isinstance(triplets, int) else found.triplets) == triplets


@pytest.mark.parametrize("text", ['{"facts": []}', '{"triplets": {}}', '{"triplets": [{}, 1]}'])
async def test_json_without_a_single_triplet_of_that_form_is_a_failure(text: str) -> None:
    (found,) = await extract(Chat(lambda _: text), "text")
    assert found.failure


DOCUMENT = Document(doc_id="d", text="text")
SPAN = Span(doc_id="d", start=0, end=4)


def chunks_of(n: int) -> list[Chunk]:
    return [Chunk(f"{number:06d}-00000", "text", SPAN, DOCUMENT) for number in range(n)]


def graph_of(*found: TextGraph) -> KnowledgeGraph:
    return assemble(chunks_of(len(found)), found)


def names(*spellings: str, kind: str = "") -> TextGraph:
    return TextGraph(entities=tuple(FoundEntity(spelling, kind) for spelling in spellings))


def states(*triplets: tuple[str, str, str]) -> TextGraph:
    return TextGraph(triplets=tuple(Triplet(*triplet) for triplet in triplets))


def test_an_entity_is_shown_as_spelled_most_often_and_as_first_met_among_equals() -> None:
    graph = graph_of(names("APPLE", "Google"), names("Apple", "google"), names("Apple"))

    assert [(entity.entity_id, entity.name) for entity in graph.entities] == [
        ("apple", "Apple"),
        ("google", "Google"),
    ]


def test_a_kind_is_the_one_given_most_often_and_never_an_empty_one() -> None:
    graph = graph_of(
        names("Apple", "Apple"), names("apple", kind="Fruit"), names("Apple", "Apple", kind="Company")
    )

    assert graph.entities == (Entity("apple", "Apple", "Company"),)


def test_a_triplet_with_an_end_that_can_be_no_entity_leaves_the_other_end() -> None:
    graph = graph_of(states(("he", "founded", "Apple"), ("Apple", "said", "...")))

    assert graph.relations == ()
    assert [entity.entity_id for entity in graph.entities] == ["apple"]


def test_a_name_that_no_file_could_hold_is_cleaned() -> None:
    graph = graph_of(names("Ap\x00ple \ud83d Inc", kind="Com\npany\ud83d" + "y" * 100))

    assert graph.entities[0].name == "Ap ple Inc"
    assert graph.entities[0].kind.startswith("Com pany")
    assert len(graph.entities[0].kind) == 60


NAME = st.sampled_from(
    ["Apple", "apple", "the Apple", "Google", "GOOGLE", "it", "", "Zürich", "東京", "a b", "..."]
)
TRIPLET = st.builds(Triplet, NAME, st.sampled_from(["owns", "OWNS", "works for", ""]), NAME)
FOUND = st.builds(
    TextGraph,
    st.lists(st.builds(FoundEntity, NAME, st.sampled_from(["", "Person", "Company"])), max_size=5).map(tuple),
    st.lists(TRIPLET, max_size=6).map(tuple),
)


@given(st.lists(FOUND, max_size=5))
def test_every_list_is_in_its_promised_order_and_refers_to_what_exists(found: Sequence[TextGraph]) -> None:
    graph = graph_of(*found)
    entities = [entity.entity_id for entity in graph.entities]
    triples = [(relation.head_id, relation.relation, relation.tail_id) for relation in graph.relations]
    mentions = [(mention.chunk_id, mention.entity_id) for mention in graph.mentions]
    order = [chunk.chunk_id for chunk in graph.chunks]

    assert entities == sorted(set(entities))
    assert triples == sorted(set(triples))
    assert mentions == sorted(set(mentions))
    assert {entity for _, entity in mentions} == set(entities)
    assert {chunk for chunk, _ in mentions} <= set(order)
    for relation in graph.relations:
        assert relation.head_id != relation.tail_id
        assert relation.chunk_ids
        assert list(relation.chunk_ids) == [chunk for chunk in order if chunk in relation.chunk_ids]
        for chunk in relation.chunk_ids:
            assert {(chunk, relation.head_id), (chunk, relation.tail_id)} <= set(mentions)
    assert all(entity_id(entity.name) == entity.entity_id for entity in graph.entities)


@given(st.lists(FOUND, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_triplets_within_a_chunk_decides_nothing_but_equally_frequent_spellings(
    found: Sequence[TextGraph], shuffling: random.Random
) -> None:
    shuffled = [
        TextGraph(graph.entities, tuple(shuffling.sample(graph.triplets, len(graph.triplets)))) for graph in found
    ]
    one, other = graph_of(*found), graph_of(*shuffled)

    assert one.relations == other.relations
    assert one.mentions == other.mentions
    assert [(entity.entity_id, entity.kind) for entity in one.entities] == [
        (entity.entity_id, entity.kind) for entity in other.entities
    ]
