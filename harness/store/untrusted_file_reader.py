"""Opens untrusted files of a run directory: never waits for a pipe, limits the size of lines and JSON files."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from harness.core.bounded_files import open_plain
from harness.core.errors import StoreError, explained_io

LONGEST_LINE = 1 << 28
"""In bytes; a document, or an answer with its contexts, is far shorter."""
LARGEST_OBJECT = 1 << 26
"""Largest JSON file in bytes."""


@contextmanager
def opened(path: Path, fix: str) -> Iterator[BinaryIO]:
    """Open a file for reading; StoreError with `fix` if it is not a regular file or unreadable."""
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
    """Lines with line breaks, which the last may lack; StoreError with `fix` for a line that is too long."""
    with opened(path, fix) as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
            if len(line) > LONGEST_LINE:
                raise too_long(path, number, fix)
            yield line


def text(path: Path, fix: str) -> str:
    """The text of a small file, with invalid UTF-8 replaced; StoreError with `fix` if it is too large."""
    with opened(path, fix) as file:
        # Read only the actual size: reading LARGEST_OBJECT would allocate that much memory.
        content = file.read(min(os.fstat(file.fileno()).st_size, LARGEST_OBJECT) + 1)
    if len(content) > LARGEST_OBJECT:
        raise StoreError(f"{path} is longer than {LARGEST_OBJECT:,} bytes", fix)
    return content.decode("utf-8", errors="replace")


def too_long(path: Path, number: int, fix: str) -> StoreError:
    """The error for a line that is too long."""
    return StoreError(f"{path} line {number} is longer than {LONGEST_LINE:,} bytes", fix)
