"""One table in four formats: every cell is there, names cannot do anything, numbers can be read."""

import csv
import io
import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_groups import printed as printed_to

from harness.display import Content, Entry, Quantity, Section, Table, format_value
from harness.display.text_format import NOTHING, csv_name, file_name, markdown, number, printable, type_name
from harness.report import load_chapters, render_terminal
from harness.report.formats import latex, section_lines, table_csv, table_latex, table_markdown
from harness.report.terminal import fits, print_notes, print_table
from harness.statistics.prices import load_prices
from harness.store import RunDir

SHARE = Quantity(0.123, 0.1, 0.2, unit="share")
EVIL = "[bold]x[/] <script>|a|</script> $x^2$ \\input{/etc/passwd} \x1b[2J"


def table(*rows: tuple[Entry, ...], note: str = "") -> Table:
    header = ("system", *[f"measure {place}" for place in range(1, len(rows[0]))])
    return Table("t", "A title", header, rows, note=note)


def printed(shown: Table, width: int) -> str:
    return printed_to(lambda console: print_table(shown, console, width), width, terminal=True)


def test_markdown_escapes_names_and_puts_numbers_to_the_right() -> None:
    difference = Quantity(-0.06, -0.125, 0.005, unit="share", signed=True, mark="~")
    shown = table(
        ("[k](g)", "[0.1, 0.2](b)", difference), ("x", "words", Quantity(0.5, n=41, of=50, unit="share"))
    )
    rows = [line for line in table_markdown(shown).splitlines() if line.startswith("|")]
    assert rows[1:] == [
        "| --- | --- | ---: |",
        "| \\[k\\](g) | \\[0.1, 0.2\\](b) | -0.060 [-0.125, +0.005] ~ |",
        "| x | words | 0.500 (n = 41 of 50) |",
    ]


def test_a_section_shows_its_parts_in_order() -> None:
    shown = table(("a", Quantity(1.0)), note="Read.")
    section = Section("k", "T", Content(("First.",), ("one",), (shown,), ("run",)))
    text = "\n".join(section_lines(section))
    parts = ("### T", "First.", "- one", "**A title**", "| a | 1 |", "Read.", "~~~sh")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_no_line_of_a_command_ends_its_block_in_markdown() -> None:
    lines = section_lines(Section("k", "T", Content(code=("~~~", "~~~~ # x"))))
    fence = lines[2].removesuffix("sh")
    assert set(fence) == {"~"}
    assert [line for line in lines if line.startswith(fence)] == [f"{fence}sh", fence]


@pytest.mark.parametrize(
    ("entry", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-0.5", "'-0.5"),
        (Quantity(-0.5), "-0.500"),
        (Quantity(0.1, -0.2, 0.4, unit="share", signed=True, mark="~"), "+0.100 [-0.200, +0.400] ~"),
    ],
)
def test_in_csv_words_are_no_formula_and_numbers_stay_numbers(entry: Entry, cell: str) -> None:
    assert list(csv.reader(io.StringIO(table_csv(table(("a", entry))))))[1] == ["a", cell]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r\n=1", "\uff1d1"])
def test_no_name_is_a_formula_in_a_spreadsheet(name: str) -> None:
    assert csv_name(name).startswith("'")
    assert ";'" in csv_name(f"a;{name.strip()}")
    assert csv_name("a; b") == "a; b"


def test_latex_has_a_caption_a_label_and_booktabs() -> None:
    text = table_latex(table(("a_b", Quantity(61.0, at_least=True)), note="A note."))
    row = "a\\_\\allowbreak{}b & $\\geq$ 61 \\\\"
    for part in ("\\caption{A title. A note.}", "\\label{tab:t}", "\\toprule", row):
        assert part in text
    assert "\\resizebox" not in text
    assert "\\resizebox" in table_latex(table(("a", *[SHARE] * 9)))


@given(st.text())
def test_no_name_is_a_latex_command(text: str) -> None:
    safe = latex(text)
    known = r"\\(text\w+|allowbreak|ldots|[a-z]+)\{\}|\$(\\\w+|-|\^\\circ)\$|\\[{}$&#%_]"
    rest = re.sub(known, "", safe).replace("{[}", "")
    assert not set(rest) & set("\\{}$&#%_^~")
    assert all(char.isascii() or "À" <= char <= "ÿ" for char in safe)


def test_characters_that_pdflatex_lacks_are_replaced() -> None:
    assert latex("– … ≠ é ő 中") == "-- \\ldots{} $\\neq$ é o ?"  # noqa: RUF001
    assert latex("[x]") == "{[}x]"


@pytest.mark.parametrize("width", [30, 100])
@pytest.mark.parametrize("in_words", [True, False])
def test_no_line_is_wider_than_the_console_and_no_cell_is_lost(width: int, in_words: bool) -> None:
    quantities = [Quantity(place / 10 + 0.023, 0.1, 0.2, unit="share") for place in range(1, 8)]
    cells: list[Entry] = [format_value(one) if in_words else one for one in quantities]
    text = printed(table(("naive top_k=10 with a very long name", *cells)), width)
    assert max(len(line) for line in text.splitlines()) <= width
    for place in range(1, 8):
        assert f"0.{place}23" in text


