"""Finds and reads data files, plain or gzip, in UTF-8. Every problem is a `DataError` of one line."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NoReturn

from harness.core.bounded_files import open_plain
from harness.core.errors import DataError
from harness.datasets.decompression_limits import (
    most_bytes,
    refuse_too_long,
    refuse_too_many,
    values_of_json,
    values_of_lines,
)
from harness.datasets.row_fields import FIX, FileEntry, as_entries, as_entry

ENV = "RAG_HARNESS_DATA"


def data_dir() -> Path:
    """The data directory: RAG_HARNESS_DATA, or `data` in the current directory.

    DataError if RAG_HARNESS_DATA names a folder that does not exist, so that a typing error never causes a
    download. The default folder need not exist.
    """
    named = os.environ.get(ENV, "")
    if not named:
        return Path("data")
    folder = Path(named).expanduser()
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise DataError(f"{ENV} is set to {folder}, which {what}", f"set {ENV} to the data folder, or unset it")
    return folder


def find(relative: str) -> Path | None:
    """The file `relative` or `relative`.gz in the data directory; None if neither exists."""
    return find_in(data_dir(), relative)


def find_in(folder: Path, relative: str) -> Path | None:
    """The file `relative` or `relative`.gz in `folder`, the plain one first; None if neither exists."""
    for path in (folder / relative, folder / f"{relative}.gz"):
        try:
            if path.is_file():
                return path
        except OSError as error:
            raise DataError(f"{path} cannot be accessed: {error.strerror}", "check its permissions") from error
    return None


def list_folder(relative: str) -> list[Path]:
    """The content of the folder `relative` of the data directory, sorted; empty if the folder does not exist."""
    folder = data_dir() / relative
    try:
        return sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise DataError(f"{folder} cannot be listed: {error.strerror}", "check its permissions") from error


def read_text(path: Path) -> str:
    """The whole file as text, decompressed if its name ends in `.gz`, without a byte order mark."""
    return _decoded(path)


def _decoded(path: Path, values_of: Callable[[bytes], int] | None = None) -> str:
    try:
        with read_intact(path), open_plain(path) as file:
            data = _unpacked(path, file) if path.suffix == ".gz" else file.read()
        if values_of:
            refuse_too_many(path, values_of(data), len(data))
        # utf-8-sig drops a byte order mark, which some spreadsheets write and parsers do not expect.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start})", FIX) from error


@contextmanager
def read_intact(path: Path) -> Iterator[None]:
    """Turn errors of reading or decompressing `path` within the block into a DataError."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is not intact gzip ({error})", FIX) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(
            f"{path} cannot be read: {reason}", "check that it is a file and its permissions"
        ) from error


def _unpacked(path: Path, file: BinaryIO) -> bytes:
    """Decompress a gzip file, up to the size limit."""
    size = os.fstat(file.fileno()).st_size
    with gzip.GzipFile(fileobj=file) as unpacking:
        data = unpacking.read(most_bytes(size) + 1)
    refuse_too_long(path, size, len(data))
    return data


def read_json(path: Path) -> object:
    """The file's single JSON value; NaN and Infinity are rejected."""
    return parse_json(_decoded(path, values_of_json), str(path))


def read_json_object(path: Path) -> FileEntry:
    """The JSON object in the file."""
    return as_entry(str(path), read_json(path))


def read_json_rows(path: Path) -> list[FileEntry]:
    """The objects of the JSON array in the file."""
    return as_entries(str(path), read_json(path))


def iter_jsonl(path: Path) -> Iterator[FileEntry]:
    """The objects of a file with one JSON object per line; blank lines are skipped."""
    # Not splitlines(): it would also split at U+2028, which a JSON string may contain unescaped.
    for number, line in enumerate(_decoded(path, values_of_json).split("\n"), start=1):
        if line.strip():
            where = f"{path} line {number}"
            yield as_entry(where, parse_json(line, where))


def read_csv(path: Path, delimiter: str) -> list[FileEntry]:
    """Rows of a CSV file by the column names in its first line. Every row must have the same number of fields.

    Carriage returns are dropped first, because a single one inside a field (uda_qa) would split the row.
    """
    text = _decoded(path, values_of_lines).replace("\r", "")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[FileEntry] = []
    try:
        names = next(reader, None)
        if not names:
            raise DataError(f"{path} has no header line", FIX)
        for cells in filter(None, reader):
            where = f"{path} line {reader.line_num}"
            if len(cells) != len(names):
                raise DataError(f"{where} has {len(cells)} fields, the header has {len(names)}", FIX)
            rows.append(FileEntry(where, dict(zip(names, cells, strict=True))))
    except csv.Error as error:
        raise DataError(f"{path} line {reader.line_num} is not CSV ({error})", FIX) from error
    return rows


def read_rows(path: Path) -> list[FileEntry]:
    """Rows of a `.json` array, `.jsonl` or `|`-separated `.csv` file, plain or gzip."""
    kind = Path(path.stem if path.suffix == ".gz" else path.name).suffix
    if kind == ".csv":
        return read_csv(path, "|")
    return list(iter_jsonl(path)) if kind == ".jsonl" else read_json_rows(path)


def parse_json(text: str, where: str) -> object:
    """The single JSON value of a text; `where` names its source in messages. NaN and Infinity are rejected."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise DataError(f"{where} is truncated or not JSON ({error.msg} at {place})", FIX) from error
    except RecursionError as error:
        raise DataError(f"{where} is nested too deeply", FIX) from error
    except ValueError as error:
        raise DataError(f"{where} is not valid JSON ({error})", FIX) from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
