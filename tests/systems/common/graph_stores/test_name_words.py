import pytest
from hypothesis import given
from hypothesis import strategies as st

from systems.common.graph_stores.name_words import query_words, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t?!", []),
        ("U.S. Steel's Café", ["u", "s", "steel", "s", "cafe"]),
        ("ÅNGSTRÖM Straße \ufb01 \u2167", ["angstrom", "strasse", "fi", "viii"]),
        ("snake_case x2 3.14", ["snake", "case", "x2", "3", "14"]),
        ("Йод ёлка", ["иод", "елка"]),
        ("हिन्दी", ["हिन्दी"]),
        ("腾讯 控股", ["腾讯", "控股"]),
        ("a\x00b\x1bc", ["a", "b", "c"]),
        ("x" * 150, ["x" * 100]),
    ],
)
def test_words_are_runs_of_letters_digits_and_marks(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text())
def test_words_hold_no_syntax_and_are_their_own_words(text: str) -> None:
    found = words(text)
    assert not any(set(word) & set("\"'\\*:()[]{}^~+-!&|/? \t\n\x00_") for word in found)
    assert [again for word in found for again in words(word)] == found or any(len(word) == 100 for word in found)


def test_a_query_holds_each_word_once_and_256_at_most() -> None:
    assert query_words("to be, or not TO BE") == ["to", "be", "or", "not"]
    assert query_words(" ".join(map(str, range(3000)))) == [str(number) for number in range(256)]
