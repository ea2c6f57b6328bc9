"""Where questions are written: spread over the documents, the same for the same seed."""

import asyncio
from collections import Counter

import pytest
from question_writers import FERRY, MILL, YARD

from harness.core.errors import ConfigError, DataError
from harness.core.records import Document
from harness.extensions.testset.documents import date_of, passages_of, sentences_of
from harness.extensions.testset.question_records import KINDS
from harness.extensions.testset.question_slots import (
    Order,
    Pair,
    linked_pairs,
    parse_kinds,
    plan_orders,
    slots_of,
)

LONG = [
    Document(
        doc_id=f"d{number}",
        text="\n\n".join(
            f"The mill of part {part} stands at Corrie. {'It grinds oats for the valley. ' * 40}"
            for part in range(number + 2)
        ),
    )
    for number in range(5)
]


def orders(documents: list[Document], total: int, *kinds: str) -> tuple[list[Order], list[str]]:
    return asyncio.run(plan_orders(documents, total, parse_kinds(kinds), 0, lambda _done, _total: None))


def test_no_document_is_asked_about_twice_before_every_one_was_once() -> None:
    slots = slots_of("single_fact", LONG, [], 3, 12)
    asked = [slot.doc_ids[0] for slot in slots]
    assert sorted(asked[:5]) == sorted(asked[5:10]) == [document.doc_id for document in LONG]
    assert len({(slot.excerpts[0].sentences, slot.doc_ids, slot.focus) for slot in slots}) == 12
    assert len({(slot.doc_ids, slot.excerpts[0].sentences) for slot in slots[:10]}) == 10
    assert slots == slots_of("single_fact", LONG, [], 3, 20)[:12], "more questions begin where fewer do"
    assert slots != slots_of("single_fact", LONG, [], 4, 12), "the seed draws them"


def test_each_sentence_is_asked_about_once_and_then_there_are_no_more() -> None:
    slots = slots_of("single_fact", [FERRY], [], 3, 99)
    assert sorted(slot.focus for slot in slots) == sorted(sentences_of(FERRY.text))


def test_pairs_spread_over_the_documents_as_far_as_they_share_something() -> None:
    pairs = [Pair(first, second, "Corrie", (0, 0), True) for first in range(5) for second in range(first + 1, 5)]
    slots = slots_of("bridge", LONG, pairs, 1, 5)
    used = Counter(doc_id for slot in slots for doc_id in slot.doc_ids)
    assert used == dict.fromkeys((document.doc_id for document in LONG), 2)


@pytest.mark.parametrize(
    "text",
    [
        FERRY.text,
        "# A heading of some length\n\n" + MILL.text,
        "雨が降った。川の水位が三メートル上がったので橋は閉じられた。" * 3,
        "The mill stands at Corrie. " * 12_000,
        "A line of the mill\n\n" * 20_000,
    ],
)
def test_passages_and_sentences_are_verbatim_and_in_order(text: str) -> None:
    passages = passages_of(text)
    assert max(map(len, passages)) <= 1_500
    assert "".join("".join(passages).split()) == "".join(text.split())
    assert all(passage in text for passage in passages)
    sentences = [sentence for passage in passages for sentence in sentences_of(passage)]
    assert sentences or "line" in text
    at = 0
    for sentence in sentences:
        assert not sentence.startswith("#")
        at = text.index(sentence, at) + len(sentence)


def test_continued_lines_are_one_sentence_and_items_are_not() -> None:
    page = "# Report of the year\nThe mill was closed for five\nweeks after the flood. It opened\nagain in May.\f"
    items = "- oats for the whole valley\n- rye for the town of Corrie\n1. a third kind of grain"
    assert sentences_of(f"{page}Dr. Voss left it to Mr. Renn.\n{items}") == (
        "The mill was closed for five\nweeks after the flood.",
        "It opened\nagain in May.",
        "Dr. Voss left it to Mr. Renn.",
        "- oats for the whole valley",
        "- rye for the town of Corrie",
        "1. a third kind of grain",
    )


