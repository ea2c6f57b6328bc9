"""Size limits of data files: a few bytes can expand to gigabytes, by compression or as millions of tiny values.

`python -m harness.datasets.decompression_limits FILE` measures the unpacked size of a Parquet file, batch by
batch, in a process with a memory limit. It exits with 0, or with 2 and the reason on standard output.
"""

from __future__ import annotations

import codecs
import gzip
import os
import resource
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.bounded_files import open_plain
from harness.core.errors import EXIT_USER, DataError
from harness.core.process_environment import python_command, python_environment
from harness.datasets.row_fields import FIX

if TYPE_CHECKING:
    import pyarrow

ROW_WEIGHS = 8
"""Weight of a row, counted in values of about 50 bytes: field names, position and object."""
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"
_BEFORE_JSON = b"\xef\xbb\xbf \t\r\n"


def most_unpacked(file_bytes: int) -> int:
    """A compressed text may expand a hundredfold; ours expand by a factor of 3 to 10."""
    return max(64_000_000, 100 * file_bytes)


def most_values(text_bytes: int) -> int:
    """Largest number of values in so many unpacked bytes; a row counts as `ROW_WEIGHS` values."""
    return 4_000_000 + text_bytes // 16


def refuse_too_many(path: Path, values: int, text_bytes: int, fix: str = FIX) -> None:
    if values > most_values(text_bytes):
        what = f"{path} contains {values:,} values and rows in {text_bytes:,} bytes, too many to be data"
        raise DataError(what, fix)


def refuse_too_long(path: Path, file_bytes: int, unpacked: int) -> None:
    if unpacked > (most := most_unpacked(file_bytes)):
        raise DataError(f"{path} unpacks to more than {most:,} bytes (the file has {file_bytes:,} bytes)", FIX)


def values_of_json(text: bytes) -> int:
    """Approximate number of values in a JSON text, counted without parsing; an object counts as `ROW_WEIGHS`."""
    return text.count(b"[") + text.count(b",") + ROW_WEIGHS * text.count(b"{")


def _values_of_lines(text: bytes) -> int:
    """As `values_of_json`, in lines of cells; a line counts as `ROW_WEIGHS`."""
    return sum(map(text.count, (b"|", b",", b"\t"))) + ROW_WEIGHS * text.count(b"\n")


def value_counter(start: bytes) -> Callable[[bytes], int]:
    """What counts the values of a text that begins so: JSON, or lines of cells."""
    return values_of_json if start.lstrip(_BEFORE_JSON)[:1] in {b"[", b"{"} else _values_of_lines


@contextmanager
def read_intact(
    path: Path, again: str = FIX, unreadable: str = "check that it is a file and its permissions"
) -> Iterator[None]:
    """Turn errors of reading or unpacking `path` within the block into a DataError; the ways out: `again` for a
    damaged file, `unreadable` for one that cannot be read.
    """
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is not intact gzip ({error})", again) from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}", unreadable) from error


def check_foreign(path: Path) -> None:
    """Raise DataError unless a library may read the file: text, gzip or Parquet, within the size limits. The
    unpacked size of other compressed formats is unknown before unpacking.
    """
    with read_intact(path):
        with open_plain(path) as file:
            start = file.read(len(_PARQUET))
        if start != _PARQUET:
            _check_text(path, packed=start.startswith(_GZIP))
            return
        # In a child process: pages may be longer than declared, and are unpacked before they can be counted.
        done = subprocess.run(
            python_command("harness.datasets.decompression_limits", str(path)),
            env=python_environment(ARROW_DEFAULT_MEMORY_POOL="system"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    if done.returncode:
        raise DataError(done.stdout.strip()[:500] or f"{path} could not be read within the size limits", FIX)


def _check_text(path: Path, *, packed: bool) -> None:
    values = length = 0
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        text = gzip.GzipFile(fileobj=file) if packed else file
        count: Callable[[bytes], int] = values_of_json
        while block := text.read(1 << 20):
            if not length:
                try:
                    start = codecs.getincrementaldecoder("utf-8")().decode(block)
                except UnicodeDecodeError:
                    start = "\0"
                if "\0" in start:
                    raise DataError(f"{path} is neither text (JSON, CSV), gzip nor Parquet", FIX)
                count = value_counter(block)
            length += len(block)
            values += count(block)
            if packed:
                refuse_too_long(path, size, length)
    refuse_too_many(path, values, length)


_MOST_MEMORY = 400_000_000
"""Memory limit of this process in bytes. On systems that do not enforce it, only the counting limits the size."""
_ROWS = 256
"""Small batches, so that a long repeated value is counted before it fills the memory."""


def measure(path: Path) -> None:
    import pyarrow.parquet

    size = path.stat().st_size
    with pyarrow.parquet.ParquetFile(path, buffer_size=1 << 16, pre_buffer=False) as file:
        said = file.metadata
        refuse_too_long(path, size, sum(said.row_group(n).total_byte_size for n in range(said.num_row_groups)))
        length = values = 0
        for batch in file.iter_batches(batch_size=_ROWS, use_threads=False):
            values += ROW_WEIGHS * batch.num_rows
            for column in batch.columns:
                more_bytes, more_values = _size(column)
                length, values = length + more_bytes, values + more_values
            refuse_too_long(path, size, length)
            refuse_too_many(path, values, length)


def _size(array: pyarrow.Array) -> tuple[int, int]:
    """Bytes and number of values of a column, including nested values; repeated values count every time."""
    import pyarrow
    import pyarrow.types as kinds

    kind = array.type
    if kinds.is_dictionary(kind):
        return _size(array.dictionary_decode())
    if kinds.is_string_view(kind) or kinds.is_binary_view(kind):
        return _size(array.cast(pyarrow.large_binary()))
    if kinds.is_struct(kind):
        parts = [_size(part) for part in array.flatten()]
    elif kinds.is_map(kind):
        parts = [_size(array.keys), _size(array.items)]
    elif kinds.is_nested(kind):
        parts = [_size(array.flatten())]
    else:
        return array.nbytes, len(array)
    return sum(length for length, _ in parts), len(array) + sum(values for _, values in parts)


def main() -> int:
    import pyarrow

    path = Path(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    try:
        measure(path)
    except DataError as error:
        reason = error.what
    except MemoryError:
        reason = f"{path} takes more than {_MOST_MEMORY:,} bytes of memory to read"
    except (pyarrow.ArrowException, OSError) as error:
        reason = f"{path} is not intact Parquet ({type(error).__name__}: {' '.join(str(error).split())})"
    else:
        return 0
    sys.stdout.write(reason)
    return EXIT_USER


if __name__ == "__main__":
    sys.exit(main())
