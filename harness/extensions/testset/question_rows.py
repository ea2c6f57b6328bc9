"""The rows of question files that a person reviews: their formats, their words, and edits of them.

The files are JSON Lines, and CSV whose columns, separator and unchanged cells stay. Edits pass the free checks:
quotes stay verbatim whoever types them.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from harness.core.errors import ConfigError, DataError
from harness.core.hashing import short_digest
from harness.core.records import Document, Evidence
from harness.datasets.column_names import QUESTION_FILE
from harness.datasets.file_content import CsvTable, read_content, read_csv_table
from harness.datasets.local_files import read_rows
from harness.datasets.question_files.quotes import QuoteFinder
from harness.datasets.question_files.row_validation import AskedQuote, answers_of, evidence_of, means
from harness.datasets.table_reading import MOST_BYTES, FieldRow, json_row, plain_name
from harness.display.csv_sheets import read_cell, write_cell
from harness.evaluators.answer_normalisation import abstains
from harness.extensions.testset.question_records import PAIRED, QuestionCheck, rows_text
from harness.extensions.testset.text_checks import check_quotes, stands_alone, well_formed

QuestionRow = dict[str, JsonValue]
_WORDS = ("question", "answers", "evidence")
"""Fields that an edit may change; a CSV file has them in several columns."""
_BOM = "\ufeff"
_LONGEST, _MOST = 4_000, 20
_OF_OTHER_WORDS = ("distinct", "follows", "closed_book", "needs_both", "not_found")
"""Verdicts on the earlier wording, which are invalid after an edit."""


@dataclass(frozen=True)
class RowWords:
    """What a person may edit."""

    question: str
    answers: tuple[str, ...]
    evidence: tuple[AskedQuote, ...]

    @classmethod
    def of(cls, row: Mapping[str, JsonValue], where: str = "") -> "RowWords":
        """DataError, prefixed with `where`: a value has the wrong type."""
        return cls.read(json_row(row, where or f"question '{row.get('id')}'"))

    @classmethod
    def read(cls, row: FieldRow) -> "RowWords":
        return cls(str(row.fields.get("question", "")), answers_of(row), evidence_of(row))

    def cells(self) -> dict[str, str]:
        """The same as cells of a sheet."""
        cells = {"question": self.question, "answers": answers_cell(self.answers)}
        for number, item in enumerate(self.evidence, start=1):
            cells |= dict(zip(evidence_columns(number), (item.quote, item.document), strict=True))
        return cells


def answers_cell(answers: Sequence[str]) -> str:
    """The answers separated by |, or as a JSON list if those would be read as others."""
    joined = "|".join(answers)
    is_read = answers_of(FieldRow("", {"answers": joined}, is_csv=True)) == tuple(answers)
    return joined if is_read else json.dumps(list(answers), ensure_ascii=False)


def evidence_columns(number: int) -> tuple[str, str]:
    """The sheet columns of the piece of evidence with that number."""
    return ("quote", "document") if number == 1 else (f"quote_{number}", f"document_{number}")


def evidence_cells(items: Iterable[AskedQuote]) -> list[JsonValue]:
    """As in a row of JSON Lines, without empty fields."""
    named = [(("document", one.document), ("quote", one.quote)) for one in items]
    return [{name: value for name, value in fields if value} for fields in named]


def words_version(cells: Mapping[str, str]) -> str:
    """A digest of the words, ignoring white space: shows whether a row was changed since it was read."""
    words = {name: " ".join(cell.split()) for name, cell in cells.items()}
    columns = ("question", "answers", "quote", "document")
    own = {name: said for name, said in words.items() if name in columns or name.startswith(columns[2:])}
    return short_digest({name: said for name, said in own.items() if said})


class JsonLinesFile:
    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[QuestionRow]:
        """The rows, each with its own id or one from its position. DataError or ConfigError names the first
        mistake.
        """
        rows: list[QuestionRow] = []
        for number, entry in enumerate(read_rows(self._path), start=1):
            row: dict[str, Any] = dict(entry.fields)
            entry.text("question", blank=True)
            RowWords.of(row, entry.where)
            try:
                rows_text([row])
            except ValueError as error:
                what = f"{entry.where} has a number that JSON cannot write"
                raise DataError(what, "correct or remove that value") from error
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
            yield "answer" if "answer" in self._names else "answers", answers_cell(words.answers)
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
    words = RowWords.read(read)
    found |= {
        "question": words.question.strip(),
        "answers": list(words.answers),
        "evidence": evidence_cells(words.evidence),
    }
    return {name: value for name, value in found.items() if value}


def _refuse_repeated(path: Path, rows: Sequence[QuestionRow]) -> None:
    seen = set()
    for row in rows:
        if row["id"] in seen:
            raise DataError(f"{path}: the id '{row['id']}' occurs twice", "give each question its own")
        seen.add(row["id"])


class KnownDocuments:
    """The documents that quotes must match; may be empty."""

    def __init__(self, documents: Mapping[str, Document]) -> None:
        self.by_id = documents
        self._finder = QuoteFinder(list(documents.values()), {})

    def __bool__(self) -> bool:
        return bool(self.by_id)

    def placed(self, item: AskedQuote) -> Evidence:
        """The quote with its document's id and in its document's spelling, if there is such a document."""
        holders = [] if item.document else self._finder.holders(item.quote)
        doc_id = self._finder.document(item.document) if item.document else holders[0] if len(holders) == 1 else ""
        if not doc_id:
            return Evidence(doc_id=item.document, fact=item.quote)
        return Evidence(doc_id=doc_id, fact=self._finder.verbatim(doc_id, item.quote) or item.quote)


def with_edit(row: Mapping[str, JsonValue], edit: RowWords, documents: KnownDocuments) -> dict[str, JsonValue]:
    """The row with these texts, quotes as their documents spell them, without verdicts on the old texts. A changed
    field is kept under one name only: an `answer` beside `answers` would count as right too. ConfigError: they are
    too long.
    """
    quoted = [text for one in edit.evidence for text in (one.quote, one.document)]
    longest = max(map(len, (edit.question, *edit.answers, *quoted)))
    if longest > _LONGEST or max(len(edit.answers), len(edit.evidence)) > _MOST:
        what = f"'{row.get('id')}' is not kept: the edit is too long"
        raise ConfigError(what, f"write at most {_LONGEST:,} characters, {_MOST} answers and {_MOST} quotes")
    was = RowWords.of(row)
    edited = [AskedQuote(one.quote.strip(), one.document.strip()) for one in edit.evidence]
    quotes = [AskedQuote(documents.placed(one).fact, one.document) for one in edited if one.quote or one.document]
    answers = [" ".join(answer.split()) for answer in edit.answers]
    changed: dict[str, JsonValue] = {}
    if (question := " ".join(edit.question.split())) != was.question:
        changed["question"] = question
    if (filled := tuple(filter(None, answers))) != was.answers:
        changed["answers"] = list(filled)
    if tuple(quotes) != was.evidence:
        changed["evidence"] = evidence_cells(quotes)
    if not changed:
        return dict(row)
    kept = {name: value for name, value in row.items() if name in changed or means(name) not in changed}
    checks = row.get("checks")
    said = checks.items() if isinstance(checks, dict) else ()
    still_said = {name: what for name, what in said if name not in _OF_OTHER_WORDS}
    return {**kept, **changed, "checks": {**still_said, "edited": "by a person"}}


def with_kind_of_quotes(row: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The row, as a question for a single fact if its type needs two documents and it quotes one."""
    documents = {item.document for item in RowWords.of(row).evidence}
    return {**row, "type": "single_fact"} if row.get("type") in PAIRED and len(documents) == 1 else dict(row)


