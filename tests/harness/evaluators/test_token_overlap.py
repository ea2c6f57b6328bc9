"""How much of a reference stands in an answer: by SQuAD, by containment, by MultiHop-RAG's script."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import rows_of

from harness.evaluators.token_overlap import contains, exact_match, is_near, shared_words, squad_form, token_f1

VISIBLE = st.text(min_size=1, max_size=60).filter(str.strip)
WORDY = st.text(alphabet="aAbBthey noNOYs.,-'3東京。", min_size=1, max_size=30).filter(str.strip)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("  The   New York\tTimes. ", "new york times"),
        ("Sam Bankman-Fried", "sam bankmanfried"),
        ("3.5", "35"),
        ("C++", "c"),
        ("दिल्ली।", "दिल्ली"),
        ("القاهرة؟", "القاهرة"),
        ("Ha\u0300 No\u0323\u0302i", "h\u00e0 n\u1ed9i"),
        ("A", ""),
        ("an a.m. the", "am"),
        ("ÉCOLE", "école"),
    ],
)
def test_squad_compares_this_form(text: str, form: str) -> None:
    assert squad_form(text) == form


@pytest.mark.parametrize(
    ("answer", "references", "em", "f1"),
    [
        ("the Google.", ["Google"], True, 1.0),
        # One token of four, all of one: 2 * 1 / (4 + 1).
        ("Sportsbooks and professional bettors", ["Sportsbooks"], False, 0.4),
        # 2 * 1 / (4 + 3) and 2 * 2 / (4 + 2): the better reference counts.
        ("Sportsbooks and professional bettors", ["Sportsbooks or casinos", "professional bettors"], False, 2 / 3),
        # A token counts as often as it stands in both: one x and one y of three each.
        ("x x y", ["x y y"], False, 4 / 6),
        ("y x", ["x y"], False, 1.0),
        ("I don't know.", ["Insufficient information."], False, 0.0),
        ("Владимир ПУТИН", ["Путин"], False, 2 / 3),
        ("", ["Google"], False, 0.0),
        ("Google", [], False, 0.0),
        # SQuAD deletes the whole reference; only an empty answer earns nothing.
        ("The", ["A"], True, 1.0),
        ("B", ["A"], False, 0.0),
        (" \n", ["A"], False, 0.0),
    ],
)
def test_exact_match_and_f1_as_worked_by_hand(answer: str, references: list[str], em: bool, f1: float) -> None:
    assert exact_match(answer, references) is em
    assert token_f1(answer, references) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("answer", "reference", "f1"),
    [
        ("东京是日本的首都", "日本的首都", 2 * 5 / (8 + 5)),
        ("東京です。", "東京", 2 * 2 / (4 + 2)),
        ("「東京」、大阪", "東京・大阪", 1.0),
        ("苹果的iPhone 15", "iPhone 15", 2 * 2 / (5 + 2)),
        ("２０２１年", "2021年", 1.0),
        ("กรุง\u200bเทพ", "กรุงเทพ", 1.0),
        ("서울 특별시", "서울", 2 * 1 / (2 + 1)),
    ],
)
def test_in_a_script_without_spaces_a_character_is_a_token(answer: str, reference: str, f1: float) -> None:
    assert token_f1(answer, [reference]) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("answer", "reference", "near"),
    [
        ("34", "34 metres", True),
        ("7 years", "Seven years", True),
        ("18 months", "Every 18 months", True),
        ("It was founded by Ann Lee in Oslo, as the register says.", "Ann Lee", True),
        ("7 years", "5 years", False),
        ("Ann Lee", "Ann Moe", False),
        ("34, 35 or 36 metres", "34 metres", False),
        ("34, 35, 36", "34 metres", False),
        ("not 34 metres", "34 metres", False),
        ("yes, no", "yes", False),
        ("", "34 metres", False),
    ],
)
def test_an_answer_that_differs_from_its_reference_in_few_words_is_near(
    answer: str, reference: str, near: bool
) -> None:
    assert is_near(answer, reference) is near


def test_an_answer_contains_its_reference_or_does_not() -> None:
    rows = rows_of(__file__, "contained_references.csv")
    assert len(rows) > 25
    wrong = [row for row in rows if contains(row["answer"], [row["reference"]]) != (row["contained"] == "yes")]
    assert wrong == []


@pytest.mark.parametrize(
    ("answer", "reference", "shared"),
    [
        ("the Fed", "The Federal Reserve", {"the"}),
        ("Google", "Google.", set()),
        ("INSUFFICIENT data", "Insufficient information.", {"insufficient"}),
        ('Yes and no. The answer to the question is "Yes".', "no", set()),
        ('The answer to the question is "Yes". No: The answer to the question is "no".', "yes", {"yes"}),
        ('The answer to the question is "Yes\nand no', "no", {"no"}),
        ('the answer to the question is "Yes" or no', "no", {"no"}),
        ("", "yes", set()),
    ],
)
def test_the_words_that_multihop_rags_script_finds_in_both(answer: str, reference: str, shared: set[str]) -> None:
    assert shared_words(answer, [reference]) == shared
    assert shared_words(answer, ["7261", reference]) == shared


@given(VISIBLE, VISIBLE)
def test_f1_is_symmetric_and_between_0_and_1(one: str, other: str) -> None:
    assert token_f1(one, [other]) == token_f1(other, [one])
    assert 0 <= token_f1(one, [other]) <= 1


@given(WORDY, st.lists(WORDY, min_size=1, max_size=4))
def test_a_further_reference_never_costs_anything(answer: str, references: list[str]) -> None:
    for measure in (exact_match, token_f1, contains):
        best = max(float(measure(answer, [reference])) for reference in references)
        assert float(measure(answer, references)) == best


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["word ", "the ", "yes, ", "no\n", "answer: x\n", "$1", "東京", "the articles do not ", "The answer is "],
)
def test_ten_thousand_characters_take_bounded_time(unit: str) -> None:
    answer = (unit * 10_000)[:10_000]
    references = [f"{unit}{number}" for number in range(20)] + ["yes", "Insufficient information."]
    started = process_time()
    for measure in (exact_match, token_f1, contains, shared_words):
        measure(answer, references)
    assert process_time() - started < 3
