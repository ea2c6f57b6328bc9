from pathlib import Path

import pytest

from harness.core.records import Document
from systems.common.token_estimate import TokenCounter, clip, count_tokens

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
