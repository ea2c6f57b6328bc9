"""Finds and reads data files, plain or gzip, in UTF-8, and CSV of any kind. Every problem is a `DataError`."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from harness.core.bounded_files import open_plain
from harness.core.errors import DataError
from harness.datasets.decompression_limits import (
    most_bytes,
    read_intact,
    refuse_too_long,
    refuse_too_many,
    values_of_json,
    values_of_lines,
)
from harness.datasets.row_fields import FIX, FileEntry, as_entries, as_entry

_DELIMITERS = ",;\t|"
_SEPARATOR = re.compile(r'^"?sep=(.|\\t)"?[ ]*\r?\n', re.IGNORECASE)
"""The line by which Excel names the delimiter."""


@dataclass(frozen=True)
class CsvTable:
    delimiter: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    """For each row its place, such as `line 3`, and as many cells as the header has. Blank rows are left out."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns in lower case; empty for a column without a name."""
        return tuple(cell.strip().lower() for cell in self.header)


def read_csv_table(path: Path, text: str, delimiter: str = "") -> CsvTable:
    """Parse the text of `path`, with cells as they are written. `delimiter`: empty to find it out. DataError names
    the first line that is not CSV, or a column that occurs twice.
    """
    separator = None if delimiter else _SEPARATOR.match(text)
    skipped = 1 if separator else 0
    if separator:
        text, delimiter = text[separator.end() :], separator[1].replace("\\t", "\t")
    if not delimiter:  # The one that splits the first line into most cells.
        first = text.lstrip("\r\n").partition("\n")[0].partition("\r")[0]
        delimiter = max(_DELIMITERS, key=lambda mark: len(next(csv.reader([first], delimiter=mark), [])))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begun = 1
    rows: list[tuple[str, tuple[str, ...]]] = []
    usual = csv.field_size_limit(16_000_000)
    try:
        header = next(reader, [])
        for name, n in Counter(cell.strip().lower() for cell in header if cell.strip()).items():
            if n > 1:
                fix = "number further ones: quote, quote_2; for answers write 24|24 days"
                raise DataError(f"{path} has two columns '{name}'", fix)
        begun = reader.line_num + 1
        for cells in reader:
            place, begun = f"line {begun + skipped}", reader.line_num + 1
            while len(cells) > len(header) and not cells[-1].strip():
                del cells[-1]
            if not any(map(str.strip, cells)):
                continue
            if len(cells) != len(header):
                fix = "put double quotes around a cell that holds a separator or a line break"
                raise DataError(f"{path} {place} has {len(cells)} cells, the first line has {len(header)}", fix)
            rows.append((place, tuple(cells)))
    except csv.Error as error:
        fix = "put double quotes around a cell that contains one, and double each quote inside it"
        raise DataError(f"{path} line {begun + skipped} is not CSV ({error})", fix) from error
    finally:
        csv.field_size_limit(usual)
    return CsvTable(delimiter, tuple(header), tuple(rows))


ENV = "RAG_HARNESS_DATA"


def data_dir() -> Path:
    """RAG_HARNESS_DATA, or `data` in the current directory, which need not exist. DataError if RAG_HARNESS_DATA
    names a folder that does not exist, so that a typing error never causes a download.
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


def read_text(path: Path, values_of: Callable[[bytes], int] | None = None) -> str:
    """The whole file as text, decompressed if its name ends in `.gz`, without a byte order mark. `values_of`
    counts its values, to refuse too many.
    """
    try:
        with read_intact(path), open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            packed = path.suffix == ".gz"
            data = gzip.GzipFile(fileobj=file).read(most_bytes(size) + 1) if packed else file.read()
        if packed:
            refuse_too_long(path, size, len(data))
        if values_of:
            refuse_too_many(path, values_of(data), len(data))
        # utf-8-sig drops a byte order mark, which some spreadsheets write and parsers do not expect.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start})", FIX) from error


def read_json(path: Path) -> object:
    """The file's single JSON value; NaN and Infinity are rejected."""
    return parse_json(read_text(path, values_of_json), str(path))


def read_json_object(path: Path) -> FileEntry:
    return as_entry(str(path), read_json(path))


def read_json_rows(path: Path) -> list[FileEntry]:
    return as_entries(str(path), read_json(path))


def iter_jsonl(path: Path) -> Iterator[FileEntry]:
    """The objects of a file with one JSON object per line; blank lines are skipped."""
    # Not splitlines(): it would also split at U+2028, which a JSON string may contain unescaped.
    for number, line in enumerate(read_text(path, values_of_json).split("\n"), start=1):
        if line.strip():
            where = f"{path} line {number}"
            yield as_entry(where, parse_json(line, where))


def read_csv(path: Path, delimiter: str) -> list[FileEntry]:
    """Rows of a CSV file by the column names in its first line."""
    # A single carriage return inside a field (uda_qa) would split the row.
    table = read_csv_table(path, read_text(path, values_of_lines).replace("\r", ""), delimiter)
    if not table.header:
        raise DataError(f"{path} has no header line", FIX)
    rows = ((f"{path} {place}", zip(table.header, cells, strict=True)) for place, cells in table.rows)
    return [FileEntry(where, dict(cells)) for where, cells in rows]


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
