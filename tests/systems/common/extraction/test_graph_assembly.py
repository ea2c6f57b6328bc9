import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.records import Document, Span, Triplet
from harness.extraction.entity_names import entity_id
from harness.extraction.types import FoundEntity, TextGraph
from systems.common.chunking import Chunk, ChunkParams, iter_chunks
from systems.common.extraction.graph_assembly import assemble
from systems.common.extraction.nlp import NlpOfChunks
from systems.common.graph_types import Entity, KnowledgeGraph

DOCUMENT = Document(doc_id="d", text="text")
SPAN = Span(doc_id="d", start=0, end=4)


def chunks(n: int) -> list[Chunk]:
    return [Chunk(f"{number:06d}-00000", "text", SPAN, DOCUMENT) for number in range(n)]


def graph_of(*found: TextGraph) -> KnowledgeGraph:
    return assemble(chunks(len(found)), found)


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


def test_a_found_graph_too_few_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        assemble(chunks(2), [TextGraph()])


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


@pytest.mark.slow
async def test_real_articles_give_names_as_hubs_and_no_common_words(articles: tuple[Document, ...]) -> None:
    some = list(iter_chunks(articles[:3], ChunkParams()))
    found = await NlpOfChunks(None, lambda _done, _total: None).extract(some)
    graph = assemble(some, found)

    assert len(found) == len(some)
    assert graph.failed_chunks == 0
    assert len(graph.relations) > len(some)
    ends = {end for relation in graph.relations for end in (relation.head_id, relation.tail_id)}
    assert not ends & {"lot", "time", "way", "year", "thing", "people", "today", "monday", "2023", "one", "first"}