def test_columns_without_room_go_below_with_the_first_column() -> None:
    wide = table(("naive", *[SHARE] * 6))
    assert not fits(wide, 100)
    assert fits(wide, 200)
    assert printed(wide, 100).count("naive") == 2


@pytest.mark.parametrize("render", [table_csv, table_latex, table_markdown])
def test_a_table_has_no_control_character(render: Callable[[Table], str]) -> None:
    assert "\x1b" not in render(Table("t", EVIL, ("a", EVIL), ((EVIL, EVIL),), note=EVIL))


def test_the_remedy_at_the_end_of_a_long_note_is_not_cut() -> None:
    remedy = "Run `rag-harness evaluate` on all of them with the same --set."
    notes = [f"{'These runs were scored in other ways, ' * 9}. {remedy}"]
    (line,) = printed_to(lambda console: print_notes(notes, console, 300, full=False), 300).splitlines()
    assert line.endswith(remedy)
    assert len(line) < 160


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, NOTHING),
        (0.0, "0"),
        (1.0, "1"),
        (2208.4, "2,208"),
        (3.854, "3.85"),
        (99.95, "100"),
        (0.000335, "0.000335"),
        (0.0000123, "1.2e-05"),
    ],
)
def test_numbers_have_three_digits(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("name", "safe"),
    [
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
def test_no_name_breaks_out_of_its_table_cell_or_its_folder(text: str) -> None:
    cell = markdown(text).replace("\\\\", "")
    assert not {"\n", "\r"} & {*cell}
    assert "|" not in cell.replace("\\|", "")
    assert "<" not in cell.replace("\\<", "")
    name = file_name(text)
    assert name not in {"", ".", ".."}
    assert not {"/", "\x00"} & {*name}


def test_long_names_are_cut_and_query_types_lose_their_suffix() -> None:
    assert printable("x" * 100, 10) == "xxxxxxxxx…"
    assert type_name("null_query") == "null"
    assert type_name("_query") == "_query"


# What stands in the terminal, in 100 columns and fewer.


MakeRun = Callable[..., RunDir]
SMALL = {"inference_query": 2, "null_query": 1}


def shown(*runs: RunDir, width: int = 100, terminal: bool = False, full: bool = True) -> str:
    chapters = load_chapters(runs, load_prices())
    return printed_to(lambda console: render_terminal(chapters, console, full=full), width, terminal=terminal)


@pytest.mark.slow
def test_no_line_is_wider_than_the_console_or_100_columns(make_run: MakeRun) -> None:
    long_name = make_run(system="kg" * 30, types=SMALL, sessions=())
    runs = [make_run(sessions=()), make_run(answer={"top_k": 4}, sessions=(), missing=2), long_name]
    for width in (60, 100, 200):
        text = shown(*runs, width=width)
        # Commands and paths are not broken.
        lines = [line for line in text.splitlines() if not line.startswith("next: ")]
        assert max(map(len, lines)) <= min(width, 100)


@pytest.mark.parametrize("n", [1, 2, 6, 20])
def test_the_verdict_takes_at_most_30_lines_of_80_columns(make_run: MakeRun, n: int) -> None:
    runs = [make_run(system=f"system-{number}", sessions=(), failing=number % 3) for number in range(n)]
    lines = shown(*runs, full=False).splitlines()
    assert len(lines) <= 29  # and the path of the page
    assert max(len(line) for line in lines if not line.startswith("next: ")) <= 80
    assert sum(line.startswith("! ") for line in lines) <= 3


def test_different_data_is_said_not_to_be_comparable(make_run: MakeRun) -> None:
    runs = [make_run(types=SMALL, sessions=()), make_run(types=SMALL, digest="e" * 64, sessions=())]
    assert "Do not compare" in shown(*runs, full=False)


def test_the_terminal_shows_the_tables_of_the_files(make_run: MakeRun) -> None:
    runs = [make_run(types=SMALL, sessions=()), make_run(system="kg", types=SMALL, sessions=())]
    (chapter,) = load_chapters(runs, load_prices())
    text = shown(*runs, width=100)
    told = {cell for line in text.splitlines() for cell in re.split(r"\s{2,}", line.strip())}
    for table in chapter.tables():
        if table.name in {"accuracy", "refusals", "query_cost", "index"}:
            assert table.title in text
            assert {format_value(entry) for row in table.rows for entry in row} <= told
    for sentence in (chapter.findings.verdict.headline, *chapter.findings.verdict.sentences):
        assert sentence in " ".join(text.split())


@pytest.mark.slow
def test_matplotlib_is_not_loaded_for_a_terminal() -> None:
    probe = "import sys, harness.report\nprint('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.slow
def test_means_keep_their_populations_where_those_differ(make_run: MakeRun) -> None:
    runs = [make_run(sessions=(), system=f"system {n}") for n in range(5)]
    assert "(n = " not in shown(*runs).split(": measures")[1].split("Cost and time")[0]
    runs[0] = make_run(sessions=(), system="system 0", missing=2)
    assert "(n = 18 of 20)" in shown(*runs).split(": measures")[1].split("Cost and time")[0]


def test_nothing_to_show_is_said(make_run: MakeRun) -> None:
    assert shown() == "No runs to report on.\n"
    unscored = shown(make_run(evaluated=False, types=SMALL, sessions=()))
    assert "Not evaluated" in unscored
