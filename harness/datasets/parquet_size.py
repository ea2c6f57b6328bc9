"""Measures the unpacked size of a Parquet file, batch by batch, in a process with a memory limit.

`python -m harness.datasets.parquet_size FILE` exits with 0, or with 2 and the reason on standard output.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.errors import EXIT_USER, DataError
from harness.datasets.decompression_limits import ROW_WEIGHS, refuse_too_long, refuse_too_many

if TYPE_CHECKING:
    import pyarrow

_MOST_MEMORY = 400_000_000
"""Memory limit of this process in bytes. On systems that do not enforce it, only the counting limits the size."""
_ROWS = 256
"""Small batches, so that a long repeated value is counted before it fills the memory."""


def measure(path: Path) -> None:
    """Raise DataError if the file unpacks to more than allowed, by its metadata or by its content."""
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
    """Measure the file named on the command line; returns the exit code."""
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
