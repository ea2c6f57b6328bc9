"""CSV sheets for people to fill in, readable by spreadsheets, without formulas."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The last four are the full-width forms of the first, which spreadsheets read alike."""
_BOM = "\ufeff"
"""Byte order mark, by which spreadsheets recognise UTF-8."""


def sheet_text(names: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    """The CSV text: a header and the cells of each row by column name; missing cells are empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: write_cell(value) for name, value in row.items()})
    return _BOM + text.getvalue()


def read_cell(cell: str) -> str:
    """The value of a cell, without the apostrophe that protects it from being a formula."""
    return cell[1:] if cell.startswith("'") and _needs_guard(cell[1:]) else cell


def write_cell(cell: str) -> str:
    """The value as a cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if _needs_guard(cell) else cell


def _needs_guard(value: str) -> bool:
    """A value that looks like a guarded one gets a second apostrophe, so that reading gives it back."""
    return value.lstrip("'").startswith(_FORMULA)
