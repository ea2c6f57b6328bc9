"""What every command needs of its process before it starts: standard streams, names in UTF-8, a home folder."""

import io
import os
import resource
import sys
from pathlib import Path
from typing import Any, TextIO

from harness.core.errors import ConfigError, StoreError, refusal_of_system

_STDOUT, _STDERR = 1, 2
_LEAST_FILES = 64
"""With fewer, libraries abort where they cannot open one."""


def prepare_process() -> None:
    """Make the streams usable and refuse names that are not UTF-8. ConfigError before anything is done or paid."""
    _prepare_streams()
    try:
        Path.home()
    except RuntimeError:
        # A container may run with any uid. Libraries ask for the home folder while they are imported; a cache that
        # has no place is one line when it is needed.
        os.environ["HOME"] = "/nonexistent"
    _check_names()
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed < _LEAST_FILES:
        raise ConfigError(f"only {allowed} files may be open at once", "raise the limit: ulimit -n 256")


class _Output(io.FileIO):
    """Standard output or error, which may be lost while a command works.

    Where nobody reads the output any more (`| head -1`), the command ends without a word. Where it cannot be
    written, that is a StoreError. Without standard error the work goes on: nobody could be told.
    """

    def write(self, content: Any, /) -> int:
        """See `io.RawIOBase.write`."""
        try:
            return super().write(content)
        except OSError as error:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())  # What is written later, also at exit, does not fail again.
            os.close(null)
            if self.fileno() == _STDERR:
                return len(content)
            if isinstance(error, BrokenPipeError):
                raise SystemExit(0) from error
            reason = refusal_of_system(error) or f"{error.strerror}: send it elsewhere"
            raise StoreError("cannot write the standard output", str(reason)) from error


def _prepare_streams() -> None:
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # It was closed (`>&-`): the next file that is opened, such as a database, would get its number and
            # everything that is printed.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")
    # Tests, and programs that call `main`, may have streams of their own.
    if sys.stdout is sys.__stdout__:
        sys.stdout = _losable(sys.stdout, _STDOUT)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _losable(sys.stderr, _STDERR)


def _losable(stream: TextIO | None, number: int) -> TextIO:
    raw = _Output(number, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding if stream else "utf-8",
        errors="backslashreplace",  # A locale without UTF-8 has no letter for much of what is printed.
        line_buffering=number == _STDERR or raw.isatty(),
    )


def _check_names() -> None:
    """Other processes, and files in JSON, have to name what the command line and the current folder name."""
    try:
        folder = os.getcwd()  # noqa: PTH109 - a text
    except OSError:  # It was deleted; a command that needs it says so.
        folder = ""
    for name in (*sys.argv[1:], folder):
        if any("\ud800" <= char <= "\udfff" for char in name):
            raise ConfigError(f"'{name}' is not UTF-8 text", "rename it; if it is UTF-8, set LANG=C.UTF-8")
