"""Finds data files, plain or gzip, and reads their rows. Every problem is a `DataError`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.core.errors import DataError
from harness.datasets.decompression_limits import read_intact
from harness.datasets.file_content import read_content, read_csv_table, read_text
from harness.datasets.json_rows import json_rows
from harness.datasets.row_fields import FIX, FileEntry, as_entry

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
        with read_intact(path):
            if path.is_file():
                return path
    return None


def list_folder(relative: str) -> list[Path]:
    """The content of the folder `relative` of the data directory, sorted; empty if the folder does not exist."""
    folder = data_dir() / relative
    with read_intact(folder):
        return sorted(folder.iterdir()) if folder.is_dir() else []


@contextmanager
def _of_a_data_set() -> Iterator[None]:
    """Nobody corrects the file of a data set by hand."""
    try:
        yield
    except DataError as error:
        raise DataError(error.what, FIX) from error


def read_page(path: Path) -> str:
    with _of_a_data_set():
        return read_text(path)


def read_rows(path: Path, delimiter: str = "|") -> list[FileEntry]:
    """The rows of a JSON array, of JSON Lines, of Parquet, or of a `.csv` file with this delimiter by the names in
    its first line. An object over several lines is one row.
    """
    is_csv = path.name.removesuffix(".gz").endswith(".csv")
    with _of_a_data_set():
        content = read_content(path)
        if content.rows is not None:
            return [FileEntry(f"{path} row {number}", row) for number, row in enumerate(content.rows, start=1)]
        if not is_csv:
            return [as_entry(f"{path} {place}", value) for place, value in json_rows(path, content.text)]
        # A single carriage return inside a field (uda_qa) would split the row.
        table = read_csv_table(path, content.text.replace("\r", ""), delimiter)
    return [
        FileEntry(f"{path} {place}", dict(zip(table.header, cells, strict=True))) for place, cells in table.rows
    ]


def read_object(path: Path) -> FileEntry:
    """The only object of a file. DataError: it has none, or several."""
    rows = read_rows(path)
    if len(rows) != 1:
        raise DataError(f"{path}: expected one object, found {len(rows):,}", FIX)
    return rows[0]
