import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.core.errors import MissingDependency
from harness.core.records import Document
from systems.common.chunking import Chunk, ChunkParams, check_splitter, iter_chunks
from systems.common.token_estimate import TokenCounter, clip, count_tokens

SIZES = [
    ChunkParams(),
    ChunkParams(chunk_size=300, chunk_overlap=50),
    ChunkParams(chunk_size=100, chunk_overlap=0),
]
IDS = [f"{params.chunk_size}/{params.chunk_overlap}" for params in SIZES]


def document(text: str, doc_id: str = "d") -> Document:
    return Document(doc_id=doc_id, text=text)


def chunks_of(text: str, params: ChunkParams) -> list[Chunk]:
    return list(iter_chunks([document(text)], params))


def check(source: Document, chunks: Sequence[Chunk], params: ChunkParams) -> None:
    """Verbatim, in order, in bounds, and nothing but white space left out."""
    reached = 0
    for chunk in chunks:
        start, end = chunk.span.start, chunk.span.end
        assert chunk.document is source
        assert chunk.span.doc_id == source.doc_id
        assert chunk.text == source.text[start:end]
        assert chunk.text.strip()
        assert len(chunk.text) <= params.chunk_size
        assert reached - start <= params.chunk_overlap
        assert end > reached
        assert not source.text[reached:start].strip()
        reached = end
    assert not source.text[reached:].strip()


@pytest.mark.slow
@pytest.mark.parametrize("params", SIZES, ids=IDS)
def test_real_articles_are_cut_to_the_letter(articles: tuple[Document, ...], params: ChunkParams) -> None:
    chunks = list(iter_chunks(articles, params))
    by_document = {key: list(group) for key, group in itertools.groupby(chunks, lambda chunk: chunk.span.doc_id)}
    assert list(by_document) == [article.doc_id for article in articles]
    for article in articles:
        check(article, by_document[article.doc_id], params)


def test_the_609_articles_give_6626_chunks_at_the_defaults(articles: tuple[Document, ...]) -> None:
    assert sum(1 for _ in iter_chunks(articles, ChunkParams())) == 6626


def langchain(text: str, params: ChunkParams) -> list[str]:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=params.chunk_size,
        chunk_overlap=params.chunk_overlap,
        separators=["\n\n", "\n", ". ", " ", ""],
        keep_separator="end",
        strip_whitespace=False,
    )
    return [piece for piece in splitter.split_text(text) if piece.strip()]


@pytest.mark.slow  # importing LangChain takes 2 s
@pytest.mark.parametrize("params", SIZES, ids=IDS)
def test_articles_are_cut_where_langchain_cuts_them(articles: tuple[Document, ...], params: ChunkParams) -> None:
    for article in articles:
        assert [chunk.text for chunk in iter_chunks([article], params)] == langchain(article.text, params)


PARAMS = st.builds(ChunkParams, chunk_size=st.integers(50, 120), chunk_overlap=st.integers(0, 49))
BITS = st.sampled_from(
    ["0 ", "ab. ", "a", "é\u0301", "\n", "\n\n", " ", "\t", "row of a table\n", ". ", "\U0001f600"]
)
REPEATS = st.lists(st.tuples(st.lists(BITS, max_size=12).map("".join), st.integers(1, 40)), max_size=6)
REPETITIVE = REPEATS.map(lambda parts: "".join(text * times for text, times in parts))
"""Texts that repeat themselves: where a chunk occurs twice, only one of the places is the right one."""


@pytest.mark.slow
@given(REPETITIVE, PARAMS)
@settings(max_examples=1500, deadline=None)
def test_any_text_is_cut_where_langchain_cuts_it(text: str, params: ChunkParams) -> None:
    assert [chunk.text for chunk in chunks_of(text, params)] == langchain(text, params)


@pytest.mark.slow
def test_langchain_s_own_splitter_may_be_chosen(articles: tuple[Document, ...]) -> None:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    params = ChunkParams(splitter="langchain")
    splitter = RecursiveCharacterTextSplitter(chunk_size=1200, chunk_overlap=100)
    for article in articles[:20]:
        chunks = list(iter_chunks([article], params))
        assert [chunk.text for chunk in chunks] == splitter.split_text(article.text)
        assert all(article.text[chunk.span.start : chunk.span.end] == chunk.text for chunk in chunks)


def test_a_missing_splitter_is_one_line_that_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.core.errors.find_spec", lambda _: None)
    with pytest.raises(MissingDependency) as refused:
        check_splitter(ChunkParams(splitter="langchain"))
    assert "splitter-langchain" in refused.value.fix


@pytest.mark.parametrize("text", ["", " \t\r\n" * 2000, "\u3000\u2028"])
def test_a_text_of_white_space_gives_no_chunk(text: str) -> None:
    assert chunks_of(text, ChunkParams()) == []


def test_paragraphs_then_lines_then_sentences_then_words_are_kept_whole() -> None:
    params = ChunkParams(chunk_size=50, chunk_overlap=0)
    first, second = "One sentence here. And a second one.", "Another paragraph of the text.\nIts second line."
    long_line = "word " * 9 + "end. " + "A sentence that follows it."
    texts = [chunk.text for chunk in chunks_of(f"{first}\n\n{second}\n\n{long_line}", params)]
    assert texts == [f"{first}\n\n", f"{second}\n\n", "word " * 9 + "end. ", "A sentence that follows it."]


def test_empty_documents_leave_the_ids_and_spans_of_the_others_alone() -> None:
    corpus = [document("", "a"), document("text", "b"), document(" \n", "c"), document("more", "d")]
    chunks = list(iter_chunks(corpus, ChunkParams()))
    assert [(chunk.chunk_id, chunk.span.doc_id) for chunk in chunks] == [
        ("000001-00000", "b"),
        ("000003-00000", "d"),
    ]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"chunk_size": 49}, "chunk_size"),
        ({"chunk_overlap": -1}, "chunk_overlap"),
        ({"chunk_size": 100, "chunk_overlap": 100}, "smaller than chunk_size"),
        ({"size": 100}, "size"),
    ],
)
def test_sizes_that_cannot_be_are_refused(params: dict[str, int], field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        ChunkParams.model_validate(params)


TEXTS = ["", " ", "a", "One two,  three.\n\nfour", "Übermäßig 潮汐\x00 {x} 🌊", "internationalisation " * 3]


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_pieces_that_make_the_text_again(text: str) -> None:
    counter = TokenCounter()
    pieces = counter.encode(text)
    assert counter.decode(pieces) == text
    assert count_tokens(text) == len(pieces)


def test_a_text_is_cut_after_so_many_tokens() -> None:
    text = "The heron of the marsh."
    assert [clip(text, n) for n in (0, 1, 2, 99)] == ["", "The", "The heron", text]
    assert all(count_tokens(clip(text, n)) <= n for n in range(8))


def test_other_scripts_cost_more_than_their_letters_would_in_english() -> None:
    assert count_tokens("潮汐と風の町の電力網") == 5
    assert count_tokens("abcdefghij") == 2


@pytest.mark.slow
def test_the_estimate_is_near_wordpiece_and_not_below(articles: tuple[Document, ...]) -> None:
    import tokenizers

    file = Path.home() / ".cache/rag-harness/weights/all-minilm-l6-v2-tokenizer.json"
    if not file.exists():
        pytest.skip("the MiniLM tokenizer is not in the cache")
    tokenizer = tokenizers.Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    text = "\n".join(article.text for article in articles[:40])
    counted = len(tokenizer.encode(text, add_special_tokens=False).ids)
    assert counted <= count_tokens(text) <= 1.15 * counted
