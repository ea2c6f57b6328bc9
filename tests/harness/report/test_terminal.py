"""What stands in the terminal, in 100 columns and fewer."""

import io
from collections.abc import Callable

from rich.console import Console

from harness.records import Failure
from harness.report import render_terminal
from harness.store import RunDir

MakeRun = Callable[..., RunDir]
SMALL = {"inference_query": 2, "null_query": 1}


def shown(*runs: RunDir, width: int = 100, terminal: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=None)
    render_terminal(runs, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_no_line_is_wider_than_the_console_or_100_columns(make_run: MakeRun) -> None:
    long_name = make_run(system="kg" * 30, types=SMALL, sessions=())
    runs = [make_run(sessions=()), make_run(answer={"top_k": 4}, sessions=(), missing=2), long_name]
    for width in (60, 100, 200):
        text = shown(*runs, width=width)
        assert max(len(line) for line in text.splitlines()) <= min(width, 100)


def test_every_number_of_a_run_is_there(make_run: MakeRun) -> None:
    text = shown(make_run(sessions=(), right=dict.fromkeys(("null_query", "inference_query"), 1.0), types=SMALL))
    for expected in ("naive", "100.0 [43.9, 100.0]", "inference", "null", "halluc.", "2,208", "42.5", "0.000335"):
        assert expected in text


def test_failures_and_gaps_are_said_in_so_many_words(make_run: MakeRun) -> None:
    text = " ".join(shown(make_run(failing=2, missing=3, sessions=())).split())
    assert "! naive: Unfinished: 3 of 20 answers are missing." in text
    assert "! naive: Failed: 2 of 20 answers (ValueError 2)" in text


def test_different_data_is_said_not_to_be_comparable(make_run: MakeRun) -> None:
    runs = [make_run(types=SMALL, sessions=()), make_run(types=SMALL, digest="e" * 64, sessions=())]
    assert "do not compare across these tables" in shown(*runs)


def test_more_types_than_fit_are_counted(make_run: MakeRun) -> None:
    text = shown(make_run(types={f"type number {n}": 1 for n in range(9)}, sessions=()))
    assert "4 more query types in the report's files" in text


def test_types_that_do_not_fit_beside_the_rest_get_their_own_table(make_run: MakeRun) -> None:
    run = make_run(sessions=())
    assert "by type, %" not in shown(run, width=100)
    narrow = shown(run, width=80)
    assert "by type, %" in narrow
    for heading in ("comparison", "inference", "temporal", "halluc.", "abst.", "overall [95 % CI]"):
        assert heading in narrow


def test_nothing_to_show_is_said(make_run: MakeRun) -> None:
    assert shown() == "No runs to report on.\n"
    unscored = shown(make_run(evaluated=False, types=SMALL, sessions=()))
    assert "Not evaluated" in unscored


def test_markup_and_control_characters_of_names_and_errors_are_only_text(make_run: MakeRun) -> None:
    evil = "[bold red]x[/] [link=http://a]\x1b]0;owned\x07 \x1b[2J"
    run = make_run(
        system=evil,
        types={f"{evil}_query": 2, "null_query": 1},
        failing=1,
        failure=Failure(kind=evil, message=evil),
        sessions=(),
    )
    text = shown(run, terminal=True)
    assert "[bold red]x[/]" in " ".join(text.split())
    assert "\x1b]0" not in text
    assert "\x1b[2J" not in text
    assert "\x07" not in text
