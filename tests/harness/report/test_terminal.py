"""What stands in the terminal, in 100 columns and fewer."""

import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from report_groups import printed

from harness.display import format_value
from harness.report import load_chapters, render_terminal
from harness.statistics.prices import load_prices
from harness.store import RunDir

MakeRun = Callable[..., RunDir]
SMALL = {"inference_query": 2, "null_query": 1}


def shown(*runs: RunDir, width: int = 100, terminal: bool = False, full: bool = True) -> str:
    chapters = load_chapters(runs, load_prices())
    return printed(lambda console: render_terminal(chapters, console, full=full), width, terminal=terminal)


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
