"""Where the commands print."""

import os
import shlex
import sys
from types import TracebackType
from typing import TYPE_CHECKING

from harness.core.process_environment import usage_data_wanted
from harness.core.sanitize import cleaned

if TYPE_CHECKING:
    from harness.display.safe_console import SafeConsole

_PIPE_COLUMNS = 120
"""A log or a pipe has no width of its own; rich would break tables at 80."""


def open_console(*, stderr: bool = False, quiet: bool = False) -> "SafeConsole":
    """A console as wide as the terminal, or wide enough for our tables where there is none."""
    from harness.display.safe_console import SafeConsole

    console = SafeConsole(stderr=stderr, quiet=quiet)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _PIPE_COLUMNS
    return console


def same_command() -> str:
    """The command line as it was given, for messages that say how to go on."""
    return shlex.join(["rag-harness", *sys.argv[1:]])


def show_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """The traceback of what nobody expected, as every other line: for `sys.excepthook`."""
    import traceback

    complain("".join(traceback.format_exception(kind, error, trace)).rstrip())


def complain(line: str) -> None:
    """One line on standard error, whoever asked to be quiet; what it quotes steers no terminal."""
    sys.stderr.write(cleaned(line) + "\n")


def note_usage_data() -> None:
    """One line where the user's environment lets libraries send usage data or traces."""
    if wanted := usage_data_wanted():
        from harness.cli.subprocess_guard import ENV

        # The process that started this one has said it.
        if ENV not in os.environ:
            complain(f"note: your environment lets libraries send usage data or traces: {', '.join(wanted)}")
