"""The log of a worker: the output of it, its libraries and its child processes."""

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from harness.core.bounded_files import open_to_append
from harness.core.errors import explained_io
from harness.core.sanitize import cleaned

_LONGEST_LINE = 1 << 20
"""Bytes; a longer one is written in parts."""
_LAST_WORDS_S = 2.0
"""Longest wait for the end of the pipe: a process that a system left behind may keep it open."""


class CleanedLog:
    """Copies what is written to `fd` to a file, line by line, without keys and control characters."""

    def __init__(self, path: Path) -> None:
        with explained_io("write", path):
            self._file = open_to_append(path)
        self._read_end, self.fd = os.pipe()
        """`fd` is passed to a child process; here it is closed at the end of the block."""
        self._thread = threading.Thread(target=self._copy, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.fd)
        self._thread.join(_LAST_WORDS_S)

    def _copy(self) -> None:
        pending = b""
        with self._file, os.fdopen(self._read_end, "rb", buffering=0) as pipe:
            while chunk := pipe.read(65536):
                whole, newline, pending = (pending + chunk).rpartition(b"\n")
                self._write(whole + newline)
                if len(pending) > _LONGEST_LINE:
                    self._write(pending)
                    pending = b""
            self._write(pending)

    def _write(self, text: bytes) -> None:
        self._file.write(cleaned(text.decode(errors="replace")).encode())
        self._file.flush()
