"""Reads tables: CSV and TSV files, and Excel workbooks. A large table becomes several documents."""

from __future__ import annotations

import csv
import io
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from itertools import chain, islice
from typing import Any, BinaryIO

from harness.datasets.folder.docx import check_packed
from harness.datasets.folder.plain_text import NOT_UTF8, coding_of
from harness.datasets.folder.text_cleanup import (
    LONGEST_REPEATED,
    NoDocument,
    ReadText,
    heading,
    no_heading,
    row_text,
)

_MOST_ROWS = 200_000
"""Of a file."""
_MOST_CELLS = 20_000_000
_MOST_SHEETS = 1000
_MOST_BYTES = 100_000_000
_LONGEST_CELL = 1_000_000
_FIRST_ROWS = 20
"""The header is looked for within these."""
_STEP = 1000
"""Rows between two signs of life."""
_NUMBER = re.compile(r"[-+(]?\s?[€$£¥]?\s?\d[\d.,'\s]*\)?\s?[%€$£¥]?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_UNKNOWN = "formulas without a stored value (open the file in a spreadsheet program and save it)"

Row = tuple[int, list[str]]
"""The number of a row in its file, and its cells."""


def read_delimited(file: BinaryIO, at_work: Callable[[], None], delimiter: str = "") -> list[ReadText]:
    """The rows of a CSV file as texts. `delimiter`: empty to find it out.

    NoDocument: not UTF-8, too long, or not a table.
    """
    if file.seek(0, os.SEEK_END) > _MOST_BYTES:
        raise NoDocument(f"longer than {_MOST_BYTES:,} bytes")
    file.seek(0)
    coding = coding_of(file.read(4))
    file.seek(0)
    lines = io.TextIOWrapper(file, encoding=coding, newline="")
    usual = csv.field_size_limit(_LONGEST_CELL)
    try:
        first = list(islice(lines, _FIRST_ROWS))
        if any("\0" in line for line in first):
            raise NoDocument("binary, not text")
        if first and (named := re.fullmatch(r'"?sep=(.)"?\s*', first[0], re.IGNORECASE)):  # Written for Excel.
            first[0], delimiter = "\n", named[1]
        rows = csv.reader(chain(first, lines), delimiter=delimiter or _delimiter(first))
        numbered = ((number, [_cell(cell) for cell in cells]) for number, cells in enumerate(rows, start=1))
        return _documents(_Bounds().rows_of(numbered, at_work))
    except UnicodeDecodeError as error:
        raise NoDocument(NOT_UTF8) from error
    except csv.Error as error:
        raise NoDocument(f"a cell of more than {_LONGEST_CELL:,} characters: close its quotes") from error
    finally:
        csv.field_size_limit(usual)
        lines.detach()


def read_workbook(file: BinaryIO, at_work: Callable[[], None]) -> list[ReadText]:
    """The rows of each sheet of an Excel workbook as texts, formulas as the values that are stored with them.

    NoDocument: not a workbook, protected by a password, or too large.
    """
    import openpyxl

    names = check_packed(file, "Excel", ".xlsx")
    if sum(name.startswith("xl/worksheets/") for name in names) > _MOST_SHEETS:
        raise NoDocument(f"more than {_MOST_SHEETS:,} sheets: split it")
    at_work()
    bounds, unknown = _Bounds(), 0
    found: list[list[ReadText]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # About parts that are not read.
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        sheets = [sheet for sheet in book.worksheets if hasattr(sheet, "iter_rows")]
        for sheet in sheets:
            at_work()
            marks = _Marks.of(sheet, at_work)
            unknown += marks.unknown
            sheet.reset_dimensions()  # The file may claim a million columns.
            rows = marks.repeated(enumerate(sheet.iter_rows(), start=1))
            found.append(_documents(bounds.rows_of(rows, at_work), sheet.title if len(sheets) > 1 else ""))
    hidden = sum(sheet.sheet_state != "visible" and bool(own) for sheet, own in zip(sheets, found, strict=True))
    remarks = {
        what: count for what, count in ((_UNKNOWN, unknown), ("hidden sheets, which are read", hidden)) if count
    }
    documents = [document for own in found for document in own]
    if not documents:
        raise NoDocument(_UNKNOWN if unknown else "without text")
    return [replace(documents[0], remarks=remarks), *documents[1:]]


class _Bounds:
    """Counts the rows and cells of a file, of which there may not be too many."""

    def __init__(self) -> None:
        self._rows = self._cells = 0

    def rows_of(self, rows: Iterable[Row], at_work: Callable[[], None]) -> Iterator[Row]:
        """The rows with text."""
        for number, cells in rows:
            self._cells += len(cells)
            self._rows += any(cells)
            if self._rows > _MOST_ROWS:
                what = f"a table of more than {_MOST_ROWS:,} rows"
                raise NoDocument(f"{what}: keep the rows that questions are about")
            if self._cells > _MOST_CELLS:
                raise NoDocument(f"more than {_MOST_CELLS:,} cells: split it")
            if number % _STEP == 0:
                at_work()
            if any(cells):
                yield number, cells


def _documents(rows: Iterator[Row], sheet: str = "") -> list[ReadText]:
    """The documents of a table. What stands above the header begins the first one."""
    first = list(islice(rows, _FIRST_ROWS))
    if not first:
        return []
    at = _header_at(first)
    names = [] if at is None else first[at][1]
    begin = 0 if at is None else at + 1
    above = [" | ".join(filter(None, cells)) for _, cells in first[: max(begin - 1, 0)]]
    below = chain(first[begin:], rows)
    title = [heading(2, sheet)] if sheet else []
    blocks = list(iter(lambda: list(islice(below, 50)), []))
    if not blocks:  # Nothing but a header.
        blocks, names = [first[at:]] if at is not None else [], []
    documents = []
    for block in blocks:
        part = f"rows {block[0][0]}-{block[-1][0]}" if len(blocks) > 1 else ""
        lines = [*title, *map(no_heading, above), *(no_heading(row_text(names, cells)) for _, cells in block)]
        documents.append(ReadText("\n".join(lines) + "\n", part=" ".join(filter(None, (sheet, part)))))
        above = []
    return documents


def _header_at(rows: Sequence[Row]) -> int | None:
    """The position of the first row that fills at least half of the columns, if it names them: it has no number
    but years.
    """
    counts = [sum(map(bool, cells)) for _, cells in rows]
    wide = max(counts)
    at = next(place for place, count in enumerate(counts) if 2 * count >= wide and count >= min(wide, 2))
    said = list(filter(None, rows[at][1]))
    return None if any(_NUMBER.fullmatch(cell) and not _YEAR.fullmatch(cell) for cell in said) else at


def _delimiter(lines: Sequence[str]) -> str:
    """The delimiter by which most lines have the same number of cells, and the most cells."""

    def fit(mark: str) -> tuple[int, int]:
        begun = (line[:_LONGEST_CELL] for line in lines)
        widths = Counter(len(cells) for cells in csv.reader(begun, delimiter=mark) if len(cells) > 1)
        return max(((count, width) for width, count in widths.items()), default=(0, 0))

    return max(",;\t|", key=fit)


def _cell(text: str) -> str:
    return " ".join(text.split())


@dataclass
class _Marks:
    """What openpyxl does not tell of a sheet that it streams."""

    unknown: int = 0
    """Formulas without a stored value."""
    tall: dict[tuple[int, int], int] = field(default_factory=dict)
    """Row and column of a cell that continues in the rows below it -> the last of these."""

    @classmethod
    def of(cls, sheet: Any, at_work: Callable[[], None]) -> _Marks:
        from lxml import etree
        from openpyxl.utils import range_boundaries

        marks = cls()
        with sheet.parent._archive.open(sheet._worksheet_path) as part:  # No public names.
            tags = ("{*}row", "{*}mergeCell")
            for number, (_, one) in enumerate(etree.iterparse(part, tag=tags, resolve_entities=False)):
                if number % _STEP == 0:
                    at_work()
                if one.tag.endswith("}row"):
                    marks.unknown += sum(not _is_stored(formula) for formula in one.iterfind("{*}c/{*}f"))
                elif len(marks.tall) < 100_000:
                    column, row, _, last = range_boundaries(one.get("ref"))
                    marks.tall[row, column] = last
                one.clear()
                while one.getprevious() is not None:
                    del one.getparent()[0]
        return marks

    def repeated(self, rows: Iterable[tuple[int, Iterable[Any]]]) -> Iterator[Row]:
        """The texts of the rows; a cell that spans several is repeated in each."""
        above: dict[int, tuple[int, str]] = {}
        for number, cells in rows:
            texts = [_value(cell) for cell in cells]
            if self.tall:
                for column, text in enumerate(texts, start=1):
                    last, earlier = above.get(column, (0, ""))
                    if text and (number, column) in self.tall:
                        above[column] = self.tall[number, column], text[:LONGEST_REPEATED]
                    elif not text and number <= last:
                        texts[column - 1] = earlier
            yield number, texts


def _is_stored(formula: Any) -> bool:
    stored = formula.getparent().find("{*}v")
    # A formula that gives an empty text has type str and an empty value.
    return stored is not None and bool(stored.text or formula.getparent().get("t") == "str")


def _value(cell: Any) -> str:
    """The value of a cell as text; dates as in ISO 8601."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value * 100:.10g}%" if "%" in cell.number_format else f"{value:.15g}"
    return _cell(str(value))
