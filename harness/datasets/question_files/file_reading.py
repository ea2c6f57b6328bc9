"""Reads the rows of a question file: JSON Lines, a JSON array, or CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from harness.core.bounded_files import read_plain
from harness.core.errors import DataError
from harness.datasets.decompression_limits import most_values, values_of_json
from harness.datasets.row_fields import kind_of

MOST_BYTES = 64_000_000
"""Largest file; a hundred thousand questions with quotes need about half of it."""
_AS_CSV = "save it as 'CSV UTF-8 (comma delimited)'"
_NOT_TEXT = {b"PK\x03\x04": "an Excel workbook or another zip", b"\xd0\xcf\x11\xe0": "an old Excel workbook"}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CSV, _JSON = (".csv", ".tsv"), (".json", ".jsonl", ".ndjson")
"""By file extension; other files by their first character."""
_DELIMITERS = ",;\t"


@dataclass(frozen=True)
class FieldRow:
    """One row: values by field name in lower case, without empty fields."""

    where: str
    """File and line, for messages."""
    fields: Mapping[str, object]
    is_csv: bool
    """Whether values are CSV cells, which may contain several answers."""


@dataclass(frozen=True)
class FieldTable:
    """All rows of a file."""

    names: tuple[str, ...]
    """All field names, also of fields that are empty in every row."""
    rows: tuple[FieldRow, ...]


def read_table(path: Path) -> FieldTable:
    """Read the file without blank lines. DataError if it is unreadable or empty."""
    text = _decoded(path, _bytes_of(path))
    kind = path.suffix.lower()
    is_csv = kind in _CSV or (kind not in _JSON and not text.lstrip().startswith(("{", "[")))
    names: dict[str, None] = {}
    rows = tuple((_csv_rows if is_csv else _json_rows)(path, text, names))
    if not rows:
        raise DataError(f"{path} contains no questions", "write one per line, see docs/question-files.md")
    return FieldTable(tuple(names), rows)


def _bytes_of(path: Path) -> bytes:
    try:
        return read_plain(path, MOST_BYTES)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(
            f"{path} cannot be read: {reason}", "name a question file, see docs/question-files.md"
        ) from error


def _decoded(path: Path, data: bytes) -> str:
    for start, what in _NOT_TEXT.items():
        if data.startswith(start):
            raise DataError(
                f"{path} is {what} despite its name", f"open it in a spreadsheet program and {_AS_CSV}"
            )
    try:
        # Other encodings are not guessed: a wrong guess would silently change answers and quotes.
        text = data.decode("utf-16" if data.startswith(_UTF16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        what = f"{path} line {line} is not UTF-8 (byte 0x{data[error.start]:02x})"
        raise DataError(what, f"{_AS_CSV}, or convert it: iconv -f WINDOWS-1252 -t UTF-8") from error
    if "\0" in text:
        raise DataError(f"{path} is not text: it contains NUL characters", f"write JSON Lines, or {_AS_CSV}")
    return text


def _json_rows(path: Path, text: str, names: dict[str, None]) -> Iterator[FieldRow]:
    data = text.encode("utf-8", "surrogatepass")
    if values_of_json(data) > most_values(len(data)):
        raise DataError(f"{path} contains too many values to be questions", "write one question per line")
    if text.lstrip().startswith("["):
        found = _parsed(text, str(path))
        values = found if isinstance(found, list) else [found]
        for number, value in enumerate(values, start=1):
            yield _named_row(value, f"{path} row {number}", names)
        return
    # Not splitlines(): it would also split at U+2028, which a JSON string may contain unescaped.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            where = f"{path} line {number}"
            yield _named_row(_parsed(line, where), where, names)


def _named_row(value: object, where: str, names: dict[str, None]) -> FieldRow:
    if not isinstance(value, Mapping):
        raise DataError(f"{where} is {kind_of(value)}, not an object", 'write one {"question": "..."} per line')
    names.update((name.strip().lower(), None) for name in value)
    return json_row(value, where)


def json_row(value: Mapping[str, object], where: str) -> FieldRow:
    """A JSON object as a row. DataError: two field names differ only in case."""
    fields: dict[str, object] = {}
    for name, held in value.items():
        if _says_something(held) and fields.setdefault(name.strip().lower(), held) is not held:
            raise DataError(f"{where} has the field '{name}' twice", "remove one of them")
    return FieldRow(where, fields, is_csv=False)


def _says_something(value: object) -> bool:
    """Whether a value is not empty. Null, NaN (pandas) and blank texts are empty."""
    if isinstance(value, float) and math.isnan(value):
        return False
    return value is not None and not (isinstance(value, str) and not value.strip())


def _parsed(text: str, where: str) -> object:
    try:
        return json.loads(text, parse_constant=_constant)
    except json.JSONDecodeError as error:
        what = f"{where} is not JSON ({error.msg} at column {error.colno})"
        raise DataError(what, "write one JSON object per line, in UTF-8") from error
    except RecursionError as error:
        raise DataError(f"{where} is nested too deeply", "write one JSON object per line") from error
    except ValueError as error:
        raise DataError(f"{where} is not JSON ({str(error)[:100]})", "write one JSON object per line") from error


def _constant(name: str) -> float:
    return math.nan if name == "NaN" else _refused(name)


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _csv_rows(path: Path, text: str, known: dict[str, None]) -> Iterator[FieldRow]:
    delimiter = _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begun = 1
    try:
        names = _header(path, next(reader, []))
        known.update(dict.fromkeys(filter(None, names)))
        begun = reader.line_num + 1
        for cells in reader:
            where, begun = f"{path} line {begun}", reader.line_num + 1
            if not any(map(str.strip, cells)):
                continue
            if len(cells) != len(names):
                fix = "put double quotes around a cell that holds a separator or a line break"
                raise DataError(f"{where} has {len(cells)} cells, the first line has {len(names)}", fix)
            given = {name: cell for name, cell in zip(names, cells, strict=True) if cell.strip() and name}
            yield FieldRow(where, given, is_csv=True)
    except csv.Error as error:
        fix = "put double quotes around a cell that contains one, and double each quote inside it"
        raise DataError(f"{path} line {begun} is not CSV ({error})", fix) from error


def _delimiter(text: str) -> str:
    """The delimiter that occurs most often in the first line."""
    return max(_DELIMITERS, key=text.lstrip("\r\n").partition("\n")[0].count)


def _header(path: Path, cells: Sequence[str]) -> list[str]:
    names = [cell.strip().lower() for cell in cells]
    for name in filter(None, names):
        if names.count(name) > 1:
            raise DataError(
                f"{path} has two columns '{name}'",
                "number further ones: quote, quote_2; for answers write 24|24 days",
            )
    return names
