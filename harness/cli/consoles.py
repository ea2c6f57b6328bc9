"""Where the commands print."""

import os
import shlex
import sys

from rich.console import Console

_PIPE_COLUMNS = 120
"""A log or a pipe has no width of its own; rich would break tables at 80."""


def open_console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """A console as wide as the terminal, or wide enough for our tables where there is none."""
    console = Console(stderr=stderr, quiet=quiet, highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _PIPE_COLUMNS
    return console


def same_command() -> str:
    """The command line as it was given, for messages that say how to go on."""
    return shlex.join(["rag-harness", *sys.argv[1:]])
