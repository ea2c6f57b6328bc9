"""Reads a file of rows: JSON Lines, JSON, CSV or Parquet, packed with gzip or not."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

from harness.core.errors import DataError
from harness.datasets.cell_values import is_missing
from harness.datasets.file_content import FileContent, begins_with, read_content, read_csv_table
from harness.datasets.json_rows import json_rows
from harness.datasets.result_logs import check_log, sample_row
from harness.datasets.row_fields import kind_of
from harness.display.csv_sheets import read_cell

MOST_BYTES = 64_000_000
"""Largest file; a hundred thousand questions with quotes need about half of it."""
_CSV, _JSON = (".csv", ".tsv"), (".json", ".jsonl", ".ndjson")
"""By file extension; other files by their first character."""
_FLOAT = re.compile(r"\s*-?\d+\.0\s*")
_LISTS = frozenset(
    {"results", "rows", "data", "examples", "testcases", "testrundata", "questions", "runs", "records"}
    | {"items", "goldens", "samples"}
)
"""Keys of a JSON object that may hold the rows, at most two levels deep: promptfoo's are in `results.results`."""
_OF_A_ROW = {"question", "query", "userinput", "input", "inputs", "answer"}
_QRELS = re.compile(r"\S+[ \t]+(?:0|Q0)[ \t]+\S+[ \t]+-?\d+[ \t]*")


@dataclass(frozen=True)
class FieldRow:
    """One row: values by field name in lower case."""

    where: str
    """File and line, for messages."""
    given: Mapping[str, object]
    """Also null, and blank texts, which are answers in a file of answers."""
    is_csv: bool
    """Whether values are CSV cells, which may contain several answers."""
    place: str = ""
    """`line 3` of the file, or `row 3` of an array or Parquet file."""

    @cached_property
    def fields(self) -> Mapping[str, object]:
        """The values that are neither null nor blank."""
        return {
            name: value
            for name, value in self.given.items()
            if value is not None and (not isinstance(value, str) or value.strip())
        }


@dataclass(frozen=True)
class FieldTable:
    names: tuple[str, ...]
    """All field names, also of fields that are empty in every row."""
    rows: tuple[FieldRow, ...]
    sha256: str = ""
    is_ranking: bool = False
    """Whether the file is a TREC run: for each query the documents that were retrieved, and no answer."""
    tool: str = ""
    """The tool whose result file it is, which has the questions as well as the answers; or empty."""

    @cached_property
    def filled(self) -> Counter[str]:
        """Number of rows that have a value, by field."""
        return Counter(name for row in self.rows for name in row.fields)

    def asked_once(self) -> FieldTable:
        """With the first row of each query, if it is a result file: it may have several models or repeats."""
        first: dict[object, FieldRow] = {}
        for row in self.rows:
            query_id = row.given.get("query_id")
            first.setdefault(row.place if query_id is None else str(query_id), row)
        return replace(self, rows=tuple(first.values())) if self.tool else self

    def with_whole_numbers(self) -> FieldTable:
        """24.0 as 24 where all numbers of a CSV column end in .0: pandas writes integers with gaps so."""
        cells = [(name, str(value)) for row in self.rows if row.is_csv for name, value in row.given.items()]
        given = {name for name, text in cells if not is_missing(text)}
        whole = given - {name for name, text in cells if not (is_missing(text) or _FLOAT.fullmatch(text))}
        rows = []
        for row in self.rows:
            written = {name: str(row.given[name]).strip().removesuffix(".0") for name in whole & row.given.keys()}
            rows.append(replace(row, given={**row.given, **written}) if written else row)
        return replace(self, rows=tuple(rows))


