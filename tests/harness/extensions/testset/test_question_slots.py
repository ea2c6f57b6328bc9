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
    Orders,
    Pair,
    WantedQuestions,
    WritingSources,
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


def orders(documents: list[Document], wanted: WantedQuestions) -> Orders:
    return asyncio.run(plan_orders(documents, wanted, 0, lambda _done, _total: None))


def test_no_document_is_asked_about_twice_before_every_one_was_once() -> None:
    sites = slots_of("single_fact", WritingSources(LONG, [], seed=3), 12)
    asked = [site.doc_ids[0] for site in sites]
    assert sorted(asked[:5]) == sorted(asked[5:10]) == [document.doc_id for document in LONG]
    assert len({(site.excerpts[0].sentences, site.doc_ids, site.focus) for site in sites}) == 12
    assert len({(site.doc_ids, site.excerpts[0].sentences) for site in sites[:10]}) == 10


def test_each_sentence_is_asked_about_once_and_then_there_are_no_more() -> None:
    sites = slots_of("single_fact", WritingSources([FERRY], [], seed=3), 99)
    assert sorted(site.focus for site in sites) == sorted(sentences_of(FERRY.text))


def test_pairs_spread_over_the_documents_as_far_as_they_share_something() -> None:
    pairs = [Pair(first, second, "Corrie", (0, 0), True) for first in range(5) for second in range(first + 1, 5)]
    sites = slots_of("bridge", WritingSources(LONG, pairs, seed=1), 5)
    used = Counter(doc_id for site in sites for doc_id in site.doc_ids)
    assert used == dict.fromkeys((document.doc_id for document in LONG), 2)


def test_the_seed_alone_draws_them() -> None:
    first, again, other = (slots_of("single_fact", WritingSources(LONG, [], seed), 9) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_more_questions_begin_where_fewer_do() -> None:
    sources = WritingSources(LONG, [], seed=1)
    assert slots_of("unanswerable", sources, 9)[:4] == slots_of("unanswerable", sources, 4)


@pytest.mark.parametrize(
    "text",
    [
        FERRY.text,
        LONG[0].text,
        "# A heading of some length\n\n" + MILL.text,
        "雨が降った。川の水位が三メートル上がったので橋は閉じられた。" * 3,
    ],
)
def test_sentences_are_verbatim_in_order_and_no_headings(text: str) -> None:
    sentences = [sentence for passage in passages_of(text) for sentence in sentences_of(passage)]
    assert sentences
    assert not any(sentence.startswith("#") for sentence in sentences)
    at = 0
    for sentence in sentences:
        at = text.index(sentence, at) + len(sentence)


@pytest.mark.parametrize("text", ["x" * 250_000, "The mill stands at Corrie. " * 12_000, "line\n\n" * 40_000])
def test_a_long_text_is_cut_without_losing_a_letter(text: str) -> None:
    passages = passages_of(text)
    assert max(map(len, passages)) <= 1_500
    assert "".join("".join(passages).split()) == "".join(text.split())
    assert all(passage in text for passage in passages)


def test_lines_that_only_go_on_are_one_sentence_and_items_and_abbreviations_are_not() -> None:
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
        (Document(doc_id="a", text="March 14th, 2031. The yard"), "2031-03-14"),
        (Document(doc_id="a", text="Sitzung vom 3. März 2024"), "2024-03-03"),
        (Document(doc_id="a", text="2023-02-31 is no day"), ""),
        (Document(doc_id="a", text="x" * 700 + " 3 June 2024"), ""),
        (MILL, ""),
    ],
)  # fmt: skip
def test_a_document_is_of_the_day_that_it_names_itself(document: Document, day: str) -> None:
    assert date_of(document) == day


@pytest.mark.slow
def test_each_kind_is_written_where_the_documents_allow_it() -> None:
    found = orders([FERRY, YARD, MILL], WantedQuestions(5, {}))
    assert {order.kind: order.wanted for order in found.orders} == dict.fromkeys(KINDS, 1)
    for order in found.orders:
        if order.kind in {"bridge", "comparison", "temporal"}:
            assert {site.doc_ids for site in order.sites} <= {("ferry.md", "yard.md"), ("yard.md", "ferry.md")}
            assert all(site.link for site in order.sites)


@pytest.mark.slow
def test_what_a_few_documents_name_links_each_two_of_them() -> None:
    named = [
        Document(doc_id=f"n{number}", text=f"Hanne Olvik came to {town} by boat. The boat was late by an hour.")
        for number, town in enumerate(("Corrie", "Brede", "Lowmere"))
    ]
    pairs = asyncio.run(linked_pairs(named, 0, lambda _done, _total: None))
    linked = {(pair.first, pair.second) for pair in pairs if pair.link == "Hanne Olvik" and pair.is_name}
    assert linked == {(0, 1), (0, 2), (1, 2)}


@pytest.mark.slow
def test_without_dates_nothing_temporal_is_asked_and_the_others_take_its_part() -> None:
    undated = [one.model_copy(update={"text": one.text.partition(". ")[2]}) for one in (FERRY, YARD)]
    found = orders(undated, WantedQuestions(4, {}))
    assert {order.kind: order.wanted for order in found.orders} == {
        "single_fact": 1,
        "bridge": 1,
        "comparison": 1,
        "unanswerable": 1,
    }
    assert [note for note in found.notes if "temporal" in note]


@pytest.mark.parametrize(
    ("documents", "total", "kinds", "wanted", "noted"),
    [
        ([FERRY], 50, [], {"single_fact": 3, "unanswerable": 3}, ["6 questions at most", *["two documents"] * 3]),
        ([FERRY], 4, [], {"single_fact": 2, "unanswerable": 2}, ["two documents"] * 3),
        ([FERRY], 1, ["unanswerable=2", "single_fact"], {"unanswerable": 2, "single_fact": 1}, []),
        ([FERRY, LONG[4]], 11, ["single_fact", "unanswerable=2"], {"single_fact": 11, "unanswerable": 2}, []),
    ],
)
def test_kinds_share_the_total_as_far_as_there_are_places_and_what_is_missing_is_said(
    documents: list[Document], total: int, kinds: list[str], wanted: dict[str, int], noted: list[str]
) -> None:
    found = orders(documents, WantedQuestions(total, parse_kinds(kinds)))
    assert {order.kind: order.wanted for order in found.orders} == wanted
    assert len(found.notes) == len(noted)
    assert all(any(part in note for note in found.notes) for part in noted)


def test_kinds_that_these_documents_do_not_allow_are_refused_when_nothing_else_was_named() -> None:
    with pytest.raises(ConfigError, match="no bridge questions: they need two documents, and there is one"):
        orders([FERRY], WantedQuestions(4, parse_kinds(["bridge"])))


@pytest.mark.parametrize("documents", [[], [Document(doc_id="a", text=" \n")]])
def test_no_text_is_one_line(documents: list[Document]) -> None:
    with pytest.raises(DataError, match="hold no text"):
        orders(documents, WantedQuestions(4, {}))


@pytest.mark.parametrize("word", ["brdige", "bridge=", "bridge=0", "bridge=many", "bridge=-1"])
def test_a_kind_that_is_none_is_one_line(word: str) -> None:
    with pytest.raises(ConfigError):
        parse_kinds([word])
