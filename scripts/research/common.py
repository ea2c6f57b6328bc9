"""Shared by the research scripts and the benches: command line, tables, number formats, the machine."""

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from harness.core.errors import EXIT_INTERRUPTED, EXIT_USER, HarnessError


def command_line(doc: str | None) -> argparse.ArgumentParser:
    """A parser whose help is the docstring of the script, unchanged, including examples."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


def started(main: Callable[[], None]) -> None:
    """Run a script; a user error ends it with one line and exit code 2, Ctrl-C with one line and 130."""
    try:
        main()
    except HarnessError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(EXIT_USER)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)


def import_from_tests() -> None:
    """Make the helpers in tests (made-up runs, oracles) importable for this process and its children."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))


def machine() -> str:
    """The machine, its load and the time, which measured seconds also depend on."""
    from harness.runner.machine_info import describe_machine

    machine = describe_machine()
    return (
        f"{machine['processor']}, {machine['cores']} cores, load {os.getloadavg()[0]:.1f}, "
        f"Python {machine['python']}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    )


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> None:
    """Print Markdown, each row at once; columns after the first `words` are right-aligned."""
    for cells in (header, [*["--"] * words, *["--:"] * (len(header) - words)]):
        print(f"| {' | '.join(cells)} |")
    for cells in rows:
        print(f"| {' | '.join(cells)} |", flush=True)


def mean(values: Sequence[float]) -> str:
    """`0.770`, or a dash without a value."""
    return f"{statistics.fmean(values):.3f}" if values else "-"


def limits(low: float | None, high: float | None) -> str:
    """The suffix of a mean: ` [0.707, 0.823]`, or nothing without an interval."""
    return "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"
