"""The one door for what is read of a run directory: it may be somebody else's, so that a pipe in it is not waited
for, and no line and no object of it fills the memory.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from harness.core.bounded_files import open_plain
from harness.core.errors import StoreError, explained_io

LONGEST_LINE = 1 << 28
"""Bytes; a document or an answer with its contexts is far shorter."""
LARGEST_OBJECT = 1 << 26
"""Bytes of a JSON file."""


@contextmanager
def opened(path: Path, fix: str) -> Iterator[BinaryIO]:
    """The file while it is read; what is no file is a `StoreError` line with `fix`, as is what cannot be read."""
    with explained_io("read", path):
        try:
            file = open_plain(path)
        except OSError as error:
            if error.errno == errno.EINVAL:
                raise StoreError(f"{path} is {error.strerror}", fix) from error
            raise
        with file:
            yield file


def lines(path: Path, fix: str) -> Iterator[bytes]:
    """Its lines with their ends, which the last may lack; one that is too long is a `StoreError` with `fix`."""
    with opened(path, fix) as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
            if len(line) > LONGEST_LINE:
                raise too_long(path, number, fix)
            yield line


def text(path: Path, fix: str) -> str:
    """All of a small file, as far as it is UTF-8; one that is not small is a `StoreError` with `fix`."""
    with opened(path, fix) as file:
        # As much as it holds: room for the most that it may hold would be taken at once.
        content = file.read(min(os.fstat(file.fileno()).st_size, LARGEST_OBJECT) + 1)
    if len(content) > LARGEST_OBJECT:
        raise StoreError(f"{path} is longer than {LARGEST_OBJECT:,} bytes", fix)
    return content.decode("utf-8", errors="replace")


def too_long(path: Path, number: int, fix: str) -> StoreError:
    """Of the line `number`."""
    return StoreError(f"{path} line {number} is longer than {LONGEST_LINE:,} bytes", fix)
