import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.core.records import Document
from systems.common.chunking import ChunkParams, iter_chunks
from systems.common.word_index import WordIndex

Build = Callable[..., WordIndex]


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    """build(*texts) -> their index, opened anew; each text is a document of one passage."""
    made: list[WordIndex] = []

    def built(*texts: str) -> WordIndex:
        documents = [Document(doc_id=f"d{n}", text=text) for n, text in enumerate(texts)]
        chunks = list(iter_chunks(documents, ChunkParams()))
        folder = tmp_path / f"words-{len(made)}"
        WordIndex.create(folder, chunks, [chunk.text for chunk in chunks]).close()
        made.append(WordIndex.open(folder))
        return made[-1]

    yield built
    for index in made:
        index.close()


def found(index: WordIndex, text: str, k: int = 10) -> list[str]:
    return [context.doc_ids[0] for context in index.search_here(text, k)]


def test_a_rare_word_counts_for_more_than_a_common_one(build: Build) -> None:
    index = build("heron marsh", "otter river", "heron river", "badger river")
    assert found(index, "Which river has an otter?")[0] == "d1"


def test_a_passage_that_shares_no_word_is_not_found(build: Build) -> None:
    index = build("heron marsh", "otter river")
    assert found(index, "otter") == ["d1"]
    assert found(index, "volcano") == []


def test_equal_passages_stand_in_the_order_of_the_corpus(build: Build) -> None:
    index = build(*["the same words"] * 30)
    assert found(index, "same", k=5) == ["d0", "d1", "d2", "d3", "d4"]


@pytest.mark.parametrize("text", ["", " ", "the of and", "?!", "\u0000", "a"])
def test_a_question_without_a_word_finds_nothing(build: Build, text: str) -> None:
    assert found(build("heron marsh", "the otter"), text) == []


@pytest.mark.parametrize("texts", [(), ("",), ("the",), ("?!",)])
def test_a_corpus_without_a_word_is_an_index_that_finds_nothing(build: Build, texts: tuple[str, ...]) -> None:
    assert found(build(*texts), "heron") == []


def test_a_corpus_of_one_word_is_found_by_it(build: Build) -> None:
    assert found(build("heron"), "heron heron") == ["d0"]


def test_texts_come_back_to_the_letter_with_their_place_and_score(build: Build) -> None:
    text = 'Zoë\u2028said: "heron"\tand\u0000 left \U0001f426'
    (context,) = build("otter", text).search_here("heron", 1)
    assert context.text == text
    assert (context.span is not None, context.kind, (context.score or 0) > 0) == (True, "passage", True)


def test_half_a_surrogate_pair_is_no_obstacle(build: Build) -> None:
    (context,) = build("heron \ud800marsh", "otter").search_here("heron \udfff", 1)
    assert context.text == "heron \ud800marsh"


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("港口由林晓梅管理", "谁管理港口？"),
        ("苹果公司发布iPhone15手机", "iphone15的价格"),
        ("ＩＰＨＯＮＥ１５", "iPhone15"),
        ("ﾄｰｷｮｰﾀﾜｰ", "トーキョータワー"),
        ("서울은 수도이다", "서울에 사는 사람"),
        ("दिल्ली में बारिश", "दिल्ली"),
        ("\u0130stanbul liman\u0131", "istanbul"),
        ("กรุง\u200bเทพ", "กรุงเทพ"),
        ("القَاهِرَة كبيرة", "القاهرة"),
        ("تأسست عام ٢٠٢١", "2021"),
        ("Ha\u0300 No\u0323\u0302i", "Hà Nội"),
    ],
)
def test_a_word_is_found_in_any_script(build: Build, text: str, question: str) -> None:
    assert found(build("heron marsh", text), question) == ["d1"]


@pytest.mark.parametrize(("text", "question"), [("दिन", "दल"), ("港湾", "湾港"), ("서울", "울산")])
def test_letters_in_common_make_no_word(build: Build, text: str, question: str) -> None:
    assert found(build("heron marsh", text), question) == []


async def test_searches_side_by_side_do_not_mix(build: Build) -> None:
    index = build(*(f"animal{n} lives here" for n in range(50)))
    all_found = await asyncio.gather(*(index.search(f"animal{n}", 1) for n in range(50)))
    assert [contexts[0].doc_ids for contexts in all_found] == [(f"d{n}",) for n in range(50)]