def verdicts(row: Mapping[str, JsonValue], documents: KnownDocuments) -> list[QuestionCheck]:
    """The verdicts of the free checks; quotes are not checked without documents."""
    words, kind = RowWords.of(row), str(row.get("type", ""))
    asked_kind = "unanswerable" if all(map(abstains, words.answers)) else kind
    answer = next(iter(words.answers), "")
    found = [well_formed(asked_kind, words.question, answer), stands_alone(words.question)]
    if words.evidence and documents:
        found.append(_held(kind, words.evidence, documents))
    return found


def refused(row: Mapping[str, JsonValue], documents: KnownDocuments) -> str:
    """Why the row cannot be kept; empty if it can. Whether it stands alone is for the person to decide."""
    if not RowWords.of(row).question.strip():
        return "it has no question"
    failed = [check for check in verdicts(row, documents) if check.passed is False and check.name == "quotes"]
    return failed[0].note if failed else ""


def _held(kind: str, evidence: Sequence[AskedQuote], documents: KnownDocuments) -> QuestionCheck:
    placed = [documents.placed(item) for item in evidence]
    for item in placed:
        if not item.doc_id:
            note = f"'{item.fact[:60]}' is in no document, or in several without naming one"
            return QuestionCheck(name="quotes", passed=False, note=note)
        if not item.fact and item.doc_id not in documents.by_id:
            return QuestionCheck(name="quotes", passed=False, note=f"no document '{item.doc_id}'")
    quoting = [item for item in placed if item.fact]
    if not quoting:
        return QuestionCheck(name="quotes", passed=True)
    texts = {doc_id: document.text for doc_id, document in documents.by_id.items()}
    return check_quotes(kind if len(quoting) == len(placed) else "", quoting, texts)
