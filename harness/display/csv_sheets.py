"""Sheets that a person fills in: CSV as spreadsheets read it, in which no cell is a formula."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_BOM = "\ufeff"
"""By which a spreadsheet knows UTF-8."""


def sheet_text(names: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    """The whole file: a header, and the cells of each row by name, empty where it has none."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _guarded(value) for name, value in row.items()})
    return _BOM + text.getvalue()


def read_cell(cell: str) -> str:
    """What a cell of such a sheet says: without the apostrophe that keeps it from being a formula."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def _guarded(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
