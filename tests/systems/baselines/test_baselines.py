"""Baselines: the gold evidence alone, and no document at all."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

import pytest
from asking import asked as ask
from asking import indexed
from runtimes import BareRuntime, Chat, Embedder

from harness.core.records import AnswerStyle, Context, Document, Evidence, IndexStats, Prediction, Span
from harness.datasets import demo
from harness.llm_utils.answer_contract import ABSTENTION, answer_messages, closed_book_messages
from harness.protocols import Message, Params, Roles
from systems.baselines import closed_book
from systems.baselines.gold_evidence import SPEC

ARRAY = Document(
    doc_id="array",
    text="Tidewright Power built the Gull Sound array.\u2028It cost 612 million crowns. {x} %s\r\n",
    title="Gull Sound\nopens",
    metadata={"source": "The Harbour Post", "published_at": "2031-03-14T08:30:00+00:00"},
)
PLAIN = Document(doc_id="plain", text="The heron lives in the marsh.")
Gold = Mapping[str, Sequence[Evidence]]
QUESTION = "Is {this} %s <b>100 %</b> of\nit? Question: {0}"
STYLES: tuple[AnswerStyle, ...] = get_args(AnswerStyle)


async def contexts_of(folder: Path, *evidence: Evidence) -> tuple[Context, ...]:
    runtime = BareRuntime(folder, chat=None, gold={"q": evidence})
    await indexed(SPEC, runtime, (ARRAY, PLAIN))
    return (await ask(SPEC, runtime, QUESTION)).contexts


def fact(document: Document, text: str) -> Evidence:
    return Evidence(doc_id=document.doc_id, fact=text)


async def test_a_fact_becomes_a_sentence_with_its_heading_and_its_span(tmp_path: Path) -> None:
    (context,) = await contexts_of(tmp_path, fact(ARRAY, "It cost 612 million crowns."))
    start = ARRAY.text.index("It cost")
    assert context == Context(
        text="Gull Sound opens | The Harbour Post | 2031-03-14\nIt cost 612 million crowns.",
        doc_ids=("array",),
        kind="sentence",
        span=Span(doc_id="array", start=start, end=start + len("It cost 612 million crowns.")),
    )


async def test_a_reworded_fact_has_no_span_and_empty_repeated_and_foreign_ones_are_left_out(
    tmp_path: Path,
) -> None:
    odd = [fact(PLAIN, ""), fact(PLAIN, " \n"), Evidence(doc_id="elsewhere", fact="The heron")]
    heron = fact(PLAIN, " The heron lives\n")
    here, reworded, other = await contexts_of(
        tmp_path, *odd, heron, fact(PLAIN, "Herons live here."), heron, fact(ARRAY, "The heron lives")
    )
    assert (here.text, here.span) == ("The heron lives", Span(doc_id="plain", start=0, end=15))
    assert (reworded.text, reworded.span) == ("Herons live here.", None)
    assert other.doc_ids == ("array",)


async def test_one_query_is_one_generation_from_its_own_evidence(tmp_path: Path) -> None:
    gold = {"r": [fact(PLAIN, "The heron")], "q": [fact(ARRAY, "{x} %s")]}
    chat, embedder = Chat(), Embedder()
    runtime = BareRuntime(tmp_path, chat, embedder, answer_style="sentence", gold=gold)
    await indexed(SPEC, runtime, (ARRAY, PLAIN))
    prediction = await ask(SPEC, runtime, QUESTION)
    assert prediction.answer == "reply"
    assert [context.doc_ids for context in prediction.contexts] == [("array",)]
    assert chat.prompts == [answer_messages(QUESTION, prediction.contexts, "sentence")]
    assert (embedder.queries, embedder.documents, runtime.stages) == ([], [], ["store", "generate"])


@pytest.mark.parametrize("gold", [{"q": []}, {}])
async def test_a_query_without_evidence_is_told_that_nothing_was_found(tmp_path: Path, gold: Gold) -> None:
    runtime = BareRuntime(tmp_path, chat := Chat(), gold=gold)
    await indexed(SPEC, runtime, (ARRAY, PLAIN))
    assert await ask(SPEC, runtime, QUESTION) == Prediction(answer="reply")
    assert "(none were found)" in chat.prompts[0][1].content


async def test_every_fact_of_the_demo_stands_in_its_document(tmp_path: Path) -> None:
    data = demo.load("default")
    evidence = [item for row in data.rows for item in row.reference.evidence]
    runtime = BareRuntime(tmp_path, chat=None, gold={"q": evidence})
    assert await indexed(SPEC, runtime, data.documents) == IndexStats(documents=len(data.documents))
    texts = {document.doc_id: document.text for document in data.documents}
    contexts = (await ask(SPEC, runtime, QUESTION)).contexts
    assert len(contexts) == len({(item.doc_id, item.fact.strip()) for item in evidence})
    for context in contexts:
        assert context.span is not None
        words = texts[context.span.doc_id][context.span.start : context.span.end]
        assert context.text.endswith(f"\n{words}")


def test_gold_alone_sees_the_evidence_and_no_model_builds_either_index() -> None:
    assert (SPEC.sees_gold, closed_book.SPEC.sees_gold) == (True, False)
    for spec in (SPEC, closed_book.SPEC):
        assert spec.roles(Params(), Params()) == Roles(index=frozenset(), answer=frozenset({"generator"}))
    assert SPEC.stored_index_kind != closed_book.SPEC.stored_index_kind


@pytest.mark.parametrize("style", STYLES)
async def test_closed_book_is_one_generation_from_the_question_alone(tmp_path: Path, style: AnswerStyle) -> None:
    chat, embedder = Chat(), Embedder()
    runtime = BareRuntime(tmp_path, chat, embedder, answer_style=style)
    documents = [Document(doc_id=str(n), text="a text") for n in range(3)]
    assert await indexed(closed_book.SPEC, runtime, documents) == IndexStats(documents=3)
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240 - an empty folder
    assert await ask(closed_book.SPEC, runtime, QUESTION) == Prediction(answer="reply", has_contexts=False)
    assert chat.prompts == [closed_book_messages(QUESTION, style)]
    assert (embedder.queries, runtime.stages) == ([], ["generate"])


@pytest.mark.parametrize("style", STYLES)
def test_its_prompt_has_the_shared_task_twice_and_names_no_passages(
    style: AnswerStyle,
) -> None:
    def task(messages: list[Message]) -> str:
        return messages[1].content.split(QUESTION)[1].removesuffix("\nAnswer:").strip()

    messages = closed_book_messages(QUESTION, style)
    assert messages[0] == closed_book_messages("Another?", style)[0]
    assert messages[1].content.startswith(f"Question: {QUESTION}")
    assert ABSTENTION in task(messages)
    assert task(messages) in messages[0].content
    assert task(messages).split(" If ")[0] == task(answer_messages(QUESTION, [], style)).split(" If ")[0]
    assert not any("passage" in message.content.lower() for message in messages)
