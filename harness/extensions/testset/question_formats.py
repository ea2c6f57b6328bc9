"""The question files that a person reviews: JSON Lines, and CSV whose columns, separator and unchanged cells stay.
`id` and `seen_by` are added when they are needed.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from harness.core.errors import ConfigError, DataError
from harness.datasets.column_names import QUESTION_FILE
from harness.datasets.file_kinds import read_content
from harness.datasets.local_files import CsvTable, iter_jsonl, read_csv_table
from harness.datasets.question_files.row_validation import answers_of, evidence_of, means
from harness.datasets.table_reading import MOST_BYTES, FieldRow, plain_name
from harness.display.csv_sheets import read_cell, write_cell
from harness.extensions.testset.question_records import rows_text
from harness.extensions.testset.review_edits import RowWords, evidence_cells, evidence_columns

QuestionRow = dict[str, JsonValue]
_WORDS = ("question", "answers", "evidence")
"""Fields that an edit may change; a CSV file has them in several columns."""
_BOM = "\ufeff"


class JsonLinesFile:
    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[QuestionRow]:
        """The rows, each with its own id or one from its position. DataError or ConfigError names the first
        mistake.
        """
        rows: list[QuestionRow] = []
        for number, entry in enumerate(iter_jsonl(self._path), start=1):
            row: dict[str, Any] = dict(entry.fields)
            entry.text("question", blank=True)
            RowWords.of(row, entry.where)
            row["id"] = entry.optional_text("id") or f"q-{number:04d}"
            rows.append(row)
        _refuse_repeated(self._path, rows)
        return rows

    def text(self, rows: Iterable[QuestionRow]) -> str:
        """The file with these rows; reading it gives them back."""
        return rows_text(rows)

    def storable(self, row: QuestionRow) -> QuestionRow:
        """The row without fields that the file has no place for. ConfigError: it cannot be written."""
        return row


class CsvFile(JsonLinesFile):
    """A row with `question`, `answers` as a list, `evidence` as a list of quotes, and other cells as they are."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._table = CsvTable(",", (), ())
        self._names: tuple[str, ...] = ()
        self._starts_with_bom, self._line_end = True, "\n"
        self._raw: dict[str, dict[str, str]] = {}
        """Id -> cells as last read, by column."""

    def read(self) -> list[QuestionRow]:
        content = read_content(self._path, MOST_BYTES)
        start = self._path.read_bytes()[:3]
        if content.rows is not None or start.startswith(b"\x1f\x8b"):
            raise ConfigError(f"{self._path} is no plain CSV file", "unpack it, or save it as CSV")
        # UTF-16 becomes UTF-8, by whose mark spreadsheets know it.
        self._starts_with_bom = start.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"))
        self._line_end = "\r\n" if "\r\n" in content.text else "\n"
        self._table = read_csv_table(self._path, content.text)
        self._names = tuple(name or f" {at}" for at, name in enumerate(self._table.names))
        self._check_columns()
        self._raw, rows, counts = {}, [], [0, 0]
        for place, cells in self._table.rows:
            raw = dict(zip(self._names, cells, strict=True))
            row = _canonical(raw, f"{self._path} {place}")
            is_written = bool(row.get("question"))
            counts[is_written] += 1
            # As for a run, which skips rows without a question.
            row["id"] = str(row.get("id") or f"{'q' if is_written else 'row'}-{counts[is_written]:04d}")
            rows.append(row)
            self._raw.setdefault(str(row["id"]), raw)
        _refuse_repeated(self._path, rows)
        return rows

    def text(self, rows: Iterable[QuestionRow]) -> str:
        cells = [self._cells(row) for row in rows]
        new = dict.fromkeys(name for row in cells for name in row if name not in self._names)
        out = io.StringIO()
        writer = csv.writer(out, delimiter=self._table.delimiter, lineterminator=self._line_end)
        writer.writerow([*self._table.header, *new])
        for row in cells:
            writer.writerow([row.get(name, "") for name in (*self._names, *new)])
        return (_BOM if self._starts_with_bom else "") + out.getvalue()

    def storable(self, row: QuestionRow) -> QuestionRow:
        kept = {name: value for name, value in row.items() if name in _WORDS or isinstance(value, str)}
        row = {name: value for name, value in kept.items() if value}
        if _canonical(self._cells(row), str(self._path)) != row:
            what = f"'{row['id']}' is not kept: a CSV cell with these words would be read as something else"
            raise ConfigError(what, "write no quote or document like nan or null")
        return row

    def _check_columns(self) -> None:
        names = set(self._names)
        if {"decision", "version"} <= names:
            what = f"{self._path} is a sheet of decisions about another file"
            raise ConfigError(what, f"rag-harness review FILE.jsonl --from-csv {self._path}")
        if "question" not in names:
            raise ConfigError(f"{self._path} has no column 'question'", "name it so: docs/question-files.md")
        known = {plain_name(name) for tier in QUESTION_FILE["answers"] for name in tier}
        if other := [name for name in self._names if plain_name(name) in known and means(name) != "answers"]:
            what = f"{self._path}: a review reads 'answers', and the file has a column '{other[0][:60]}'"
            raise ConfigError(what, "rename that column to 'answers', or remove it")
        if {"answer", "answers"} <= names:
            raise ConfigError(f"{self._path} has the columns 'answer' and 'answers'", "keep one of them")

    def _cells(self, row: QuestionRow) -> dict[str, str]:
        raw = self._raw.get(str(row["id"]), {})
        was = _canonical(raw, str(self._path)) if raw else {}
        cells = {
            name: raw[name] if raw.get(name) and was.get(name) == value else write_cell(str(value))
            for name, value in row.items()
            if means(name) not in _WORDS
        }
        for field in _WORDS:
            if field in was and was[field] == row.get(field):
                cells |= {name: cell for name, cell in raw.items() if means(name) == field}
            else:
                cells |= {name: write_cell(cell) for name, cell in self._fresh(field, row)}
        return cells

    def _fresh(self, field: str, row: QuestionRow) -> Iterator[tuple[str, str]]:
        words = RowWords.of(row)
        if field == "question":
            yield "question", words.question
        elif field == "answers" and words.answers:
            yield "answer" if "answer" in self._names else "answers", _answers_cell(words.answers)
        elif field == "evidence":
            for number, item in enumerate(words.evidence, start=1):
                named = zip(evidence_columns(number), (item.quote, item.document), strict=True)
                yield from ((name, cell) for name, cell in named if cell)