def read_table(
    path: Path, *, most_bytes: int = MOST_BYTES, noun: str = "questions", answers: bool = False
) -> FieldTable:
    """Read the file without blank lines. DataError if it is unreadable or empty. `noun`: the rows, in messages.
    `answers`: of systems, as they are. A TREC run file is read as well, and a CSV cell keeps the apostrophe that
    stops a spreadsheet from running it; otherwise `'-3` is -3.
    """
    content = read_content(path, most_bytes, rankings=answers)
    if answers and content.is_ranking:
        return FieldTable(("query_id", "contexts"), tuple(_rankings(path, content.text)), content.sha256, True)
    tool, rows, header = content.tool, list[FieldRow](), list[str]()
    if content.rows is not None:
        header = [name.strip().lower() for name in next(iter(content.rows), ())]
        placed: Iterable[tuple[str, object]] = ((f"row {n}", _plain(one)) for n, one in enumerate(content.rows, 1))
    elif _is_json(path, content.text):
        placed = _json_rows(path, content.text)
    else:
        placed = ()
        header, rows = _csv_rows(path, content, are_guarded=not answers)
    for place, value in placed:
        if not isinstance(value, Mapping):
            what = f"{path} {place} is {kind_of(value)}, not an object"
            raise DataError(what, 'write one {"question": "..."} per line')
        found, sample = sample_row(value)
        tool = tool or found
        rows.append(json_row(sample, f"{path} {place}", place))
    names = dict.fromkeys((*header, *(name for row in rows for name in row.given)))
    if not rows or not names:
        raise DataError(f"{path} contains no {noun}", "write one per line, see docs/question-files.md")
    return FieldTable(tuple(names), tuple(rows), content.sha256, tool=tool)


def _csv_rows(path: Path, content: FileContent, *, are_guarded: bool) -> tuple[list[str], list[FieldRow]]:
    if content.is_ranking:
        what = f"{path} is a TREC run file: documents that were retrieved, without questions"
        raise DataError(what, "use a file of questions; `rag-harness import` reads a TREC run")
    if begins_with(content.text, _QRELS):
        what = f"{path} is a file of TREC relevance judgements (qrels) without questions"
        raise DataError(what, "use a BEIR folder (--dataset beir), or write the questions with their documents")
    table, rows = read_csv_table(path, content.text), []
    for place, cells in table.rows:
        filled = ((name, cell) for name, cell in zip(table.names, cells, strict=True) if cell.strip() and name)
        given = {name: read_cell(cell) if are_guarded else cell for name, cell in filled}
        rows.append(FieldRow(f"{path} {place}", given, is_csv=True, place=place))
    return list(filter(None, table.names)), rows


def plain_name(name: str) -> str:
    """The name of a field without case, spaces, `_` and `-`: tools write expected_output and expectedOutput. Not
    of promptfoo's `__expected`: its assertion (`contains: x`) is no answer.
    """
    return name if name.startswith("__") else re.sub(r"[\s_-]", "", name.lower())


def json_row(value: Mapping[str, object], where: str, place: str = "") -> FieldRow:
    """A JSON object as a row. DataError: two field names differ only in case."""
    given: dict[str, object] = {}
    for name, held in value.items():
        own = name.strip().lower()
        is_null = is_missing(held) and not isinstance(held, str)
        if not is_null and given.get(own) is not None:
            raise DataError(f"{where} has the field '{name[:60]}' twice", "remove one of them")
        given[own] = given.get(own) if is_null else held
    return FieldRow(where, given, is_csv=False, place=place)


def _is_json(path: Path, text: str) -> bool:
    kind = Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()
    start = text.lstrip()
    # A name may be wrong, but no CSV file begins like an object.
    is_json = start.startswith(("{", "[")) and (kind not in _CSV or bool(re.match(r'\[?\s*\{\s*"', start)))
    return is_json or kind in _JSON


def _rankings(path: Path, text: str) -> Iterator[FieldRow]:
    """A row for each query of a TREC run, with its documents by falling score, as trec_eval orders them."""
    found: dict[str, list[tuple[float, str]]] = {}
    first: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            query_id, _, doc_id, _, score, _ = line.split()
            value = float(score)
            if not math.isfinite(value):
                raise ValueError(score)
        except ValueError:
            what = f"{path} line {number} is not `QUERY Q0 DOCUMENT RANK SCORE TAG` of a TREC run file"
            raise DataError(what, "correct or remove that line") from None
        first.setdefault(query_id, number)
        found.setdefault(query_id, []).append((value, doc_id))
    for query_id, documents in found.items():
        ranked = sorted(documents, key=lambda one: -one[0])
        contexts = [{"text": "", "doc_id": doc_id, "score": score} for score, doc_id in ranked]
        place = f"line {first[query_id]}"
        given = {"query_id": query_id, "contexts": contexts}
        yield FieldRow(f"{path} {place}", given, is_csv=False, place=place)


