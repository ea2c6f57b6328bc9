from pathlib import Path
from typing import Any

import pytest
from asking import asked, indexed
from runtimes import BareRuntime

from harness.core.records import Document, Prediction
from systems.common.token_estimate import count_tokens
from systems.long_context.system import SPEC


def document(doc_id: str, word: str, title: str = "") -> Document:
    """100 words of two letters, a token each, which are 299 characters."""
    return Document(doc_id=doc_id, text=" ".join([word] * 100), title=title)


CORPUS = [document("a", "aa"), Document(doc_id="empty", text=" "), document("b", "bb"), document("c", "cc")]


async def answered(folder: Path, corpus: list[Document], **answer: Any) -> tuple[Prediction, list[str]]:
    """The answer to a question with the word of document c, and the warnings."""
    runtime = BareRuntime(folder)
    await indexed(SPEC, runtime, corpus)
    return await asked(SPEC, runtime, "cc?", **answer), runtime.warned


async def test_documents_fill_the_window_in_corpus_order_and_the_last_one_is_cut(tmp_path: Path) -> None:
    prediction, warned = await answered(tmp_path, CORPUS, context_tokens=200)
    first, second = prediction.contexts
    assert first.text == CORPUS[0].text
    # A document of 100 tokens needs 106 with its number in the prompt: 94 are left, 88 of them for its words.
    assert second.text == " ".join(["bb"] * 88) == CORPUS[2].text[:263]
    assert second.span is not None
    assert (second.span.start, second.span.end) == (0, 263)
    assert sum(count_tokens(f"[1] {context.text}\n\n") for context in prediction.contexts) <= 200
    # 200 of 318 tokens.
    for said in ("2 of 3 documents", "263 of 299 characters", "200 tokens", "63 %"):
        assert said in prediction.trace[0].content
    assert ["63 %" in line and "answer.order=bm25" in line for line in warned] == [True]


async def test_by_rank_documents_with_the_question_s_words_come_first(tmp_path: Path) -> None:
    prediction, warned = await answered(tmp_path, CORPUS, context_tokens=250, order="bm25")
    assert [context.doc_ids for context in prediction.contexts] == [("c",), ("a",), ("b",)]
    assert [context.score is None for context in prediction.contexts] == [False, True, True]
    assert len(warned) == 1


async def test_a_corpus_that_fits_is_read_whole_without_a_warning(tmp_path: Path) -> None:
    prediction, warned = await answered(tmp_path, CORPUS)
    assert [context.text for context in prediction.contexts] == [CORPUS[0].text, CORPUS[2].text, CORPUS[3].text]
    assert "100 %" in prediction.trace[0].content
    assert warned == []


@pytest.mark.parametrize("corpus", [[document("a", "aa", title="x" * 3000)], [Document(doc_id="e", text="")], []])
async def test_without_room_or_text_there_is_no_context(tmp_path: Path, corpus: list[Document]) -> None:
    prediction, _ = await answered(tmp_path, corpus, context_tokens=200)
    assert prediction.contexts == ()
    assert prediction.trace[0].content.startswith("0 of ")
