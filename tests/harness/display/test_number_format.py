"""Values as everybody writes them: what is not known is no zero, and no form says more than the number does."""

from dataclasses import replace

import pytest

from harness.display import (
    NOTHING,
    Entry,
    Quantity,
    Rank,
    Table,
    ValueGroup,
    bare,
    format_value,
    interval,
    value_details,
)
from harness.display.types import NumberForm

NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (Quantity(0.77), "0.770"),
        (Quantity(0.77, unit="share"), "0.770"),
        (Quantity(0.77, unit="coefficient"), "0.77"),
        (Quantity(0.77, unit="%"), "77.0"),
        (Quantity(2208.4), "2,208"),
        (Quantity(41, unit="count"), "41"),
        (Quantity(41, of=41, unit="count"), "41"),
        (Quantity(41, of=1050, unit="count"), "41 of 1,050"),
        (Quantity(2208, at_least=True), "≥ 2,208"),
        (Quantity(0.06, unit="share", signed=True), "+0.060"),
        (Quantity(-0.06, unit="share", signed=True), "-0.060"),
        (Quantity(2208.0, signed=True), "+2,208"),
        (Quantity(0.0314, unit="p"), "0.031"),
        (Quantity(0.77, 0.7066, 0.8229, unit="share"), "0.770 [0.707, 0.823]"),
        (Quantity(0.77, 0.7066, 0.8229, n=41, of=50, unit="%"), "77.0 [70.7, 82.3] (n = 41 of 50)"),
        (Quantity(0.77, n=1050, of=1050, unit="share"), "0.770 (n = 1,050)"),
        (Quantity(0.06, -0.01, 0.13, unit="share", signed=True, mark="~"), "+0.060 [-0.010, +0.130] ~"),
        (Quantity(0.53, 0.46, 0.6, unit="±"), "0.53 ± 0.070"),
        (Quantity(0.78, 0.0, 0.993, unit="±"), "0.78 [0, 0.99]"),
        (Quantity(0.9, 0.76, 1.0, unit="±"), "0.90 [0.76, 1]"),
        (Quantity(0.55, 0.46, 0.65, unit="± %"), "55 ± 10 %"),
    ],
)
def test_a_quantity_is_written_with_all_that_belongs_to_it(quantity: Quantity, text: str) -> None:
    assert format_value(quantity) == text
    assert f"{bare(quantity)} {value_details(quantity)}".strip() == text


@pytest.mark.parametrize("unit", ["", "share", "coefficient", "%", "count", "p"])
@pytest.mark.parametrize("unknown", [None, NAN, INFINITE, -INFINITE])
def test_what_is_not_known_or_no_number_is_neither_zero_nor_an_interval(
    unit: NumberForm, unknown: float | None
) -> None:
    assert format_value(Quantity(unknown, 0.1, 0.2, unit=unit, at_least=True, signed=True)) == NOTHING
    assert interval(Quantity(0.15, 0.1, unknown, unit=unit)) == ""
    assert interval(Quantity(0.15, unknown, 0.2, unit=unit)) == ""


def test_a_mean_that_nothing_gave_says_over_how_many_it_would_have_been() -> None:
    assert format_value(Quantity(None, n=0, of=2, unit="share")) == f"{NOTHING} (n = 0 of 2)"


@pytest.mark.parametrize("unit", ["", "share", "coefficient", "%"])
@pytest.mark.parametrize("signed", [True, False])
def test_zero_has_no_sign(unit: NumberForm, signed: bool) -> None:
    for zero in (0.0, -0.0):
        assert not set(format_value(Quantity(zero, unit=unit, signed=signed))) & set("+-")
    if unit:
        assert not set(format_value(Quantity(-0.00001, unit=unit, signed=signed))) & set("+-")


def test_a_chance_is_never_zero() -> None:
    assert format_value(Quantity(0.0, unit="p")) == "<0.001"
    assert format_value(Quantity(0.00099, unit="p")) == "<0.001"
    assert format_value(Quantity(0.001, unit="p")) == "0.001"


def test_a_rank_that_is_shared_names_both_ends() -> None:
    assert (format_value(Rank(1, 3)), Rank(1, 3).is_tied) == ("1-3", True)
    assert (format_value(Rank(2, 2)), Rank(2, 2).is_tied) == ("2", False)


def test_numbers_that_belong_together_stand_side_by_side_whatever_one_of_them_lacks() -> None:
    both = ValueGroup((Quantity(2.1), Quantity(3.0)))
    assert format_value(both) == "2.10 / 3"
    assert format_value(replace(both, between=" of ")) == "2.10 of 3"
    assert format_value(ValueGroup((Quantity(2.1), Quantity(None)))) == f"2.10 / {NOTHING}"


def test_words_stand_as_they_are_and_an_empty_place_says_so() -> None:
    assert format_value("<b>") == "<b>"
    assert format_value("") == ""
    assert format_value(None) == NOTHING


@pytest.mark.parametrize(
    ("entries", "are_words"),
    [
        (("index", "answer"), True),
        ((Quantity(1.0), "never"), True),
        (("", Quantity(1.0)), False),
        ((None, Rank(1, 2)), False),
        ((None, None), False),
    ],
)
def test_a_column_holds_words_where_any_row_has_some(entries: tuple[Entry, Entry], are_words: bool) -> None:
    table = Table("t", "T", ("system", "x"), tuple(("kg", entry) for entry in entries))
    assert table.word_columns == (True, are_words)
