"""Baselines: the gold evidence alone, and no document at all."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

import pytest
from runtimes import BareRuntime, Chat, Embedder

from harness.core.records import AnswerStyle, Context, Document, Evidence, IndexStats, Prediction, Query, Span
from harness.datasets import demo
from harness.llm_utils.answer_contract import ABSTENTION, answer_messages, closed_book_messages
from harness.protocols import Message, Params, Roles
from systems.baselines import closed_book
from systems.baselines.closed_book import ClosedBookSystem
from systems.baselines.gold_evidence import SPEC, GoldSystem

ARRAY = Document(
    doc_id="array",
    text="Tidewright Power built the Gull Sound array.\u2028It cost 612 million crowns. {x} %s\r\n",
    title="Gull Sound\nopens",
    metadata={"source": "The Harbour Post", "published_at": "2031-03-14T08:30:00+00:00"},
)
PLAIN = Document(doc_id="plain", text="The heron lives in the marsh.")
Gold = Mapping[str, Sequence[Evidence]]


def indexed(folder: Path, gold: Gold, documents: Sequence[Document] = (ARRAY, PLAIN)) -> IndexStats:
    system = GoldSystem(Params(), Params(), BareRuntime(folder, chat=None, gold=gold))
    stats = asyncio.run(system.index(documents))
    system.close()
    return stats


def answered(runtime: BareRuntime, query_id: str = "q") -> Prediction:
    system = GoldSystem(Params(), Params(), runtime)
    asyncio.run(system.load())
    prediction = asyncio.run(system.answer(Query(query_id=query_id, text="Who built {it}?")))
    system.close()
    return prediction


def contexts_of(folder: Path, *evidence: Evidence) -> tuple[Context, ...]:
    gold = {"q": evidence}
    indexed(folder, gold)
    return answered(BareRuntime(folder, chat=None, gold=gold)).contexts


def fact(document: Document, text: str) -> Evidence:
    return Evidence(doc_id=document.doc_id, fact=text)


def test_a_fact_becomes_a_sentence_with_its_heading_and_its_span(tmp_path: Path) -> None:
    (context,) = contexts_of(tmp_path, fact(ARRAY, "It cost 612 million crowns."))
    start = ARRAY.text.index("It cost")
    assert context == Context(
        text="Gull Sound opens | The Harbour Post | 2031-03-14\nIt cost 612 million crowns.",
        doc_ids=("array",),
        kind="sentence",
        span=Span(doc_id="array", start=start, end=start + len("It cost 612 million crowns.")),
    )


def test_without_title_and_source_there_is_no_heading_and_without_the_very_words_no_span(tmp_path: Path) -> None:
    here, reworded = contexts_of(tmp_path, fact(PLAIN, " The heron lives\n"), fact(PLAIN, "Herons live here."))
    assert (here.text, here.span) == ("The heron lives", Span(doc_id="plain", start=0, end=15))
    assert (reworded.text, reworded.span) == ("Herons live here.", None)


def test_empty_repeated_and_foreign_facts_are_left_out(tmp_path: Path) -> None:
    heron = fact(PLAIN, "The heron")
    odd = [fact(PLAIN, ""), heron, fact(PLAIN, " \n"), Evidence(doc_id="elsewhere", fact="The heron"), heron]
    twice_said = fact(ARRAY, "The heron")
    assert [context.doc_ids for context in contexts_of(tmp_path, *odd, twice_said)] == [("plain",), ("array",)]


@pytest.mark.parametrize("style", ["short", "sentence"])
def test_one_query_is_one_generation_from_its_own_evidence(tmp_path: Path, style: AnswerStyle) -> None:
    gold = {"q": [fact(PLAIN, "The heron")], "r": [fact(ARRAY, "{x} %s")]}
    indexed(tmp_path, gold)
    chat, embedder = Chat(), Embedder()
    runtime = BareRuntime(tmp_path, chat, embedder, answer_style=style, gold=gold)
    prediction = answered(runtime, "r")
    assert prediction.answer == "reply"
    assert [context.doc_ids for context in prediction.contexts] == [("array",)]
    assert chat.prompts == [answer_messages("Who built {it}?", prediction.contexts, style)]
    assert (embedder.queries, embedder.documents, runtime.stages) == ([], [], ["generate"])


@pytest.mark.parametrize("gold", [{"q": []}, {}])
def test_a_query_without_evidence_is_told_that_nothing_was_found(tmp_path: Path, gold: Gold) -> None:
    indexed(tmp_path, gold)
    chat = Chat()
    assert answered(BareRuntime(tmp_path, chat, gold=gold)) == Prediction(answer="reply")
    assert "(none were found)" in chat.prompts[0][1].content


def test_every_fact_of_the_demo_stands_in_its_document(tmp_path: Path) -> None:
    data = demo.load("default")
    gold = {row.query.query_id: row.reference.evidence for row in data.rows}
    assert indexed(tmp_path, gold, data.documents) == IndexStats(documents=len(data.documents))
    texts = {document.doc_id: document.text for document in data.documents}
    runtime = BareRuntime(tmp_path, chat=None, gold=gold)
    for query_id, evidence in gold.items():
        contexts = answered(runtime, query_id).contexts
        assert len(contexts) == len(evidence)
        for context, item in zip(contexts, evidence, strict=True):
            span = context.span
            assert span is not None
            assert texts[span.doc_id][span.start : span.end] == item.fact
            assert context.text.endswith(f"\n{item.fact}")


def test_it_alone_of_the_two_sees_gold_and_no_model_determines_its_index() -> None:
    assert SPEC.sees_gold
    assert SPEC.roles(Params(), Params()) == Roles(index=frozenset(), answer=frozenset({"generator"}))
    assert SPEC.stored_index_kind != closed_book.SPEC.stored_index_kind
    assert (SPEC.index_params, SPEC.answer_params) == (
        closed_book.SPEC.index_params,
        closed_book.SPEC.answer_params,
    )


QUESTION = "Is {this} %s <b>100 %</b> of\nit? Question: {0}"
STYLES: tuple[AnswerStyle, ...] = get_args(AnswerStyle)


def answered_by_heart(runtime: BareRuntime) -> Prediction:
    system = ClosedBookSystem(Params(), Params(), runtime)
    asyncio.run(system.load())
    prediction = asyncio.run(system.answer(Query(query_id="q", text=QUESTION)))
    system.close()
    return prediction


def test_indexing_builds_nothing_and_needs_no_model(tmp_path: Path) -> None:
    runtime = BareRuntime(tmp_path, chat=None)
    system = ClosedBookSystem(Params(), Params(), runtime)
    documents = [Document(doc_id=str(n), text="a text") for n in range(3)]
    assert asyncio.run(system.index(documents)) == IndexStats(documents=3)
    system.close()
    assert list(tmp_path.iterdir()) == []
    roles = closed_book.SPEC.roles(Params(), Params())
    assert roles == Roles(index=frozenset(), answer=frozenset({"generator"}))
    assert not closed_book.SPEC.sees_gold


@pytest.mark.parametrize("style", STYLES)
def test_one_query_is_one_generation_from_the_question_alone(tmp_path: Path, style: AnswerStyle) -> None:
    chat, embedder = Chat(), Embedder()
    runtime = BareRuntime(tmp_path, chat, embedder, answer_style=style)
    assert answered_by_heart(runtime) == Prediction(answer="reply", has_contexts=False)
    assert chat.prompts == [closed_book_messages(QUESTION, style)]
    assert (embedder.queries, runtime.stages) == ([], ["generate"])


@pytest.mark.parametrize("style", STYLES)
def test_its_prompt_has_the_task_before_and_behind_in_the_form_of_every_system_and_names_no_passages(
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
