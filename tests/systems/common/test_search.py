"""Words, both lists together, sentences of a graph, and a reranker behind a search."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asking import asked, indexed
from graph_samples import Edge, chunks_of, graph
from hypothesis import given
from hypothesis import strategies as st
from runtimes import BareRuntime

from harness.core.records import Context, Document, Places, Span
from harness.models.fake_model import bag_of_words
from systems.common.answers import Found
from systems.common.chunking import ChunkParams, iter_chunks
from systems.common.graph_stores.contract import StoredTriplet
from systems.common.knowledge_graph import KnowledgeGraph
from systems.common.search import PassageSearch, TopKParams, fuse
from systems.common.sentence_search import StatedGraph, StatementIndex, sentences_of_triplets
from systems.common.word_index import WordIndex
from systems.naive.system import SPEC

Build = Callable[..., WordIndex]


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    """build(*texts) -> their index, opened anew; each text is a document of one passage."""
    made: list[WordIndex] = []

    def built(*texts: str) -> WordIndex:
        documents = [Document(doc_id=f"d{n}", text=text) for n, text in enumerate(texts)]
        chunks = list(iter_chunks(documents, ChunkParams()))
        folder = tmp_path / f"words-{len(made)}"
        WordIndex.create(folder, chunks, [chunk.text for chunk in chunks])
        made.append(WordIndex.open(folder))
        return made[-1]

    yield built
    for index in made:
        index.close()


def found(index: WordIndex, text: str, k: int = 10) -> list[str]:
    return [context.doc_ids[0] for context in index.search(text, k)]


def test_a_rare_word_counts_for_more_than_a_common_one(build: Build) -> None:
    index = build("heron marsh", "otter river", "heron river", "badger river")
    assert found(index, "Which river has an otter?")[0] == "d1"


@pytest.mark.parametrize("text", ["", " ", "the of and", "?!", "\u0000", "a", "volcano"])
def test_a_question_without_a_word_of_a_passage_finds_nothing(build: Build, text: str) -> None:
    assert found(build("heron marsh", "the otter"), text) == []


@pytest.mark.parametrize("texts", [(), ("",), ("the",), ("?!",)])
def test_a_corpus_without_a_word_is_an_index_that_finds_nothing(build: Build, texts: tuple[str, ...]) -> None:
    assert found(build(*texts), "heron") == []


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("港口由林晓梅管理", "谁管理港口？"),
        ("ＩＰＨＯＮＥ１５", "iPhone15"),
        ("ﾄｰｷｮｰﾀﾜｰ", "トーキョータワー"),
        ("दिल्ली में बारिश", "दिल्ली"),
        ("\u0130stanbul liman\u0131", "istanbul"),
        ("القَاهِرَة كبيرة", "القاهرة"),
        ("تأسست عام ٢٠٢١", "2021"),
    ],
)
def test_a_word_is_found_in_any_script(build: Build, text: str, question: str) -> None:
    assert found(build("heron marsh", text), question) == ["d1"]


@pytest.mark.parametrize(("text", "question"), [("दिन", "दल"), ("港湾", "湾港"), ("서울", "울산")])
def test_letters_in_common_make_no_word(build: Build, text: str, question: str) -> None:
    assert found(build("heron marsh", text), question) == []


def passage(name: str) -> Context:
    return Context(text=name, doc_ids=(name,), kind="passage", span=Span(doc_id=name, start=0, end=1))


def fused(lists: list[str], k: int = 10) -> str:
    return "".join(context.text for context in fuse([[passage(name) for name in each] for each in lists], k))


@pytest.mark.parametrize(("lists", "order"), [(["abc", "xyc"], "caxby"), (["ab", "ba"], "ab"), (["a", "x"], "ax")])
def test_what_both_lists_hold_comes_first_and_ties_as_in_the_first_list(lists: list[str], order: str) -> None:
    assert fused(lists) == order


def test_a_score_is_the_sum_of_reciprocal_ranks() -> None:
    first, second = fuse([[passage("a"), passage("b")], [passage("a")]], k=2)
    assert (first.score, second.score) == (2 / 61, 1 / 62)


# The sentences of a graph's triplets, stored and ranked by meaning.


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
    stated = sentences_of_triplets(kept(source="The Post", published_at="2023-10-05T08:00:00Z"))
    assert said(stated) == {
        "LEADS": "Ada Byl leads Ferrum.",
        "OWNS": "Ferrum owns Tidewright.",
        "BOUGHT": "Byl bought the Tidewright yard!",
        "KNOWS": "Ada Byl leads Ferrum.",
    }
    assert len(stated.sentences) == 3
    assert stated.texts[0] == "Ada Byl leads Ferrum. (The Post, 2023-10-05)"
    assert sentences_of_triplets(kept(source="The Post")).texts[0] == "Ada Byl leads Ferrum. (The Post)"
    assert sentences_of_triplets(kept()).texts[0] == "Ada Byl leads Ferrum."


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
    StatementIndex.create(tmp_path / "statements", stated, vectors)
    opened = StatementIndex.open(tmp_path / "statements")
    yield opened
    opened.close()


def ranked(index: StatementIndex, question: str, *edges: Edge, k: int = 9) -> list[tuple[str, str]]:
    vector = np.array(bag_of_words(question), dtype=np.float32)
    found = index.rank(vector, map(triplet, edges), k)
    return [(each.triplet.relation, each.sentence.text) for each in found if each.sentence]


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
    StatementIndex.create(tmp_path / "empty", stated, np.zeros((0, 0), dtype=np.float32))
    empty = StatementIndex.open(tmp_path / "empty")
    assert ranked(empty, "x", *EDGES) == []
    empty.close()


# A reranker between a search and what the generator reads.


class ByLength:
    """Likes short passages."""

    def __init__(self) -> None:
        self.read: list[str] = []

    async def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        self.read += passages
        return [-float(len(text)) for text in passages]


@pytest.fixture
def runtime(tmp_path: Path) -> BareRuntime:
    return BareRuntime(tmp_path, reranker=ByLength())


async def reranked(runtime: BareRuntime, found: list[Context], k: int, **params: Any) -> Found:
    return await PassageSearch(runtime, TopKParams(**params), None, None).best("q", found, k)


async def test_the_best_come_first_with_the_reranker_s_score_and_ties_as_they_were(
    runtime: BareRuntime,
) -> None:
    found = [passage(name) for name in ("ccc", "bb", "a", "dd")]
    best = await reranked(runtime, found, 3, rerank="x")
    assert [(context.text, context.score) for context in best.contexts] == [
        ("a", -1.0),
        ("bb", -2.0),
        ("dd", -2.0),
    ]
    assert runtime.stages == ["rerank"]


async def test_without_one_the_search_s_order_stands(runtime: BareRuntime) -> None:
    found = [passage(name) for name in ("ccc", "bb", "a")]
    assert (await reranked(runtime, found, 2)).contexts == tuple(found[:2])
    assert (await reranked(runtime, [], 2, rerank="x")).contexts == ()
    assert runtime.stages == []


async def test_it_reads_fetch_k_passages_with_headings_and_top_k_are_handed_over(
    runtime: BareRuntime,
) -> None:
    corpus = [Document(doc_id=f"d{n}", title=f"Title {n}", text="otter " * (9 - n)) for n in range(8)]
    await indexed(SPEC, runtime, corpus, {"vectors": False})
    contexts = (await asked(SPEC, runtime, "otter", search="bm25", rerank="x", fetch_k=5, top_k=2)).contexts
    assert isinstance(runtime.reranker, ByLength)
    assert len(runtime.reranker.read) == 5
    assert all(text.startswith("Title ") for text in runtime.reranker.read)
    assert [context.text for context in contexts] == sorted(runtime.reranker.read, key=len)[:2]


async def test_what_it_does_not_read_stands_behind_in_the_ranking_that_is_kept(runtime: BareRuntime) -> None:
    found = [passage(name) for name in ("ccc", "bb", "a", "d")]
    best = await reranked(runtime, found, 1, rerank="x", fetch_k=2)
    assert [context.text for context in best.contexts] == ["bb"]
    assert best.ranking == Places.of(one.span for one in (found[1], found[0], found[2], found[3]) if one.span)
