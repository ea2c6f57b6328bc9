"""A reranker between a search and what the generator reads."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from runtimes import BareRuntime

from harness.core.records import Context, Document, Places, Query, Span
from systems.common.passages import PassageParams
from systems.common.reranking import best_passages
from systems.naive.params import AnswerParams
from systems.naive.system import NaiveSystem


class ByLength:
    """Likes short passages."""

    def __init__(self) -> None:
        self.read: list[str] = []

    async def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        self.read += passages
        return [-float(len(passage)) for passage in passages]


def passage(name: str) -> Context:
    return Context(text=name, doc_ids=(name,), kind="passage", score=9.0, span=Span(doc_id=name, start=0, end=1))


@pytest.fixture
def runtime(tmp_path: Path) -> BareRuntime:
    return BareRuntime(tmp_path, reranker=ByLength())


async def test_the_best_come_first_with_the_reranker_s_score_and_equal_ones_as_they_were(
    runtime: BareRuntime,
) -> None:
    found = [passage(name) for name in ("ccc", "bb", "a", "dd")]
    best = await best_passages(runtime, AnswerParams(rerank="x"), "q", found, 3)
    assert [(context.text, context.score) for context in best.contexts] == [
        ("a", -1.0),
        ("bb", -2.0),
        ("dd", -2.0),
    ]
    assert runtime.stages == ["rerank"]


async def test_without_one_the_search_s_order_stands(runtime: BareRuntime) -> None:
    found = [passage(name) for name in ("ccc", "bb", "a")]
    assert (await best_passages(runtime, AnswerParams(), "q", found, 2)).contexts == found[:2]
    assert (await best_passages(runtime, AnswerParams(rerank="x"), "q", [], 2)).contexts == []
    assert runtime.stages == []


async def test_it_reads_fetch_k_passages_with_their_headings_and_top_k_are_handed_over(
    runtime: BareRuntime,
) -> None:
    corpus = [Document(doc_id=f"d{n}", title=f"Title {n}", text="otter " * (9 - n)) for n in range(8)]
    indexing = NaiveSystem(PassageParams(vectors=False), AnswerParams(), runtime)
    await indexing.index(corpus)
    indexing.close()
    params = AnswerParams(search="bm25", rerank="x", fetch_k=5, top_k=2)
    system = NaiveSystem(PassageParams(vectors=False), params, runtime)
    await system.load()
    contexts = (await system.answer(Query(query_id="q", text="otter"))).contexts
    system.close()
    assert isinstance(runtime.reranker, ByLength)
    assert len(runtime.reranker.read) == 5
    assert all(text.startswith("Title ") for text in runtime.reranker.read)
    assert [context.text for context in contexts] == sorted(runtime.reranker.read, key=len)[:2]


async def test_what_it_does_not_read_stands_behind_in_the_ranking_that_is_kept(runtime: BareRuntime) -> None:
    found = [passage(name) for name in ("ccc", "bb", "a", "d")]
    best = await best_passages(runtime, AnswerParams(rerank="x", fetch_k=2), "q", found, 1)
    assert [context.text for context in best.contexts] == ["bb"]
    assert best.ranking == Places.of(one.span for one in (found[1], found[0], found[2], found[3]) if one.span)
