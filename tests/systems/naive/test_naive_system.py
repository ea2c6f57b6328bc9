from pathlib import Path

import numpy as np
import pytest
from asking import asked, indexed
from runtimes import BareRuntime, Chat, Embedder

from harness.core.errors import ConfigError
from harness.core.records import Document, Span
from harness.llm_utils.answer_contract import answer_messages
from harness.models.fake_model import bag_of_words
from systems.common.chunking import iter_chunks
from systems.common.passages import PassageParams
from systems.common.search import TopKParams
from systems.naive.system import SPEC

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
SMALL = {"chunk_size": 120, "chunk_overlap": 20}
CHUNKS = list(iter_chunks(CORPUS, PassageParams.model_validate(SMALL)))


@pytest.fixture
async def runtime(tmp_path: Path) -> BareRuntime:
    """With CORPUS indexed in it, and no call noted yet."""
    runtime = BareRuntime(tmp_path, Chat())
    await indexed(SPEC, runtime, CORPUS, SMALL)
    runtime.embedder = Embedder()
    return runtime


async def test_the_index_embeds_the_text_of_each_chunk_once_and_notes_empty_documents(tmp_path: Path) -> None:
    runtime = BareRuntime(tmp_path, embedder=(embedder := Embedder()))
    empty = [Document(doc_id="e1", text=""), Document(doc_id="e2", text=" \n")]
    stats = await indexed(SPEC, runtime, [*CORPUS, *empty], SMALL)
    assert (stats.documents, stats.chunks, stats.notes) == (7, len(CHUNKS), ("2 documents have no text",))
    assert (stats.nodes, stats.edges, stats.communities) == (None, None, None)
    assert runtime.stages == ["chunk", "embed", "store", "words"]
    assert (embedder.documents, embedder.queries) == ([chunk.text for chunk in CHUNKS], [])


async def test_the_contexts_are_the_k_chunks_that_brute_force_finds(runtime: BareRuntime) -> None:
    text = "Which animal lives in the pine wood of chapter 3?"
    vectors = np.array([bag_of_words(chunk.text) for chunk in CHUNKS], dtype=np.float32)
    scores = vectors @ np.array(bag_of_words(text), dtype=np.float32)
    contexts = (await asked(SPEC, runtime, text, SMALL, top_k=6)).contexts
    assert np.allclose([context.score or 0.0 for context in contexts], np.sort(scores)[::-1][:6], atol=1e-5)
    by_span = {chunk.span: number for number, chunk in enumerate(CHUNKS)}
    for context in contexts:
        assert context.span is not None
        assert context.score == pytest.approx(scores[by_span[context.span]], abs=1e-5)
        assert context.text.endswith(CHUNKS[by_span[context.span]].text)
    assert contexts[0].doc_ids == ("d3",)


async def test_the_generator_sees_title_source_and_date_before_each_passage(runtime: BareRuntime) -> None:
    prediction = await asked(SPEC, runtime, "Where does the otter live?", SMALL, top_k=2)
    assert prediction.contexts[0].text.startswith("On the otter | The Zoo Post | 2031-03-14\nThe otter of")
    assert isinstance(runtime.chat, Chat)
    assert runtime.chat.prompts == [answer_messages("Where does the otter live?", prediction.contexts, "short")]


async def test_by_words_nothing_is_embedded(tmp_path: Path) -> None:
    runtime = BareRuntime(tmp_path, embedder=(embedder := Embedder()))
    await indexed(SPEC, runtime, CORPUS, {**SMALL, "vectors": False})
    found = (await asked(SPEC, runtime, "Who lives in a pine wood?", SMALL, search="bm25", top_k=2)).contexts
    assert [context.doc_ids for context in found] == [("d3",), ("d3",)]
    assert (embedder.documents, embedder.queries) == ([], [])
    assert not (tmp_path / "vectors").exists()


async def test_both_lists_are_fused(runtime: BareRuntime) -> None:
    found: dict[str, list[Span | None]] = {}
    for search in ("dense", "bm25", "hybrid"):
        contexts = (await asked(SPEC, runtime, "badger marsh", SMALL, search=search, top_k=5)).contexts
        found[search] = [context.span for context in contexts]
    assert found["hybrid"] != found["dense"]
    assert set(found["hybrid"]) <= {*found["dense"], *found["bm25"]}


def test_a_search_for_vectors_that_the_index_does_not_keep_is_refused() -> None:
    assert SPEC.preflight is not None
    SPEC.preflight(PassageParams(vectors=False), TopKParams(search="bm25"))
    with pytest.raises(ConfigError, match=r"index\.vectors=false .*answer\.search=bm25"):
        SPEC.preflight(PassageParams(vectors=False), TopKParams(search="hybrid"))
