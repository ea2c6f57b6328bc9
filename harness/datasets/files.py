"""Finding and reading data files: plain or gzip, strictly UTF-8. Everything wrong is one `DataError` line."""

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
from harness.datasets.row_fields import FIX, FileEntry, as_entries, as_entry
from harness.datasets.size_limits import (
    most_bytes,
    refuse_too_long,
    refuse_too_many,
    values_of_json,
    values_of_lines,
)

ENV = "RAG_HARNESS_DATA"


def data_dir() -> Path:
    """The data directory: what RAG_HARNESS_DATA names, else `data` in the current directory.

    A folder that was named but is not there is a `DataError`, so that a typing error never turns into a
    download. The default folder need not exist.
    """
    named = os.environ.get(ENV, "")
    if not named:
        return Path("data")
    folder = Path(named).expanduser()
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise DataError(f"{ENV} names {folder}, which {what}", f"point {ENV} at the data folder, or unset it")
    return folder


def find(relative: str) -> Path | None:
    """The file `relative`, or the same name + `.gz`, in the data directory; None if neither is there."""
    return find_in(data_dir(), relative)


def find_in(folder: Path, relative: str) -> Path | None:
    """The file `relative`, or the same name + `.gz`, in `folder`; the plain one first."""
    for path in (folder / relative, folder / f"{relative}.gz"):
        try:
            if path.is_file():
                return path
        except OSError as error:
            raise DataError(f"{path} cannot be looked up: {error.strerror}", "check its permissions") from error
    return None


def list_folder(relative: str) -> list[Path]:
    """What lies in the folder `relative` of the data directory, sorted; empty if it is not there."""
    folder = data_dir() / relative
    try:
        return sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise DataError(f"{folder} cannot be listed: {error.strerror}", "check its permissions") from error


def read_text(path: Path) -> str:
    """The whole file as text, unpacked if its name ends in `.gz`; a byte order mark is dropped."""
    return _decoded(path)


def _decoded(path: Path, values_of: Callable[[bytes], int] | None = None) -> str:
    try:
        with read_intact(path), open_plain(path) as file:
            data = _unpacked(path, file) if path.suffix == ".gz" else file.read()
        if values_of:
            refuse_too_many(path, values_of(data), len(data))
        # utf-8-sig drops a byte order mark, which some spreadsheets write and no parser expects
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start})", FIX) from error


@contextmanager
def read_intact(path: Path) -> Iterator[None]:
    """What goes wrong while `path` is read and unpacked within is one line."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is not intact gzip ({error})", FIX) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(f"{path} cannot be read: {reason}", "check that it is a file you may read") from error


def _unpacked(path: Path, file: BinaryIO) -> bytes:
    """What gzip packed, as long as it is no more than any text would be."""
    size = os.fstat(file.fileno()).st_size
    with gzip.GzipFile(fileobj=file) as unpacking:
        data = unpacking.read(most_bytes(size) + 1)
    refuse_too_long(path, size, len(data))
    return data


def read_json(path: Path) -> object:
    """The file's one JSON value; NaN and Infinity are refused."""
    return parse_json(_decoded(path, values_of_json), str(path))


def read_json_object(path: Path) -> FileEntry:
    """The JSON object that the file holds."""
    return as_entry(str(path), read_json(path))


def read_json_rows(path: Path) -> list[FileEntry]:
    """The objects of the JSON array that the file holds."""
    return as_entries(str(path), read_json(path))


def iter_jsonl(path: Path) -> Iterator[FileEntry]:
    """The objects of a file with one JSON object a line; blank lines are skipped."""
    # Not splitlines(): it would also split at the U+2028 that a JSON string may hold as it is.
    for number, line in enumerate(_decoded(path, values_of_json).split("\n"), start=1):
        if line.strip():
            where = f"{path} line {number}"
            yield as_entry(where, parse_json(line, where))


def read_csv(path: Path, delimiter: str) -> list[FileEntry]:
    """The rows of a CSV file by the names in its first line; every row must have as many fields as that.

    Carriage returns are dropped first: a lone one inside a field (uda_qa) would break its row in two.
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
    """The rows of a `.json` array, `.jsonl` or `|`-separated `.csv` file, plain or gzip."""
    kind = Path(path.stem if path.suffix == ".gz" else path.name).suffix
    if kind == ".csv":
        return read_csv(path, "|")
    return list(iter_jsonl(path)) if kind == ".jsonl" else read_json_rows(path)


def parse_json(text: str, where: str) -> object:
    """The one JSON value of a text; `where` it was read, for messages. NaN and Infinity are refused."""
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
