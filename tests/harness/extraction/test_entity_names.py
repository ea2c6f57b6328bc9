import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.extraction.entity_names import entity_id, relation_name

ANY_TEXT = st.text(st.characters(), max_size=130)


@pytest.mark.parametrize(
    ("spellings", "expected"),
    [
        ([" APPLE\n", "“Apple”", "Apple's", "Apple\u2019s", "the Apple", "(Apple)", "'Apple'"], "apple"),
        (["The New York Times", "new  york\ttimes", "THE NEW YORK TIMES."], "new york times"),
        (["O\u2019Brien", "O'Brien"], "o'brien"),
        (["Spider\u2013Man", "Spider-Man"], "spider-man"),
        (["U.S.", "U.S", "US", "u.s.'s"], "us"),
        (["J.K. Rowling", "JK Rowling"], "jk rowling"),
        (["WHO", "The WHO"], "who"),
        (["\uff26\uff22\uff29", "FBI"], "fbi"),
        (["Straße", "STRASSE"], "strasse"),
        (["Zürich", "Zu\u0308rich"], "zürich"),
        (["東京"], "東京"),
        (["C++"], "c++"),
        (["AT&T"], "at&t"),
        (["2023"], "2023"),
        (["a\u200bb\x00c"], "ab c"),
        (['The "The Crown"\'s'], "crown"),
    ],
)
def test_spellings_of_one_name_are_one_entity(spellings: list[str], expected: str) -> None:
    assert {entity_id(spelling) for spelling in spellings} == {expected}


@pytest.mark.parametrize(
    "pair", [("Apple", "Apples"), ("Apple", "Apple Inc."), ("Musk", "Elon Musk"), ("C", "C++")]
)
def test_names_that_only_resemble_stay_apart(pair: tuple[str, str]) -> None:
    assert entity_id(pair[0]) != entity_id(pair[1])


@pytest.mark.parametrize(
    "name",
    ["", " ", "—", "'s", "the", "The a", "...", "🙂", "it", "He", "They", "this", "n/a", "\ud83d", "x" * 101],
)
def test_what_cannot_be_an_entity_has_no_id(name: str) -> None:
    assert entity_id(name) == ""


@given(ANY_TEXT)
@example("the 'the 's's")
@example("\ufdfa" * 20)
@example("\u0345\u0301")
def test_normalising_an_entity_twice_changes_nothing_and_it_can_be_stored(name: str) -> None:
    once = entity_id(name)
    assert entity_id(once) == once
    assert len(once) <= 100
    assert once.encode() is not None
    assert once.isprintable()
    assert once == once.strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("works for", "WORKS_FOR"),
        ("  works-for! ", "WORKS_FOR"),
        ("WORKS_FOR", "WORKS_FOR"),
        ("gehört zu", "GEHÖRT_ZU"),
        ("का हिस्सा", "का_हिस्सा"),
        ("`]->(x) DETACH DELETE x //", "X_DETACH_DELETE_X"),
        ("", "RELATED_TO"),
        ("--", "RELATED_TO"),
        ("x" * 59 + " y", "X" * 59),
    ],
)
def test_a_relation_is_upper_case_words_joined_by_underscores(text: str, expected: str) -> None:
    assert relation_name(text) == expected


@given(ANY_TEXT)
@example("\ufdfa" * 70)
def test_normalising_a_relation_twice_changes_nothing_and_it_is_bounded(text: str) -> None:
    once = relation_name(text)
    assert relation_name(once) == once
    assert 1 <= len(once) <= 60
    assert not set(once) & set("`'\"\\(){}[]: \n")
    assert once.encode() is not None
