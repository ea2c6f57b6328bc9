import random
import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.records import Document, Span, Triplet
from harness.extraction.entity_names import entity_id
from harness.extraction.types import FoundEntity, TextGraph
from systems.common.chunking import Chunk
from systems.common.extraction.graph_assembly import assemble
from systems.common.graph_types import Entity, KnowledgeGraph, Mention, Relation

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


def test_the_ends_of_a_triplet_are_entities_that_its_chunk_mentions() -> None:
    graph = graph_of(states(("Tim Cook", "works for", "Apple")))

    assert graph.entities == (Entity("apple", "Apple"), Entity("tim cook", "Tim Cook"))
    assert graph.mentions == (Mention("000000-00000", "apple"), Mention("000000-00000", "tim cook"))
    assert graph.relations == (Relation("tim cook", "WORKS_FOR", "apple", ("000000-00000",)),)


def test_a_relation_names_each_chunk_that_states_it_once_in_corpus_order() -> None:
    stated = states(("Tim Cook", "works for", "Apple"), ("tim cook", "WORKS_FOR", "the Apple"))

    graph = graph_of(stated, names("Apple"), stated)

    assert [relation.chunk_ids for relation in graph.relations] == [("000000-00000", "000002-00000")]


def test_a_triplet_from_an_entity_to_itself_is_no_relation() -> None:
    graph = graph_of(states(("Apple", "is", "apple's")))

    assert graph.relations == ()
    assert [entity.entity_id for entity in graph.entities] == ["apple"]


def test_a_triplet_with_an_end_that_can_be_no_entity_leaves_the_other_end() -> None:
    graph = graph_of(states(("he", "founded", "Apple"), ("Apple", "said", "...")))

    assert graph.relations == ()
    assert [entity.entity_id for entity in graph.entities] == ["apple"]


def test_chunks_that_failed_are_counted() -> None:
    assert graph_of(TextGraph(failure="prose"), names("Apple"), TextGraph(failure="prose")).failed_chunks == 2


def test_no_chunks_are_an_empty_graph() -> None:
    assert graph_of() == KnowledgeGraph((), (), (), ())


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
def test_thousands_of_chunks_are_merged_in_seconds() -> None:
    dice = random.Random(0)
    found = [
        TextGraph(
            tuple(FoundEntity(f"Name {dice.randrange(8000)}") for _ in range(60)),
            tuple(
                Triplet(f"Name {dice.randrange(8000)}", "met", f"Name {dice.randrange(8000)}") for _ in range(20)
            ),
        )
        for _ in range(1000)
    ]
    started = time.process_time()

    graph = graph_of(*found)

    assert len(graph.entities) == 8000
    assert time.process_time() - started < 5
