"""The sentences of a graph's triplets, stored and ranked by meaning."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from graph_samples import Edge, chunks_of, graph
from hypothesis import given
from hypothesis import strategies as st

from harness.core.records import Document
from harness.models.fake_model import bag_of_words
from systems.common.graph_stores.contract import StoredTriplet
from systems.common.graph_types import KnowledgeGraph
from systems.common.sentence_search import StatedGraph, StatementIndex, sentences_of_triplets

TEXT = (
    "Ada Byl leads Ferrum. Ferrum is large.\nByl bought the Tidewright yard! “It floats.” Ferrum owns Tidewright."
)
EDGES: tuple[Edge, ...] = (
    ("Ada Byl", "LEADS", "Ferrum", (0,)),
    ("Ferrum", "OWNS", "Tidewright", (0,)),
    ("Ada Byl", "BOUGHT", "Tidewright", (0,)),
    ("Ferrum", "KNOWS", "Nobody", (0,)),
)


def kept(text: str = TEXT, **metadata: str) -> KnowledgeGraph:
    return graph(chunks_of([Document(doc_id="d", text=text, metadata=metadata)]), EDGES)


def said(stated: StatedGraph) -> dict[str, str]:
    return {relation: stated.sentences[number].text for _, relation, _, number in stated.triplets}


def test_each_triplet_stands_in_the_sentence_that_holds_most_of_its_ends() -> None:
    assert said(sentences_of_triplets(kept())) == {
        "LEADS": "Ada Byl leads Ferrum.",
        "OWNS": "Ferrum owns Tidewright.",
        "BOUGHT": "Byl bought the Tidewright yard!",
        "KNOWS": "Ada Byl leads Ferrum.",
    }


def test_a_sentence_says_who_published_it_and_when() -> None:
    stated = sentences_of_triplets(kept(source="The Post", published_at="2023-10-05T08:00:00Z"))
    assert stated.texts[0] == "Ada Byl leads Ferrum. (The Post, 2023-10-05)"
    assert sentences_of_triplets(kept(source="The Post")).texts[0] == "Ada Byl leads Ferrum. (The Post)"
    assert sentences_of_triplets(kept()).texts[0] == "Ada Byl leads Ferrum."


def test_a_sentence_of_several_triplets_is_kept_once() -> None:
    assert len(sentences_of_triplets(kept()).sentences) == 3


@given(st.text(max_size=300))
def test_any_text_gives_every_triplet_a_sentence_of_its_own_words(text: str) -> None:
    if not text:
        return
    found = said(sentences_of_triplets(kept(text)))
    assert len(found) == len(EDGES)
    assert all(sentence in text for sentence in found.values())


def triplet(edge: Edge) -> StoredTriplet:
    head, relation, tail, _ = edge
    return StoredTriplet(head, relation, tail, head.lower(), tail.lower(), ("000000-00000",), ("d",))


@pytest.fixture
def index(tmp_path: Path) -> Iterator[StatementIndex]:
    stated = sentences_of_triplets(kept())
    vectors = np.array([bag_of_words(text) for text in stated.texts], dtype=np.float32)
    StatementIndex.create(tmp_path / "statements", stated, vectors).close()
    opened = StatementIndex.open(tmp_path / "statements")
    yield opened
    opened.close()


def ranked(index: StatementIndex, question: str, *edges: Edge, k: int = 9) -> list[tuple[str, str]]:
    vector = np.array(bag_of_words(question), dtype=np.float32)
    return [(each.triplet.relation, each.sentence.text) for each in index.rank(vector, map(triplet, edges), k)]


def test_the_sentences_nearest_to_the_question_come_first_each_once(index: StatementIndex) -> None:
    found = ranked(index, "who bought the yard", *EDGES)
    assert found[0] == ("BOUGHT", "Byl bought the Tidewright yard!")
    assert sorted(found) == sorted({*found})
    assert len(found) == 3
    assert ranked(index, "who bought the yard", *EDGES, k=1) == found[:1]


def test_a_sentence_stands_with_the_first_of_its_triplets(index: StatementIndex) -> None:
    assert ranked(index, "x", EDGES[3], EDGES[0]) == [("KNOWS", "Ada Byl leads Ferrum.")]
    assert ranked(index, "x", EDGES[0], EDGES[3]) == [("LEADS", "Ada Byl leads Ferrum.")]


def test_a_graph_without_a_triplet_is_an_index_that_finds_nothing(tmp_path: Path) -> None:
    stated = sentences_of_triplets(graph(chunks_of([Document(doc_id="d", text="Nothing.")])))
    empty = StatementIndex.create(tmp_path / "empty", stated, np.zeros((0, 0), dtype=np.float32))
    assert ranked(empty, "x", *EDGES) == []
    empty.close()
