from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.core.records import Context, Document, Span
from systems.common.chunking import ChunkParams, iter_chunks
from systems.common.search import fuse
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


@pytest.mark.parametrize("text", ["", " ", "the of and", "?!", "\u0000", "a"])
def test_a_question_without_a_word_finds_nothing(build: Build, text: str) -> None:
    assert found(build("heron marsh", "the otter"), text) == []


@pytest.mark.parametrize("texts", [(), ("",), ("the",), ("?!",)])
def test_a_corpus_without_a_word_is_an_index_that_finds_nothing(build: Build, texts: tuple[str, ...]) -> None:
    assert found(build(*texts), "heron") == []


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


def passage(name: str) -> Context:
    return Context(text=name, doc_ids=(name,), kind="passage", span=Span(doc_id=name, start=0, end=1))


def fused(lists: list[str], k: int = 10) -> str:
    return "".join(context.text for context in fuse([[passage(name) for name in each] for each in lists], k))


def test_what_both_lists_hold_comes_before_what_one_holds_higher() -> None:
    assert fused(["abc", "xyc"]) == "caxby"


def test_equal_scores_stand_as_in_the_first_list() -> None:
    assert fused(["ab", "ba"]) == "ab"
    assert fused(["a", "x"]) == "ax"


def test_a_score_is_the_sum_of_reciprocal_ranks() -> None:
    first, second = fuse([[passage("a"), passage("b")], [passage("a")]], k=2)
    assert (first.score, second.score) == (2 / 61, 1 / 62)