def _json_rows(path: Path, text: str) -> Iterator[tuple[str, object]]:
    """Place and value of each row, also of rows that are inside an object: a list of them, the columns of a table,
    the questions of SQuAD's articles, or the rows in an answer of the Hub's server.
    """
    rest = json_rows(path, text)
    first = list(islice(rest, 2))
    whole = first[0][1] if len(first) == 1 and not text.lstrip().startswith("[") else None
    if isinstance(whole, Mapping):
        check_log(path, whole)
        inner = _list_in(whole)
        table = _from_columns(whole) if inner is None else inner
        if table is not whole:
            first = [("", one) for one in (table if isinstance(table, list) else [table])]
    number = 0
    for place, one in chain(first, rest):
        for row in _rows_inside(one):
            number += 1
            yield place if place.startswith("line") else f"row {number}", row


def _rows_inside(value: object) -> Sequence[object]:
    if not isinstance(value, Mapping):
        return (value,)
    paragraphs = value.get("paragraphs")
    if isinstance(paragraphs, list):
        texts = [text for text in paragraphs if isinstance(text, Mapping)]
        if texts and all(isinstance(text.get("qas"), list) for text in texts):
            return [row for text in texts for row in text["qas"]]
    return (value["row"] if "row" in value and "row_idx" in value else value,)


def _list_in(value: Mapping[str, Any], depth: int = 2) -> list[object] | None:
    """The list of objects in an object that is itself no row; None if there is none."""
    if _is_row(value):
        return None
    for name, held in value.items():
        if plain_name(name) in _LISTS:
            if isinstance(held, list) and held and all(isinstance(one, Mapping) for one in held):
                return held
            if isinstance(held, Mapping) and depth > 1 and (found := _list_in(held, depth - 1)) is not None:
                return found
    return None


def _from_columns(value: Mapping[str, Any]) -> object:
    """The rows of a table that was written by columns, as pandas and Hugging Face do; other values unchanged."""
    columns = list(value.values())
    names, data = value.get("columns"), value.get("data")
    if isinstance(names, list) and isinstance(data, list) and all(isinstance(row, list) for row in data):
        return [{str(name): one for name, one in zip(names, row, strict=False)} for row in data]
    if len(columns) > 1 and all(isinstance(one, list) and len(one) == len(columns[0]) for one in columns):
        return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]
    if not columns or not all(isinstance(one, Mapping) and one for one in columns):
        return value
    if not _is_row(value) and all(_is_row(one) for one in columns):
        return [_labelled(row, label) for label, row in value.items()]
    labels = list(columns[0])
    is_labelled = len(labels) > 1 or labels[0].isdigit()
    if is_labelled and _is_row(value) and all(list(one) == labels for one in columns):
        return [_labelled({name: column[key] for name, column in value.items()}, key) for key in labels]
    return value


def _labelled(row: Mapping[str, Any], label: str) -> Mapping[str, Any]:
    """The row with its label as id, unless it has one or the label is only its position."""
    has_id = any(plain_name(name) in {"id", "queryid", "qid", "questionid"} for name in row)
    return row if has_id or label.isdigit() else {"id": label, **row}


def _is_row(value: Mapping[str, Any]) -> bool:
    return not _OF_A_ROW.isdisjoint(map(plain_name, value))


def _plain(value: Any) -> Any:
    """A value of a Parquet file as JSON, without the null entries that Parquet adds for keys of other rows."""
    if isinstance(value, Mapping):
        return {str(name): _plain(held) for name, held in value.items() if held is not None}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime) and value.tzinfo is None and value.time() == time():
        return value.date().isoformat()  # pandas has dates as times.
    return value.isoformat() if isinstance(value, datetime | date) else value
