import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtimes import BareRuntime, Chat, Embedder

from harness.core.errors import ConfigError
from harness.core.records import Document, Query, Span
from harness.llm_utils.answer_contract import answer_messages
from harness.models.fake_model import bag_of_words
from systems.common.chunking import iter_chunks
from systems.common.passages import PassageParams
from systems.naive.system import SPEC, AnswerParams, NaiveSystem

CORPUS = [
    Document(
        doc_id=f"d{number}",
        text=f"The {animal} of chapter {number} lives in the {place}. " * 8,
        title=f"On the {animal}",
        metadata={"source": "The Zoo Post", "published_at": "2031-03-14T08:30:00+00:00"},
    )
    for number, (animal, place) in enumerate(
        [("heron", "marsh"), ("otter", "river"), ("badger", "wood"), ("marten", "pine wood"), ("crane", "marsh")]
    )
]
INDEX = PassageParams(chunk_size=120, chunk_overlap=20)


@pytest.fixture
def chat() -> Chat:
    return Chat()


@pytest.fixture
def embedder() -> Embedder:
    return Embedder()


@pytest.fixture
def bare(tmp_path: Path, chat: Chat, embedder: Embedder) -> BareRuntime:
    return BareRuntime(tmp_path, chat, embedder)


@pytest.fixture
async def runtime(bare: BareRuntime) -> BareRuntime:
    """With CORPUS indexed in it."""
    system = NaiveSystem(INDEX, AnswerParams(), bare)
    await system.index(CORPUS)
    system.close()
    return bare


@contextmanager
def loaded(runtime: BareRuntime, **answer: Any) -> Iterator[NaiveSystem]:
    system = NaiveSystem(INDEX, AnswerParams.model_validate(answer), runtime)
    asyncio.run(system.load())
    yield system
    system.close()


def query(text: str) -> Query:
    return Query(query_id="q", text=text)


def test_the_index_counts_documents_and_chunks_and_notes_empty_ones(bare: BareRuntime) -> None:
    system = NaiveSystem(INDEX, AnswerParams(), bare)
    empty = [Document(doc_id="e1", text=""), Document(doc_id="e2", text=" \n")]
    stats = asyncio.run(system.index([*CORPUS, *empty]))
    system.close()
    assert (stats.documents, stats.chunks) == (7, len(list(iter_chunks(CORPUS, INDEX))))
    assert stats.notes == ("2 documents have no text",)
    assert (stats.nodes, stats.edges, stats.communities) == (None, None, None)
    assert bare.stages == ["chunk", "embed", "store", "words"]


def test_the_text_alone_is_embedded_each_chunk_once(runtime: BareRuntime, embedder: Embedder) -> None:
    assert embedder.documents == [chunk.text for chunk in iter_chunks(CORPUS, INDEX)]
    assert embedder.queries == []


def test_the_contexts_are_the_k_chunks_that_brute_force_finds(runtime: BareRuntime) -> None:
    text = "Which animal lives in the pine wood of chapter 3?"
    chunks = list(iter_chunks(CORPUS, INDEX))
    vectors = np.array([bag_of_words(chunk.text) for chunk in chunks], dtype=np.float32)
    scores = vectors @ np.array(bag_of_words(text), dtype=np.float32)
    with loaded(runtime, top_k=6) as system:
        contexts = asyncio.run(system.answer(query(text))).contexts
    assert len(contexts) == 6
    assert np.allclose([context.score or 0.0 for context in contexts], np.sort(scores)[::-1][:6], atol=1e-5)
    by_span = {chunk.span: number for number, chunk in enumerate(chunks)}
    for context in contexts:
        assert context.span is not None
        number = by_span[context.span]
        assert context.score == pytest.approx(scores[number], abs=1e-5)
        assert context.text.endswith(chunks[number].text)
    assert contexts[0].doc_ids == ("d3",)


def test_the_generator_sees_title_source_and_date_before_each_passage(runtime: BareRuntime, chat: Chat) -> None:
    with loaded(runtime, top_k=2) as system:
        prediction = asyncio.run(system.answer(query("Where does the otter live?")))
    assert prediction.contexts[0].text.startswith("On the otter | The Zoo Post | 2031-03-14\nThe otter of")
    assert chat.prompts == [answer_messages("Where does the otter live?", prediction.contexts, "short")]


def test_by_words_nothing_is_embedded(bare: BareRuntime, embedder: Embedder) -> None:
    params = AnswerParams(search="bm25", top_k=2)
    builder = NaiveSystem(PassageParams(chunk_size=120, chunk_overlap=20, vectors=False), params, bare)
    asyncio.run(builder.index(CORPUS))
    builder.close()
    with loaded(bare, search="bm25", top_k=2) as system:
        found = asyncio.run(system.answer(query("Who lives in a pine wood?"))).contexts
    assert [context.doc_ids for context in found] == [("d3",), ("d3",)]
    assert (embedder.documents, embedder.queries) == ([], [])
    assert not (bare.index_dir / "vectors").exists()


def test_both_lists_are_fused(runtime: BareRuntime) -> None:
    def found(search: str) -> list[Span | None]:
        with loaded(runtime, search=search, top_k=5) as system:
            return [context.span for context in asyncio.run(system.answer(query("badger marsh"))).contexts]

    assert found("hybrid") != found("dense")
    assert set(found("hybrid")) <= {*found("dense"), *found("bm25")}


def test_a_search_for_vectors_that_the_index_does_not_keep_is_refused() -> None:
    assert SPEC.preflight is not None
    SPEC.preflight(PassageParams(vectors=False), AnswerParams(search="bm25"))
    with pytest.raises(ConfigError, match=r"index\.vectors=false .*answer\.search=bm25"):
        SPEC.preflight(PassageParams(vectors=False), AnswerParams(search="hybrid"))
