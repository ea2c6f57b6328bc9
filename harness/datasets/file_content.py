"""Reads a file of rows as text or Parquet, packed or not, whatever its name, and its text as CSV. Files of other
kinds are refused by name.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.bounded_files import open_plain, read_plain
from harness.core.errors import DataError, MissingDependency, install
from harness.datasets.decompression_limits import (
    check_foreign,
    most_unpacked,
    read_intact,
    refuse_too_many,
    value_counter,
)
from harness.datasets.result_logs import INSPECT, eval_log_samples, is_eval_log, names_in_zip, sample_row

AS_CSV = "save it as 'CSV UTF-8 (comma delimited)'"
_PANDAS = "python -c \"import pandas as pd; pd.{read}.to_json('rows.jsonl', orient='records', lines=True)\""
_PARQUET, _GZIP = b"PAR1", b"\x1f\x8b"
_CONTROL = re.compile(rb"[\0-\x06\x0e-\x1a\x1c-\x1f]")
"""Bytes that text files do not contain."""
_UNPACK = "unpack it and name the file inside"
_SHEET = f"open it in a spreadsheet program and {AS_CSV}"
_KINDS: tuple[tuple[bytes, str, str], ...] = (
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", _SHEET),
    (
        b"SQLite format 3\0",
        "an SQLite database",
        "export its table: sqlite3 -header -csv FILE 'SELECT * FROM TABLE'",
    ),
    (b"\x93NUMPY", "a numpy array", "write it as JSON Lines in Python, one object a line"),
    (b"ARROW1", "an Arrow or Feather file", f"convert it: {_PANDAS.format(read='read_feather(FILE)')}"),
    (b"FEA1", "a Feather file", f"convert it: {_PANDAS.format(read='read_feather(FILE)')}"),
    (b"\xff\xff\xff\xff", "an Arrow stream", "convert it: datasets.Dataset.from_file(FILE).to_json('rows.jsonl')"),
    (b"Obj\x01", "an Avro file", "write it as JSON Lines, one object a line"),
    (b"\x89HDF", "an HDF5 file", f"convert it: {_PANDAS.format(read='read_hdf(FILE)')}"),
    (b"%PDF", "a PDF", "name a file with one question or answer a row"),
    (b"{\\rtf", "a rich text document", "save it as plain text, in UTF-8"),
    (b"BZh", "compressed with bzip2", f"{_UNPACK}: bunzip2 -k FILE"),
    (b"\xfd7zXZ\0", "compressed with xz", f"{_UNPACK}: xz -dk FILE"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", f"{_UNPACK}: zstd -d FILE"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"Rar!", "a rar archive", _UNPACK),
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself", "fetch the file: git lfs pull"),
    (b"<!doctype html", "a web page", "download the raw file"),
    (b"<html", "a web page", "download the raw file"),
    (b"<?xml", "XML", "write JSON Lines or CSV"),
)
"""By the first bytes, letters in lower case for text: (bytes, what the file is, the way out)."""
_ZIPPED: tuple[tuple[str, str, str], ...] = (
    ("xl/", "an Excel workbook", _SHEET),
    ("content.xml", "an OpenDocument file", _SHEET),
    ("Index/", "a Numbers document", "open it and export it as CSV"),
    ("word/", "a Word document", "save it as plain text, in UTF-8"),
)
"""By the beginning of a name inside a zip archive."""
_HEAD = 10_000
"""Characters, in which the first lines of a ranking end."""
_TREC_RUN = re.compile(r"\S+[ \t]+Q0[ \t]+\S+[ \t]+-?\d+[ \t]+\S+[ \t]+\S+[ \t]*")


@dataclass(frozen=True)
class FileContent:
    """The content of a file of rows: a text, or the rows of a Parquet file or an archive of results."""

    sha256: str
    """Of the file as it is, packed or not."""
    text: str = ""
    is_ranking: bool = False
    """Whether the text is a TREC run: for each query the documents that were retrieved, and no answer."""
    rows: list[dict[str, Any]] | None = None
    tool: str = ""
    """The tool of a result file, if its samples are in `rows`."""


def read_content(path: Path, most_bytes: int | None = None, *, rankings: bool = False) -> FileContent:
    """Read the file, unpacked if it is gzip. DataError for a file that is damaged, too long or of another kind.
    `most_bytes`: of the file, packed and unpacked; None: a file of any length, unpacked within the usual limits.
    `rankings`: a TREC run is wanted, whose short lines may be many.
    """
    data, checksum = _unpacked(path, most_bytes)
    if data.startswith(_PARQUET):
        return FileContent(checksum, rows=_parquet_rows(path, data))
    if is_eval_log(data):
        samples = [dict(sample_row(one)[1]) for one in eval_log_samples(path, data)]
        return FileContent(checksum, rows=samples, tool=INSPECT)
    _refuse_other_kinds(path, data)
    is_binary = not _is_utf16(data) and _CONTROL.search(data[:65536]) is not None
    text = "" if is_binary else _decoded(path, data)
    if is_binary or "\0" in text:
        what = f"{path} is not text: it contains NUL characters or other bytes"
        raise DataError(what, f"write JSON Lines, or {AS_CSV}")
    data = text.encode() if _is_utf16(data) else data
    is_ranking = begins_with(text, _TREC_RUN)
    if not (rankings and is_ranking):
        refuse_too_many(path, value_counter(data)(data), len(data), "drop the fields that are not needed")
    return FileContent(checksum, text=text, is_ranking=is_ranking)


def begins_with(text: str, shape: re.Pattern[str]) -> bool:
    """Whether its first lines, up to three, have this shape."""
    head = text[:_HEAD]
    lines = head.lstrip().split("\n")
    if len(head) < len(text):
        lines.pop()  # It may be cut.
    lines = [line.rstrip("\r") for line in lines[:3] if line.strip()]
    return bool(lines) and all(map(shape.fullmatch, lines))


def read_text(path: Path) -> str:
    """The text of a file, unpacked if it is gzip, whatever it holds. DataError as in `read_content`."""
    return _decoded(path, _unpacked(path)[0])


def _unpacked(path: Path, most_bytes: int | None = None) -> tuple[bytes, str]:
    """The bytes, and the checksum of the file as it is."""
    with read_intact(path, "write or download it again", "name a file with one object or row a line"):
        if most_bytes is None:
            with open_plain(path) as file:
                data = file.read()
        else:
            data = read_plain(path, most_bytes)
        size, checksum = len(data), hashlib.sha256(data).hexdigest()
        if not data.startswith(_GZIP):
            return data, checksum
        most = most_unpacked(size) if most_bytes is None else most_bytes
        data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(most + 1)
    if len(data) > most:
        what = f"{path} unpacks to more than {most:,} bytes (the file has {size:,} bytes)"
        raise DataError(what, "split it, or drop fields")
    if data.startswith((_GZIP, _PARQUET)):
        raise DataError(f"{path} holds another packed file", f"{_UNPACK}: gunzip -k FILE")
    return data, checksum


def _parquet_rows(path: Path, data: bytes) -> list[dict[str, Any]]:
    to_json = f"convert it where pandas is: {_PANDAS.format(read=f'read_parquet({path.name!r})')}"
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        what = f"{path} is a Parquet file, and pyarrow is not installed"
        raise MissingDependency(what, f"{install('hub')}, or {to_json}") from error
    try:
        check_foreign(path)
        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(pyarrow.BufferReader(data)).to_pylist()
        return rows
    except DataError as error:
        raise DataError(error.what, f"write it again, or {to_json}") from error
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:160]
        raise DataError(f"{path} is not intact Parquet ({reason})", "write or download it again") from error


def _refuse_other_kinds(path: Path, data: bytes) -> None:
    start = data[:512].lstrip(b"\xef\xbb\xbf \t\r\n") if data[:1] in b"\xef \t\r\n<" else data[:512]
    for mark, what, fix in _KINDS:
        if start.startswith(mark) or start[: len(mark)].lower() == mark:
            raise DataError(f"{path} is {what}", fix.replace("FILE", repr(path.name)))
    if data.startswith(b"PK\x03\x04"):
        inside = names_in_zip(data)
        for begin, what, fix in _ZIPPED:
            if any(name.startswith(begin) for name in inside):
                raise DataError(f"{path} is {what}", fix)
        if any(name.endswith(".npy") for name in inside):
            raise DataError(f"{path} is a numpy archive", "write it as JSON Lines in Python, one object a line")
        raise DataError(f"{path} is a zip archive", f"{_UNPACK}: unzip {path.name!r}")
    if data[:1] == b"\x80" and data[1:2] in b"\x02\x03\x04\x05" and data.endswith(b"."):
        what = f"{path} is a Python pickle, which can run code when it is opened"
        fix = "write JSON Lines where it was made: DataFrame.to_json(orient='records', lines=True)"
        raise DataError(what, fix)


def _is_utf16(data: bytes) -> bool:
    return data.startswith((b"\xff\xfe", b"\xfe\xff"))


def _decoded(path: Path, data: bytes) -> str:
    try:
        # Other encodings are not guessed: a wrong guess would silently change answers and quotes.
        text = data.decode("utf-16" if _is_utf16(data) else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        what = f"{path} line {line} is not UTF-8 (byte 0x{data[error.start]:02x})"
        raise DataError(what, f"{AS_CSV}, or convert it: iconv -f WINDOWS-1252 -t UTF-8") from error
    return text.lstrip("\ufeff")  # Some programs write two byte order marks.


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
