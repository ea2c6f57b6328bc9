"""One table, four ways to show it: every cell is there, and none is more than its letters."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from harness.report.nouns import Section, Table
from harness.report.render.csv import table_csv
from harness.report.render.latex import latex, table_latex
from harness.report.render.markdown import grid, section_lines, table_markdown
from harness.report.render.terminal import fits, print_table

EVIL = "[bold]x[/] <script>|a|</script> $x^2$ \\input{/etc/passwd} \x1b[2J"


def table(*rows: tuple[str, ...], words: bool = False, note: str = "") -> Table:
    header = ("system", *[f"measure {place}" for place in range(1, len(rows[0]))])
    return Table("t", "A title", header, rows, words=words, note=note)


def printed(shown: Table, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    print_table(shown, console, width)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_numbers_stand_as_they_are_in_markdown_and_names_are_escaped() -> None:
    rows = grid(("system", "a"), [("[k](g)", "-0.060 [-0.125, +0.005] ~"), ("x", "0.5 (n = 41 of 50)")])
    assert rows[2:] == ["| \\[k\\](g) | -0.060 [-0.125, +0.005] ~ |", "| x | 0.5 (n = 41 of 50) |"]


def test_words_are_left_and_numbers_right() -> None:
    assert grid(("a", "b"), [], words=True)[1] == "| --- | --- |"
    assert grid(("a", "b"), [])[1] == "| --- | ---: |"


def test_what_looks_like_a_number_and_is_a_link_is_escaped() -> None:
    assert grid(("a",), [("[1](2)",)])[2] == "| \\[1\\](2) |"


def test_a_section_shows_its_parts_in_order() -> None:
    section = Section("k", "T", ("First.",), ("one",), tables=(table(("a", "1"), note="Read."),), code=("run",))
    text = "\n".join(section_lines(section))
    places = [
        text.index(part) for part in ("### T", "First.", "- one", "**A title**", "| a | 1 |", "Read.", "~~~sh")
    ]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-evil", "'-evil"),
        ("-0.5", "-0.5"),
        ("+0.1 [-0.2, +0.4] ~", "+0.1 [-0.2, +0.4] ~"),
        ("-1+1", "'-1+1"),
    ],
)
def test_a_signed_number_is_no_formula_and_everything_else_might_be(cell: str, written: str) -> None:
    assert list(csv.reader(io.StringIO(table_csv(table(("a", cell))))))[1] == ["a", written]


def test_latex_has_a_caption_a_label_and_booktabs() -> None:
    text = table_latex(table(("a_b", "≥ 61"), note="A note."))
    for part in (
        "\\caption{A title. A note.}",
        "\\label{tab:t}",
        "\\toprule",
        "a\\_\\allowbreak{}b & $\\geq$ 61 \\\\",
    ):
        assert part in text
    assert "\\resizebox" not in text
    assert "\\resizebox" in table_latex(table(("a", *["0.123 [0.100, 0.200]"] * 9)))


@given(st.text())
def test_no_name_is_a_latex_command(text: str) -> None:
    safe = latex(text)
    known = r"\\(text\w+|allowbreak|ldots|[a-z]+)\{\}|\$(\\\w+|-|\^\\circ)\$|\\[{}$&#%_]"
    rest = re.sub(known, "", safe).replace("{[}", "")
    assert not set(rest) & set("\\{}$&#%_^~")
    assert all(char.isascii() or "À" <= char <= "ÿ" for char in safe)


def test_signs_and_letters_that_pdflatex_lacks_become_what_it_has() -> None:
    assert latex("– … ≠ é ő 中") == "-- \\ldots{} $\\neq$ é o ?"  # noqa: RUF001
    assert latex("[x]") == "{[}x]"


@pytest.mark.parametrize("width", [30, 60, 100])
@pytest.mark.parametrize("words", [True, False])
def test_no_line_is_wider_than_the_console_and_no_cell_is_lost(width: int, words: bool) -> None:
    cells = [f"0.{place}23 [0.100, 0.200]" for place in range(1, 8)]
    text = printed(table(("naive top_k=10 with a very long name", *cells), words=words), width)
    assert max(len(line) for line in text.splitlines()) <= width
    for place in range(1, 8):
        assert f"0.{place}23" in text


def test_columns_without_room_go_below_with_the_first_column() -> None:
    wide = table(("naive", *["0.123 [0.100, 0.200]"] * 6))
    assert not fits(wide, 100)
    assert fits(wide, 200)
    assert printed(wide, 100).count("naive") == 2


def test_nothing_is_markup_on_a_terminal() -> None:
    text = printed(table(("[bold]x[/]", "[link=http://a]y[/]"), note="[red]n[/]"), 100)
    for part in ("[bold]x[/]", "[link=http://a]y[/]", "[red]n[/]"):
        assert part in text


@pytest.mark.parametrize("render", [table_csv, table_latex, table_markdown])
def test_the_same_table_gives_the_same_text_and_no_control_character(render: object) -> None:
    shown = Table("t", EVIL, ("a", EVIL), ((EVIL, EVIL),), note=EVIL)
    text = render(shown)  # type: ignore[operator]
    assert text == render(shown)  # type: ignore[operator]
    assert "\x1b" not in text