def format_of(path: Path) -> JsonLinesFile:
    """By the extension. ConfigError: neither JSON Lines nor CSV."""
    if path.suffix == ".jsonl":
        return JsonLinesFile(path)
    if path.suffix.lower() in {".csv", ".tsv"}:
        return CsvFile(path)
    raise ConfigError(f"{path} is neither a .jsonl nor a .csv file", "docs/question-files.md describes both")


def _canonical(raw: Mapping[str, str], where: str) -> QuestionRow:
    """The row in the fields of JSON Lines, without empty ones."""
    read = FieldRow(where, {name: read_cell(cell) for name, cell in raw.items()}, is_csv=True)
    found: QuestionRow = {name: str(cell) for name, cell in read.fields.items() if means(name) not in _WORDS}
    found |= {
        "question": str(read.fields.get("question", "")).strip(),
        "answers": list(answers_of(read)),
        "evidence": evidence_cells(evidence_of(read)),
    }
    return {name: value for name, value in found.items() if value}


def _answers_cell(answers: Sequence[str]) -> str:
    """Answers as a cell that is read as exactly these. ConfigError: there is none."""
    for cell in ("|".join(answers), json.dumps(list(answers), ensure_ascii=False)):
        if answers_of(FieldRow("", {"answers": cell}, is_csv=True)) == tuple(answers):
            return cell
    raise ConfigError("these answers cannot be written in a CSV cell", "write each on one line")


def _refuse_repeated(path: Path, rows: Sequence[QuestionRow]) -> None:
    seen = set()
    for row in rows:
        if row["id"] in seen:
            raise DataError(f"{path}: the id '{row['id']}' occurs twice", "give each question its own")
        seen.add(row["id"])
