"""Consoles and lines for standard output and standard error."""

import os
import shlex
import shutil
import sys
import textwrap
from types import TracebackType
from typing import TYPE_CHECKING

from harness.core.process_environment import usage_data_wanted
from harness.core.sanitize import cleaned

if TYPE_CHECKING:
    from harness.display.text_format import SafeConsole


def open_console(*, stderr: bool = False, quiet: bool = False) -> "SafeConsole":
    """A console as wide as the terminal, or 120 columns without one."""
    from harness.display.text_format import SafeConsole

    console = SafeConsole(stderr=stderr, quiet=quiet)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = 120  # Rich would break tables of a log or pipe at 80 columns.
    return console


def same_command() -> str:
    """The current command line, for messages that say how to resume."""
    return shlex.join(["rag-harness", *sys.argv[1:]])


def show_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of an unexpected error, without keys or control characters (for `sys.excepthook`)."""
    import traceback

    complain("".join(traceback.format_exception(kind, error, trace)).rstrip())


def complain(line: str) -> None:
    """Print one line to standard error, even with `--quiet`; keys and control characters are removed."""
    shown = cleaned(line)
    if sys.stderr.isatty() and "\n" not in shown:
        shown = _wrapped(shown, shutil.get_terminal_size().columns)
    sys.stderr.write(shown + "\n")


def _wrapped(line: str, width: int) -> str:
    """The line wrapped at its words. A command at its end stays whole, on a line of its own, to be copied."""
    words, command, rest = line.partition(" rag-harness ")
    lines = textwrap.wrap(words, width, break_long_words=False, break_on_hyphens=False)
    return line if len(line) <= width else "\n".join([*lines, f"{command}{rest}".strip()] if command else lines)


def note_usage_data() -> None:
    """Print a note if the user's environment lets libraries send usage data or traces."""
    if wanted := usage_data_wanted():
        from harness.cli.child_process import ENV

        # A guarded child process does not repeat the note of its parent.
        if ENV not in os.environ:
            complain(f"note: your environment lets libraries send usage data or traces: {', '.join(wanted)}")
