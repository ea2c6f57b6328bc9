"""What is read of texts that are too long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.evaluators.triplet.excerpts import MOST_TEXTS, excerpts


def test_what_fits_is_read_whole_and_needs_no_note() -> None:
    found = excerpts([" one\n", "", "three"], 8)
    assert (found.texts, found.note) == (("one", "", "three"), "")


def test_long_texts_lose_their_ends_and_short_ones_nothing() -> None:
    found = excerpts(["a" * 10, "b", "c" * 7], 9)
    assert found.texts == ("aaaa", "b", "cccc")
    assert found.note == "read 9 of 18 characters"


def test_too_many_texts_are_cut_off_behind_the_first() -> None:
    found = excerpts(["ab"] * (MOST_TEXTS + 5), 1_000)
    assert len(found.texts) == MOST_TEXTS
    assert found.note == "read 80 of 90 characters"


@given(st.lists(st.text(), max_size=60), st.integers(0, 200))
def test_never_more_than_there_is_room_for_and_nothing_wasted(texts: list[str], longest: int) -> None:
    found = excerpts(texts, longest)
    whole = [text.strip() for text in texts[:MOST_TEXTS]]
    read = sum(map(len, found.texts))
    assert read <= longest
    assert all(text.startswith(part) for text, part in zip(whole, found.texts, strict=True))
    cut = [part for text, part in zip(whole, found.texts, strict=True) if part != text]
    # What is left is less than a character for each of those that were cut.
    assert not cut or longest - read < len(cut)
    assert len({len(part) for part in cut}) <= 1


@pytest.mark.parametrize("texts", [[], ["", " "]])
def test_nothing_is_nothing(texts: list[str]) -> None:
    found = excerpts(texts, 5)
    assert "".join(found.texts) == found.note == ""
