"""Values as every renderer writes them: an unknown value is no zero, and no form says more than its number."""

import pytest

from harness.display import NOTHING, Entry, Quantity, Table, ValueGroup, bare, format_value, value_details
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
        (Quantity(41, of=41, unit="count"), "41"),
        (Quantity(41, of=1050, unit="count"), "41 of 1,050"),
        (Quantity(2208, at_least=True), "≥ 2,208"),
        (Quantity(0.06, unit="share", signed=True), "+0.060"),
        (Quantity(-0.06, unit="share", signed=True), "-0.060"),
        (Quantity(0.0314, unit="p"), "0.031"),
        (Quantity(0.0, unit="p"), "<0.001"),
        (Quantity(0.00099, unit="p"), "<0.001"),
        (Quantity(0.001, unit="p"), "0.001"),
        (Quantity(0.77, 0.7066, 0.8229, n=41, of=50, unit="%"), "77.0 [70.7, 82.3] (n = 41 of 50)"),
        (Quantity(0.77, n=1050, of=1050, unit="share"), "0.770 (n = 1,050)"),
        (Quantity(None, n=0, of=2, unit="share"), f"{NOTHING} (n = 0 of 2)"),
        (Quantity(0.06, -0.01, 0.13, unit="share", signed=True, mark="~"), "+0.060 [-0.010, +0.130] ~"),
        (Quantity(0.53, 0.46, 0.6, unit="±"), "0.53 ± 0.070"),
        # Not symmetric, or beyond what both limits keep within.
        (Quantity(0.78, 0.0, 0.993, unit="±"), "0.78 [0, 0.99]"),
        (Quantity(0.9, 0.76, 1.0, unit="±"), "0.90 [0.76, 1]"),
        (Quantity(0.55, 0.46, 0.65, unit="± %"), "55 ± 10 %"),
    ],
)
def test_a_quantity_is_written_with_all_that_belongs_to_it(quantity: Quantity, text: str) -> None:
    assert format_value(quantity) == text
    assert f"{bare(quantity)} {value_details(quantity)}".strip() == text


@pytest.mark.parametrize("unit", ["", "share", "coefficient", "%", "count", "p"])
def test_an_unknown_value_is_neither_zero_nor_an_interval(unit: NumberForm) -> None:
    for unknown in (None, NAN, INFINITE, -INFINITE):
        assert format_value(Quantity(unknown, 0.1, 0.2, unit=unit, at_least=True, signed=True)) == NOTHING
        for low, high in ((0.1, unknown), (unknown, 0.2)):
            assert "[" not in format_value(Quantity(0.15, low, high, unit=unit))


@pytest.mark.parametrize("unit", ["", "share", "coefficient", "%"])
def test_zero_has_no_sign(unit: NumberForm) -> None:
    for zero in (0.0, -0.0, *([-0.00001] if unit else [])):
        for signed in (True, False):
            assert not set(format_value(Quantity(zero, unit=unit, signed=signed))) & set("+-")


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (ValueGroup((Quantity(1, unit="count"), Quantity(3, unit="count")), "-"), "1-3"),
        (ValueGroup((Quantity(2.1), Quantity(3.0))), "2.10 / 3"),
        (ValueGroup((Quantity(2.1), Quantity(None)), " of "), f"2.10 of {NOTHING}"),
        ("<b>", "<b>"),
        ("", ""),
        (None, NOTHING),
    ],
)
def test_other_entries_stand_as_they_are(entry: Entry, text: str) -> None:
    assert format_value(entry) == text


@pytest.mark.parametrize(
    ("entries", "are_words"),
    [
        ((Quantity(1.0), "never"), True),
        (("", Quantity(1.0)), False),
        ((None, ValueGroup((Quantity(1.0),))), False),
    ],
)
def test_a_column_holds_words_if_any_row_has_some(entries: tuple[Entry, Entry], are_words: bool) -> None:
    table = Table("t", "T", ("system", "x"), tuple(("kg", entry) for entry in entries))
    assert table.word_columns == (True, are_words)
