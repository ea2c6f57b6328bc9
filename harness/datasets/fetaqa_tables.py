"""The tables of UDA-QA's feta questions, and their form as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.core.errors import DataError
from harness.datasets import local_files
from harness.datasets.published_check import fetched_by_hand
from harness.datasets.row_fields import FIX, FileEntry

FETAQA_FILES = ("uda_qa/fetaqa-v1_test.jsonl", "uda_qa/fetaqa-v1_dev.jsonl")
BENCH_FILE = "uda_qa/bench_feta_qa.json"
TABLE_FILES = (*FETAQA_FILES, BENCH_FILE)


@dataclass(frozen=True)
class UdaTable:
    """One Wikipedia table; its first row is the header."""

    title: str
    section: str
    """Empty if the source does not name it."""
    rows: tuple[tuple[str, ...], ...]

    def line(self, row: int) -> str:
        """The row as text: `header: value; header: value`, without empty cells."""
        header = self.rows[0]
        named = ((header[i] if i < len(header) else "", cell) for i, cell in enumerate(self.rows[row]))
        return "; ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)

    def text(self) -> str:
        """Title, section and all rows below the header, one per line."""
        lines = [self.title, self.section, *(self.line(row) for row in range(1, len(self.rows)))]
        return "\n".join(line for line in lines if line)


@dataclass(frozen=True)
class GoldTable:
    """The table of a question, and the rows with highlighted cells in table order."""

    table: UdaTable
    rows: tuple[int, ...]

    def facts(self) -> tuple[str, ...]:
        """The highlighted rows as lines of the table's text, without the header, which is part of each line."""
        lines = (self.table.line(row) for row in self.rows if row > 0)
        return tuple(dict.fromkeys(line for line in lines if line))


def read_table_files() -> dict[str, list[FileEntry]]:
    """The rows of every table file in the data directory, by path. DataError if there is no such file."""
    found: dict[str, list[FileEntry]] = {}
    for name in TABLE_FILES:
        if path := local_files.find(name):
            is_one = name == BENCH_FILE
            found[name] = [local_files.read_json_object(path)] if is_one else list(local_files.iter_jsonl(path))
    if not found:
        what = f"the tables of the feta questions are missing in {local_files.data_dir()} (the hub has none)"
        ways = f"put {' or '.join(TABLE_FILES)} there, or choose the subset nq"
        raise DataError(what, f"{ways}, or run: {fetched_by_hand(BENCH_FILE)}")
    return found


def gold_tables(sources: Mapping[str, Sequence[FileEntry]]) -> dict[str, GoldTable]:
    """The gold tables by q_uid. If there are two sources, FeTaQA's own row wins, because it has the section."""
    tables: dict[str, GoldTable] = {}
    for name, rows in sources.items():
        found = (item for pages in rows for item in _bench(pages)) if name == BENCH_FILE else _fetaqa(rows)
        for uid, gold in found:
            tables.setdefault(uid, gold)
    return tables


def _fetaqa(entries: Iterable[FileEntry]) -> Iterable[tuple[str, GoldTable]]:
    for entry in entries:
        title, section = entry.text("table_page_title"), entry.nullable_text("table_section_title")
        yield entry.identifier("feta_id"), _gold(entry, title, section)


def _bench(pages: FileEntry) -> Iterable[tuple[str, GoldTable]]:
    for doc_name in pages.fields:
        for entry in pages.entries(doc_name):
            yield entry.identifier("q_uid"), _gold(entry.entry("evidence"), doc_name, "")


def _gold(entry: FileEntry, title: str, section: str) -> GoldTable:
    rows = []
    for cells in entry.values("table_array"):
        if not isinstance(cells, list) or not all(isinstance(cell, str) for cell in cells):
            raise DataError(f"{entry.where}: field 'table_array' must be a list of lists of texts", FIX)
        # A line break in a cell would split the row's line.
        rows.append(tuple(" ".join(cell.split()) for cell in cells))
    if not rows:
        raise DataError(f"{entry.where}: field 'table_array' is empty", FIX)
    return GoldTable(UdaTable(title, section, tuple(rows)), _highlighted(entry, len(rows)))


def _highlighted(entry: FileEntry, rows: int) -> tuple[int, ...]:
    numbers = set()
    for cell in entry.values("highlighted_cell_ids"):
        row = cell[0] if isinstance(cell, list) and cell else None
        if not isinstance(row, int) or not 0 <= row < rows:
            raise DataError(f"{entry.where}: field 'highlighted_cell_ids' points outside the table", FIX)
        numbers.add(row)
    return tuple(sorted(numbers))
