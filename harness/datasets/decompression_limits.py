"""Size limits of data files: a few bytes can expand to gigabytes, by compression or as millions of tiny values."""

import codecs
import gzip
import os
import subprocess
import zlib
from pathlib import Path

from harness.core.bounded_files import open_plain
from harness.core.errors import DataError
from harness.core.process_environment import python_command, python_environment
from harness.datasets.row_fields import FIX

_ALWAYS_BYTES = 64_000_000
_MOST_TIMES = 100
"""Largest expansion of a compressed text; ours expand by a factor of 3 to 10."""
_ALWAYS_VALUES = 4_000_000
_BYTES_A_VALUE = 16
ROW_WEIGHS = 8
"""Weight of a row, counted in values of about 50 bytes: field names, position and object."""
_BLOCK = 1 << 20
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"
_BEFORE_JSON = b"\xef\xbb\xbf \t\r\n"


def most_bytes(file_bytes: int) -> int:
    """Largest unpacked size in bytes for a file of this size."""
    return max(_ALWAYS_BYTES, _MOST_TIMES * file_bytes)


def most_values(text_bytes: int) -> int:
    """Largest number of values in so many unpacked bytes; a row counts as `ROW_WEIGHS` values."""
    return _ALWAYS_VALUES + text_bytes // _BYTES_A_VALUE


def refuse_too_many(path: Path, values: int, text_bytes: int) -> None:
    """Raise DataError for more than `most_values`, because a value needs far more memory than its bytes here."""
    if values > most_values(text_bytes):
        raise DataError(
            f"{path} contains {values:,} values and rows in {text_bytes:,} bytes, too many to be data", FIX
        )


def refuse_too_long(path: Path, file_bytes: int, unpacked: int) -> None:
    """Raise DataError for more than `most_bytes`."""
    if unpacked > (most := most_bytes(file_bytes)):
        raise DataError(f"{path} unpacks to more than {most:,} bytes (the file has {file_bytes:,} bytes)", FIX)


def values_of_json(text: bytes) -> int:
    """Approximate number of values in a JSON text, counted without parsing; an object counts as `ROW_WEIGHS`."""
    return text.count(b"[") + text.count(b",") + ROW_WEIGHS * text.count(b"{")


def values_of_lines(text: bytes) -> int:
    """Approximate number of values in lines of cells; a line counts as `ROW_WEIGHS`."""
    return sum(map(text.count, (b"|", b",", b"\t"))) + ROW_WEIGHS * text.count(b"\n")


def check_foreign(path: Path) -> None:
    """Raise DataError unless a library may read the file: text, gzip or Parquet, within the size limits.

    Other compressed formats are rejected, because their unpacked size is unknown before unpacking.
    """
    try:
        with open_plain(path) as file:
            start = file.read(len(_PARQUET))
        if start == _PARQUET:
            _check_parquet(path)
        else:
            _check_text(path, packed=start.startswith(_GZIP))
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is not intact gzip ({error})", FIX) from error
    except OSError as error:
        raise DataError(
            f"{path} cannot be read: {error.strerror}", "check that it is a file and its permissions"
        ) from error


def _check_text(path: Path, *, packed: bool) -> None:
    values = length = 0
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        text = gzip.GzipFile(fileobj=file) if packed else file
        count = values_of_lines
        while block := text.read(_BLOCK):
            if not length:
                _refuse_binary(path, block)
                count = values_of_json if block.lstrip(_BEFORE_JSON)[:1] in {b"[", b"{"} else values_of_lines
            length += len(block)
            values += count(block)
            if packed:
                refuse_too_long(path, size, length)
    refuse_too_many(path, values, length)


def _refuse_binary(path: Path, start: bytes) -> None:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        binary = True
    else:
        binary = b"\0" in start
    if binary:
        raise DataError(f"{path} is neither text (JSON, CSV), gzip nor Parquet", FIX)


def _check_parquet(path: Path) -> None:
    # In a child process: pages may be longer than declared, and are unpacked before they can be counted.
    done = subprocess.run(
        python_command("harness.datasets.parquet_size", str(path)),
        env=python_environment(ARROW_DEFAULT_MEMORY_POOL="system"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise DataError(done.stdout.strip()[:500] or f"{path} could not be read within the size limits", FIX)
