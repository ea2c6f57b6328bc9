"""The cells of a CSV text, as they were written: for reading a table, and for writing it back unchanged."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import DataError

_LONGEST_CELL = 16_000_000
"""Characters."""
_DELIMITERS = ",;\t|"
_SEPARATOR = re.compile(r'^"?sep=(.|\\t)"?[ ]*\r?\n', re.IGNORECASE)
"""The line by which Excel names the delimiter."""


@dataclass(frozen=True)
class CsvTable:
    """A header and its rows."""

    delimiter: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    """For each row its place, such as `line 3`, and as many cells as the header has. Blank rows are left out."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns in lower case; empty for a column without a name."""
        return tuple(cell.strip().lower() for cell in self.header)


def read_csv_table(path: Path, text: str) -> CsvTable:
    """Parse the text of `path`. DataError names the first line that is not CSV, or a column that occurs twice."""
    separator = _SEPARATOR.match(text)
    skipped = 1 if separator else 0
    text = text[separator.end() :] if separator else text
    delimiter = separator[1].replace("\\t", "\t") if separator else _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begun = 1
    rows: list[tuple[str, tuple[str, ...]]] = []
    usual = csv.field_size_limit(_LONGEST_CELL)
    try:
        header = next(reader, [])
        _refuse_repeated(path, header)
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


def _delimiter(text: str) -> str:
    """The delimiter that splits the first line into most cells."""
    first = text.lstrip("\r\n").partition("\n")[0].partition("\r")[0]
    return max(_DELIMITERS, key=lambda mark: len(next(csv.reader([first], delimiter=mark), [])))


def _refuse_repeated(path: Path, header: Sequence[str]) -> None:
    names = (cell.strip().lower() for cell in header)
    for name, n in Counter(filter(None, names)).items():
        if n > 1:
            raise DataError(
                f"{path} has two columns '{name}'",
                "number further ones: quote, quote_2; for answers write 24|24 days",
            )
