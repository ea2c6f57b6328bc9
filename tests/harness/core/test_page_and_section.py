"""Where something stands in a text."""

import pytest

from harness.core.page_and_section import PlacesOfText, has_places, headings

TEXT = "# Ovens\nBuilt.\n\f## 3.1 Keys ##\nLeft.\n```\n# no heading\n```\n\fLast."


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("Built.", "page 1, Ovens"),
        ("\f## 3.1 Keys", "page 2, 3.1 Keys"),
        ("no heading", "page 2, 3.1 Keys"),
        ("Built.\n\f## 3.1", "pages 1-2, Ovens"),
        ("Last.", "page 3, 3.1 Keys"),
    ],
)
def test_a_place_is_its_page_and_the_heading_above_it(words: str, place: str) -> None:
    start = TEXT.index(words)
    assert PlacesOfText(TEXT).describe(start, start + len(words)) == place


def test_a_text_without_pages_or_headings_says_nothing() -> None:
    assert PlacesOfText("plain # text").describe(0, 5) == ""
    assert not has_places("plain # text\n#hashtag")
    assert has_places("one\ftwo")
    assert has_places("text\n# Heading")


def test_blank_or_impossible_places_say_nothing() -> None:
    assert PlacesOfText(TEXT).describe(5, 5) == PlacesOfText(TEXT).describe(900, 950) == ""


def test_a_fence_hides_headings_until_its_like_ends_it() -> None:
    assert [one.title for one in headings("~~~\n# a\n```\n# b\n~~~\n# c")] == ["c"]