@pytest.mark.parametrize(
    ("document", "day"),
    [
        (Document(doc_id="a", text="x", metadata={"published_at": "2031-03-14T08:30:00+00:00"}), "2031-03-14"),
        (Document(doc_id="a", text="On 3 June 2024 the yard"), "2024-06-03"),
        (Document(doc_id="a", text="Sitzung vom 3. März 2024"), "2024-03-03"),
        (Document(doc_id="a", text="x" * 700 + " 3 June 2024"), ""),
    ],
)  # fmt: skip
def test_the_date_of_a_document_is_in_its_metadata_or_at_its_beginning(document: Document, day: str) -> None:
    assert date_of(document) == day


@pytest.mark.slow
def test_each_kind_is_written_where_the_documents_allow_it() -> None:
    found, _ = orders([FERRY, YARD, MILL], 5)
    assert {order.kind: order.wanted for order in found} == dict.fromkeys(KINDS, 1)
    for order in found:
        if order.kind in {"bridge", "comparison", "temporal"}:
            assert {slot.doc_ids for slot in order.slots} <= {("ferry.md", "yard.md"), ("yard.md", "ferry.md")}
            assert all(slot.link for slot in order.slots)
    undated = [one.model_copy(update={"text": one.text.partition(". ")[2]}) for one in (FERRY, YARD)]
    found, notes = orders(undated, 4)
    others = ("single_fact", "bridge", "comparison", "unanswerable")
    assert {order.kind: order.wanted for order in found} == dict.fromkeys(others, 1)
    assert [note for note in notes if "temporal" in note]


@pytest.mark.slow
def test_a_name_in_few_documents_links_each_two_of_them() -> None:
    named = [
        Document(doc_id=f"n{number}", text=f"Hanne Olvik came to {town} by boat. The boat was late by an hour.")
        for number, town in enumerate(("Corrie", "Brede", "Lowmere"))
    ]
    pairs = asyncio.run(linked_pairs(named, 0, lambda _done, _total: None))
    linked = {(pair.first, pair.second) for pair in pairs if pair.link == "Hanne Olvik" and pair.is_name}
    assert linked == {(0, 1), (0, 2), (1, 2)}


@pytest.mark.parametrize(
    ("documents", "total", "kinds", "wanted", "noted"),
    [
        ([FERRY], 50, [], {"single_fact": 3, "unanswerable": 3}, ["6 questions at most", *["two documents"] * 3]),
        ([FERRY], 4, [], {"single_fact": 2, "unanswerable": 2}, ["two documents"] * 3),
        ([FERRY], 1, ["unanswerable=2", "single_fact"], {"unanswerable": 2, "single_fact": 1}, []),
        ([FERRY], 1, ["single_fact=9"], {"single_fact": 3}, ["3 single_fact questions at most"]),
        ([FERRY, LONG[4]], 11, ["single_fact", "unanswerable=2"], {"single_fact": 11, "unanswerable": 2}, []),
    ],
)
def test_kinds_share_the_total_as_far_as_there_are_places_and_notes_name_what_is_missing(
    documents: list[Document], total: int, kinds: list[str], wanted: dict[str, int], noted: list[str]
) -> None:
    found, notes = orders(documents, total, *kinds)
    assert {order.kind: order.wanted for order in found} == wanted
    assert len(notes) == len(noted)
    assert all(any(part in note for note in notes) for part in noted)


def test_documents_and_kinds_without_any_question_are_one_line() -> None:
    with pytest.raises(ConfigError, match="no bridge questions: they need two documents, and there is one"):
        orders([FERRY], 4, "bridge")
    for documents in ([], [Document(doc_id="a", text=" \n")]):
        with pytest.raises(DataError, match="hold no text"):
            orders(documents, 4)


@pytest.mark.parametrize("word", ["brdige", "bridge=", "bridge=0", "bridge=many", "bridge=-1"])
def test_an_unknown_kind_or_number_is_one_line(word: str) -> None:
    with pytest.raises(ConfigError):
        parse_kinds([word])
