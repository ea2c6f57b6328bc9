import asyncio
from pathlib import Path
from typing import get_args

import pytest
from runtimes import BareRuntime, Chat, Embedder

from harness.core.records import AnswerStyle, Document, IndexStats, Prediction, Query
from harness.llm_utils.answer_contract import ABSTENTION, answer_messages, closed_book_messages
from harness.protocols import Message, Roles
from systems.baselines.closed_book import SPEC, ClosedBookSystem
from systems.baselines.params import AnswerParams, IndexParams

QUESTION = "Is {this} %s <b>100 %</b> of\nit? Question: {0}"
STYLES: tuple[AnswerStyle, ...] = get_args(AnswerStyle)


def answered(runtime: BareRuntime) -> Prediction:
    system = ClosedBookSystem(IndexParams(), AnswerParams(), runtime)
    asyncio.run(system.load())
    prediction = asyncio.run(system.answer(Query(query_id="q", text=QUESTION)))
    system.close()
    return prediction


def test_indexing_builds_nothing_and_needs_no_model(tmp_path: Path) -> None:
    runtime = BareRuntime(tmp_path, chat=None)
    system = ClosedBookSystem(IndexParams(), AnswerParams(), runtime)
    documents = [Document(doc_id=str(n), text="a text") for n in range(3)]
    assert asyncio.run(system.index(documents)) == IndexStats(documents=3)
    system.close()
    assert list(tmp_path.iterdir()) == []
    assert SPEC.roles(IndexParams(), AnswerParams()) == Roles(index=frozenset(), answer=frozenset({"generator"}))
    assert not SPEC.sees_gold


@pytest.mark.parametrize("style", STYLES)
def test_one_query_is_one_generation_from_the_question_alone(tmp_path: Path, style: AnswerStyle) -> None:
    chat, embedder = Chat(), Embedder()
    runtime = BareRuntime(tmp_path, chat, embedder, answer_style=style)
    assert answered(runtime) == Prediction(answer="reply", has_contexts=False)
    assert chat.prompts == [closed_book_messages(QUESTION, style)]
    assert (embedder.queries, runtime.stages) == ([], ["generate"])


@pytest.mark.parametrize("style", STYLES)
def test_the_instruction_stands_before_and_after_and_the_constant_part_comes_first(style: AnswerStyle) -> None:
    system, user = closed_book_messages(QUESTION, style)
    assert [system.role, user.role] == ["system", "user"]
    assert system == closed_book_messages("Another?", style)[0]
    before, after = user.content.split(QUESTION)
    assert before == "Question: "
    instruction = after.removesuffix("\nAnswer:").strip()
    assert ABSTENTION in instruction
    assert instruction in system.content


@pytest.mark.parametrize("style", STYLES)
def test_it_asks_for_the_form_that_every_system_is_asked_for_and_names_no_passages(style: AnswerStyle) -> None:
    def form(messages: list[Message]) -> str:
        return messages[1].content.split(QUESTION)[1].split(" If ")[0]

    assert form(closed_book_messages(QUESTION, style)) == form(answer_messages(QUESTION, [], style))
    assert not any("passage" in message.content.lower() for message in closed_book_messages(QUESTION, style))
