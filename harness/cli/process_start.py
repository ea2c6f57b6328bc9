"""The frame of every command: what must be ready before it, and exit codes for its errors."""

import io
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from harness.cli.console import complain, show_bug
from harness.core.errors import (
    EXIT_INTERRUPTED,
    EXIT_USER,
    ConfigError,
    HarnessError,
    RunInterrupted,
    StoreError,
    refusal_of_system,
)

_STDOUT, _STDERR = 1, 2


@contextmanager
def errors_as_exit_codes() -> Iterator[None]:
    """Prepare the process for a command, and turn the command's errors into one line and an exit code."""
    sys.excepthook = show_bug
    # For processes that libraries start; our own processes get it explicitly.
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        _prepare_process()
        try:
            yield
        finally:
            sys.stdout.flush()  # Report a write error here, not at interpreter exit.
    except (HarnessError, OSError, MemoryError) as error:
        refusal = error if isinstance(error, HarnessError) else refusal_of_system(error)
        if refusal is None:
            raise
        complain(f"error: {refusal}")
        sys.exit(EXIT_USER)
    except (RunInterrupted, KeyboardInterrupt) as interrupted:
        complain(str(interrupted) or "interrupted")
        sys.exit(EXIT_INTERRUPTED)


def _prepare_process() -> None:
    """Make the streams usable and check the environment. Raises ConfigError before anything is done or paid."""
    _prepare_streams()
    try:
        Path.home()
    except RuntimeError:
        # A container may run under a uid without a home folder, which libraries look up while they are imported.
        # A missing cache folder is reported when it is needed.
        os.environ["HOME"] = "/nonexistent"
    try:
        folder = os.getcwd()  # noqa: PTH109 - a text
    except OSError:  # It was deleted; a command that needs it reports that.
        folder = ""
    for name in (*sys.argv[1:], folder):
        # JSON files and child processes cannot represent it.
        if any("\ud800" <= char <= "\udfff" for char in name):
            raise ConfigError(f"'{name}' is not UTF-8 text", "rename it; if it is UTF-8, set LANG=C.UTF-8")
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed < 64:  # With fewer, some libraries abort.
        raise ConfigError(f"only {allowed} files can be open at once", "raise the limit: ulimit -n 256")


class _Output(io.FileIO):
    """Standard output or error that survives a failing write.

    A closed pipe (`| head -1`) ends the command silently with exit code 0. Another write error on standard output
    is a StoreError; on standard error it is ignored, because there is nowhere to report it.
    """

    def write(self, content: Any, /) -> int:
        try:
            return super().write(content)
        except OSError as error:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())  # Later writes, also at exit, succeed.
            os.close(null)
            if self.fileno() == _STDERR:
                return len(content)
            if isinstance(error, BrokenPipeError):
                raise SystemExit(0) from error
            reason = refusal_of_system(error) or f"{error.strerror}: redirect it elsewhere"
            raise StoreError("cannot write the standard output", str(reason)) from error


def _prepare_streams() -> None:
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # It was closed (`>&-`). The next opened file, such as a database, would get this descriptor and
            # with it all printed output.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")
    # Tests, and programs that call `main`, may have replaced the streams.
    if sys.stdout is sys.__stdout__:
        sys.stdout = _losable(sys.stdout, _STDOUT)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _losable(sys.stderr, _STDERR)


def _losable(stream: TextIO | None, number: int) -> TextIO:
    raw = _Output(number, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding if stream else "utf-8",
        errors="backslashreplace",  # A locale without UTF-8 cannot encode everything.
        line_buffering=number == _STDERR or raw.isatty(),
    )
