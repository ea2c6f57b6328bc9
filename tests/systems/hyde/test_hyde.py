from pathlib import Path
from typing import Any

import pytest
from asking import asked, indexed
from runtimes import BareRuntime, Chat, Embedder

from harness.core.records import Document, Prediction
from harness.llm_utils.answer_contract import answer_messages
from systems.hyde.system import SPEC
from systems.naive import system as naive

QUESTION = "Who swims?"
VECTORS = {QUESTION: (1, 0), "An otter swims.": (0, 1), "asks": (1, 0), "otter": (0, 1), "both": (0.6, 0.8)}
CORPUS = [Document(doc_id=text, text=text) for text in ("asks", "otter", "both")]


def writing(*passages: str) -> Chat:
    """Writes these passages for the first calls, then the answer."""
    replies = iter([*passages, "The otter"])
    return Chat(lambda _: next(replies))


@pytest.fixture
async def stored(tmp_path: Path) -> Path:
    """The corpus as naive stores it."""
    await indexed(naive.SPEC, BareRuntime(tmp_path, embedder=Embedder(VECTORS.__getitem__)), CORPUS)
    return tmp_path


async def answered(stored: Path, chat: Chat | None, **answer: Any) -> Prediction:
    return await asked(SPEC, BareRuntime(stored, chat, Embedder(VECTORS.__getitem__)), QUESTION, **answer)


async def test_the_mean_of_the_question_and_the_hypothetical_passage_is_searched(stored: Path) -> None:
    found = (await answered(stored, writing("An otter swims."))).contexts
    # The mean of (1, 0) and (0, 1) is (.5, .5): its cosine to (.6, .8) is .7 / sqrt(.5), to the others
    # .5 / sqrt(.5).
    assert [context.doc_ids for context in found] == [("both",), ("asks",), ("otter",)]
    assert [context.score for context in found] == pytest.approx([0.98995, 0.70711, 0.70711], abs=1e-4)


async def test_the_answer_is_from_real_passages_and_the_trace_has_the_hypothetical_ones(
    stored: Path,
) -> None:
    chat = writing("An otter swims.", "asks", "An otter swims.")
    prediction = await answered(stored, chat, hypothetical_passages=3)
    assert [step.content for step in prediction.trace] == ["An otter swims.", "asks", "An otter swims."]
    assert len(chat.calls) == 4
    assert len({call.text for call in chat.calls}) == 4
    assert chat.prompts[-1] == answer_messages(QUESTION, prediction.contexts, "short")
    # (1, 0), (0, 1), (1, 0), (0, 1)
    assert prediction.contexts[0].score == pytest.approx(0.98995, abs=1e-4)


async def test_without_a_generator_or_a_reply_the_question_is_searched_as_naive_does(stored: Path) -> None:
    expected = (
        await asked(naive.SPEC, BareRuntime(stored, None, Embedder(VECTORS.__getitem__)), QUESTION)
    ).contexts
    for chat in (None, writing(" \n")):
        prediction = await answered(stored, chat)
        assert prediction.contexts == expected
        assert len(prediction.trace) == 1


async def test_by_words_those_of_the_passage_count_too(stored: Path) -> None:
    assert (await answered(stored, None, search="bm25")).contexts == ()
    found = await answered(stored, writing("An otter swims."), search="bm25")
    assert [context.doc_ids for context in found.contexts] == [("otter",)]
