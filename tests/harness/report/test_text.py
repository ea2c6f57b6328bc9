"""Numbers a reader can trust at a glance, and names that cannot do anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.display.text_format import NOTHING, csv_name, file_name, markdown, number, printable, type_name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, NOTHING),
        (0.0, "0"),
        (2208.0, "2,208"),
        (2208.4, "2,208"),
        (3.854, "3.85"),
        (6.2, "6.20"),
        (99.95, "100"),
        (0.000335, "0.000335"),
        (0.0000123, "1.2e-05"),
        (1.0, "1"),
    ],
)
def test_numbers_have_three_digits_and_the_unknown_is_no_zero(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("naive", "naive"),
        ("multihop_rag", "multihop_rag"),
        ("_emphasis_", "\\_emphasis\\_"),
        ("a | b", "a \\| b"),
        ("a\n\n# Title", "a \\# Title"),
        ("<img src=x onerror=alert(1)>", "\\<img src=x onerror=alert(1)\\>"),
        ("[click](javascript:alert(1))", "\\[click\\](javascript:alert(1))"),
        ("**bold** `code` ~~no~~", "\\*\\*bold\\*\\* \\`code\\` \\~\\~no\\~\\~"),
        ("http://evil.example", "http:\\//evil.example"),
        ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
        ("- item", "\\- item"),
        ("1. item", "1\\. item"),
        ("\\", "\\\\"),
        ("a\u202eb\x1b[31mc\x00", "a b \\[31mc"),
    ],
)
def test_markdown_shows_a_name_and_does_nothing_else(name: str, safe: str) -> None:
    assert markdown(name) == safe


@given(st.text())
def test_no_name_breaks_out_of_its_table_cell(text: str) -> None:
    cell = markdown(text)
    assert "\n" not in cell
    assert "\r" not in cell
    assert "|" not in cell.replace("\\\\", "").replace("\\|", "")
    assert "<" not in cell.replace("\\\\", "").replace("\\<", "")


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r\n=1"])
def test_no_name_is_a_formula_in_a_spreadsheet(name: str) -> None:
    assert csv_name(name).startswith("'")


@given(st.text())
def test_a_file_name_stays_in_its_folder(text: str) -> None:
    name = file_name(text)
    assert name not in {"", ".", ".."}
    assert "/" not in name
    assert "\x00" not in name


def test_a_long_name_is_cut_and_says_so() -> None:
    assert printable("x" * 100, 10) == "xxxxxxxxx…"


def test_a_query_type_drops_the_word_query() -> None:
    assert type_name("null_query") == "null"
    assert type_name("_query") == "_query"
