"""What a person or a log sees of long work."""

import io
import re
import sys

import pytest

from harness.display.text_format import SafeConsole
from harness.runner import progress
from harness.runner.progress import Pace, Reporter


def reporter_into(stream: io.StringIO, *, terminal: bool, quiet: bool = False) -> Reporter:
    reporter = Reporter(quiet=quiet)
    reporter.console = SafeConsole(file=stream, force_terminal=terminal, quiet=quiet, width=100)
    return reporter


def test_a_log_gets_a_plain_line_with_eta_and_cost_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PLAIN_INTERVAL_S", 0.0)
    stream = io.StringIO()
    with reporter_into(stream, terminal=False).bar("naive: answer") as bar:
        for done in (0, 1, 1278):
            bar.update(done, 2556, "$0.4200")
    lines = stream.getvalue().splitlines()
    assert lines[-1].startswith("naive: answer: 1,278/2,556, about 0 s to go, $0.4200")
    assert "\x1b" not in stream.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_what_does_not_fit_a_narrow_terminal_is_left_out_and_never_cut(width: int) -> None:
    stream, note = io.StringIO(), "$0.1234 of $20.00, 1,234,567 of 5,000,000 tokens"
    reporter = reporter_into(stream, terminal=True)
    reporter.console.width = width
    with reporter.bar("answer, 12 systems in turns") as bar:
        for done in (0, 1, 5):
            bar.update(done, 2556, note)
    shown = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", stream.getvalue())
    last = [line.rstrip() for line in re.split(r"[\r\n]", shown) if "5/2,556" in line][-1]
    assert len(last) <= width
    assert re.search(r"5/2,556 .*\d+ \w+ to go", last), "a bar with the time that is left"
    assert "…" not in last
    assert (note in last) == (width == 120)


def test_a_long_line_is_wrapped_at_words_on_a_terminal_only_and_commands_stay_whole() -> None:
    words, command = "some words " * 20, f"next: rag-harness compare {'run-' * 30}"
    for terminal in (True, False):
        stream = io.StringIO()
        reporter = reporter_into(stream, terminal=terminal)
        reporter.say(words)
        reporter.say(command)
        lines = [line.rstrip() for line in stream.getvalue().splitlines()]
        assert lines[-1] == command
        assert " ".join(lines[:-1]) == words.rstrip()
        assert (len(lines) > 2) == terminal


def test_the_time_left_is_that_of_the_pace_after_the_first_unit_and_ends_with_the_budget() -> None:
    now = 0.0
    pace = Pace(lambda: now)
    shown = []
    for now, done in ((0, 40), (90, 41), (100, 42), (110, 43), (120, 44), (640, 96)):  # noqa: B007 - the clock
        shown.append(pace.time_left(done, 140))
    # A minute and a half of loading a model is no pace; 40 answers were there before.
    assert shown == ["", "", "", "16 min", "16 min", "7 min"]
    assert pace.time_left(97, 140, most_s=65.0) == "1 min"
    assert pace.time_left(140, 140) == ""
    assert Pace(lambda: now).time_left(10, 100) == ""
    # The next part of the work counts from its own start.
    again = []
    for now, done in ((700, 0), (710, 1), (720, 2), (730, 3)):  # noqa: B007 - the clock
        again.append(pace.time_left(done, 13))
    assert again == ["", "", "", "2 min"]


def test_bars_of_work_side_by_side_stand_below_each_other_and_go_one_by_one() -> None:
    stream = io.StringIO()
    reporter = reporter_into(stream, terminal=True)
    with reporter.bar("naive: answer") as one:
        with reporter.bar("kg: index") as other:
            one.update(5, 10, "$0.0100")
            other.update(1, 4)
            reporter.say("a line between")
        one.update(6, 10)
    shown = stream.getvalue()
    for part in ("naive: answer", "kg: index", "a line between"):
        assert part in shown
    with reporter.bar("again") as bar:
        bar.update(1, 1)
    assert "again" in stream.getvalue()


def test_the_terminal_is_left_to_the_bar_of_another_library_for_a_while() -> None:
    reporter, terminal = reporter_into(io.StringIO(), terminal=True), sys.stderr
    with reporter.bar("evaluate: kg"):
        # What is written here while our bar is shown is printed above it, line by line.
        assert sys.stderr is not terminal
        with reporter.aside():
            assert sys.stderr is terminal
            with reporter.bar("fetching"), reporter.aside():
                assert sys.stderr is terminal
        assert sys.stderr is not terminal
    with reporter.aside():
        assert sys.stderr is terminal
    # No bar came back that was closed long ago.
    assert sys.stderr is terminal


def test_quiet_says_only_what_was_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PLAIN_INTERVAL_S", 0.0)
    stream = io.StringIO()
    reporter = reporter_into(stream, terminal=False, quiet=True)
    with reporter.bar("work") as bar:
        bar.update(1, 2)
    reporter.warn("the run is open again")
    reporter.say("1/2")
    assert stream.getvalue() == "the run is open again\n"
