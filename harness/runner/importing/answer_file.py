"""Reads a file of answers that were produced elsewhere: JSON Lines, JSON, CSV or Parquet.

Columns may have the names of other tools (`harness.datasets.column_names`). Columns that are not read are named.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.core.errors import ConfigError, DataError
from harness.datasets.cell_values import as_text, is_missing, parsed_cell
from harness.datasets.column_names import (
    ANSWER_FILE,
    QUESTION_FILE,
    Columns,
    Tiers,
    find_columns,
    listed_names,
    near_name,
    value_at,
)
from harness.datasets.table_reading import FieldRow, FieldTable, plain_name, read_table
from harness.evaluators.scores import bounded
from harness.runner.importing.answer_row import FIELDS, NUMBERS, ImportedRow, parse_row

_MOST_BYTES = 1_000_000_000
_SYNONYMS = {
    "query": ("query", "question", "prompt"),
    "answer": ("answer", "response", "prediction", "output", "completion"),
}
_GOLD_SIDE = ("gold", "reference", "expected", "truth", "target", "correct")
"""Words in the names of fields with reference answers. These are never suggested as the answer field."""
_ROLES: Mapping[str, Tiers] = {name: ANSWER_FILE.get(name, ((name,),)) for name in FIELDS}
_TEXTS = frozenset({"query", "query_id", "answer"})
"""Fields in which a word such as `NA` is a text, not a missing value."""
_ANY_ID: Tiers = (("id", "_id", "example_id"),)
"""Names of an id that are read if the file has no text of the query."""
_CONTEXT_IDS = "retrieved_ids"
"""AutoRAG's column with the document of each context."""
_SCORE_NAME = "score_name"
"""In result files of other tools: the metric whose value is the reported score."""


@dataclass(frozen=True)
class ImportedFile:
    """The imported rows, with the name and checksum of their file."""

    name: str
    sha256: str
    rows: tuple[ImportedRow, ...]
    columns: Mapping[str, tuple[str, ...]]
    """Field of `ImportedRow` -> its columns in the file."""
    notes: tuple[str, ...] = ()
    """Columns under names of other tools, and columns that are not read."""
    is_ranking: bool = False
    """Whether it is a TREC run file: documents without texts and answers."""
    tool: str = ""
    """The tool whose result file it is, which has the questions too; or empty."""
    score_names: tuple[str, ...] = ()
    """The metrics of that tool whose values are the reported scores."""


def read_file(path: Path, *, fields: Mapping[str, str], where: Mapping[str, str]) -> ImportedFile:
    """The rows of `path` in which the fields of `where` have these values (compared as text).

    `fields` maps fields of `ImportedRow` to names in the file. DataError or ConfigError for a file or row that is
    invalid or too large.
    """
    whole = read_table(path, most_bytes=_MOST_BYTES, noun="rows", rankings=True).with_whole_numbers()
    rows = _kept(whole.rows, where)
    names = tuple(name for name in whole.names if not where or any(name in row.given for row in rows))
    table = replace(whole, names=names, rows=tuple(rows))
    columns = _columns(path, table, fields)
    given = [(row, _given(row, columns)) for row in table.rows]
    read = tuple(_parse(path, row, values) for row, values in given)
    score_names = {str(row.fields[_SCORE_NAME]) for row in rows if row.tool and _SCORE_NAME in row.fields}
    seen = [name.partition(".")[0] for name in where] + [_CONTEXT_IDS] * ("contexts" in columns.roles)
    return ImportedFile(
        path.name,
        table.sha256,
        read,
        columns.roles,
        # The columns of a result file are ours, not the file's.
        () if table.tool else tuple(columns.notes(table, own=FIELDS, passed_over=seen)),
        table.is_ranking,
        table.tool,
        () if "reported_score" in fields else tuple(sorted(score_names)),
    )


def quoted(text: str, longest: int = 60) -> str:
    """`text` in quotes, shortened, with control characters escaped."""
    return repr(bounded(text, longest))


def _kept(rows: Sequence[FieldRow], where: Mapping[str, str]) -> Sequence[FieldRow]:
    for field, value in where.items():
        name = field.strip().lower()
        said = [(row, value_at(row.given, name)) for row in rows]
        said = [(row, one) for row, one in said if one is not None or name in row.given]
        if not said:
            names = list(dict.fromkeys(name for row in rows for name in row.given))
            raise ConfigError(f"--where {quoted(field)}: no row has that field", near_name(field, names))
        values = list(dict.fromkeys(_as_text(one) for _, one in said))
        rows = [row for row, one in said if _as_text(one) == value]
        if not rows:
            what = f"--where {quoted(field)}: no row has the value {quoted(value)}"
            raise ConfigError(what, near_name(value, values))
    return rows


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _columns(path: Path, table: FieldTable, fields: Mapping[str, str]) -> Columns:
    """The columns of the fields. DataError or ConfigError for a required or mapped field that no row has: all rows
    would be failures.
    """
    columns = find_columns(path, table, _ROLES, fields)
    if not {"query", "query_id"} & set(columns.roles):
        columns = find_columns(path, table, {**_ROLES, "query_id": _ANY_ID}, fields)
    if not {"query", "query_id"} & set(columns.roles):
        raise _missing(path, "query", table.names)
    if (
        "answer" not in columns.roles
        and not table.is_ranking
        and any(columns.value(row, "error") is None for row in table.rows)
    ):
        raise _missing(path, "answer", table.names)
    return columns


def _missing(path: Path, field: str, names: Sequence[str]) -> DataError:
    gold_names = {plain_name(name) for tier in QUESTION_FILE["answers"] for name in tier}
    likely = [
        name
        for word in _SYNONYMS[field]
        for name in sorted(names, key=len)
        if word in name and plain_name(name) not in gold_names and not any(gold in name for gold in _GOLD_SIDE)
    ]
    # Only suggest names that need no quoting in a shell.
    offered = next((name for name in likely if re.fullmatch(r"[\w.-]+", name)), None)
    fix = f"did you mean --field {field}={offered}?" if offered else f"map one with --field {field}=NAME"
    return DataError(f"{path}: no row has the field '{field}'; the fields are {listed_names(names)}", fix)


def _given(row: FieldRow, columns: Columns) -> dict[str, Any]:
    """The values of a row by field of `ImportedRow`."""
    given = {name: columns.value(row, name, blank=True) for name in FIELDS if name not in ANSWER_FILE}
    given |= {name: columns.value(row, name) for name in ("query_id", "contexts")}
    given |= {name: columns.text(row, name, ANSWER_FILE[name], blank=True) for name in ("query", "answer")}
    if given["contexts"] is None:
        given["contexts"] = _beside_answer(row, columns)
    given["contexts"] = _with_ids(parsed_cell(given["contexts"], row.where), row)
    if isinstance(given["answer"], int | float) and not isinstance(given["answer"], bool):
        given["answer"] = as_text(row.where, "answer", given["answer"])
    given |= {name: None for name in given if name not in _TEXTS and is_missing(given[name])}
    if row.is_csv:
        given |= {name: _number(given[name]) for name in NUMBERS}
    if row.given.get("failurereason") == 1:
        # promptfoo writes a failed assertion as an error, although there is an answer.
        given["error"] = None
    return given


def _beside_answer(row: FieldRow, columns: Columns) -> object:
    """The contexts in the same object as the answer, such as LangSmith's `outputs`."""
    held = parsed_cell(columns.value(row, "answer"))
    known = {plain_name(name) for tier in ANSWER_FILE["contexts"] for name in tier}
    inside = held.items() if isinstance(held, Mapping) else ()
    return next((value for name, value in inside if plain_name(str(name)) in known), None)


def _with_ids(contexts: object, row: FieldRow) -> object:
    """Contexts that are texts, with the documents that a column of the same length names."""
    ids = parsed_cell(row.fields.get(_CONTEXT_IDS))
    if not isinstance(contexts, list) or not isinstance(ids, list):
        return contexts
    # AutoRAG nests both once more when a query was expanded.
    contexts, ids = (one[0] if len(one) == 1 and isinstance(one[0], list) else one for one in (contexts, ids))
    if len(contexts) != len(ids) or not all(isinstance(text, str) for text in contexts):
        return contexts
    return [{"text": text, "doc_id": doc_id} for text, doc_id in zip(contexts, ids, strict=True)]


def _number(cell: object) -> object:
    """A number in a CSV cell. Other text stays as it is; `parse_row` refuses it."""
    try:
        return float(cell) if isinstance(cell, str) and cell.strip() else None
    except ValueError:
        return cell


def _parse(path: Path, row: FieldRow, given: Mapping[str, Any]) -> ImportedRow:
    try:
        return parse_row(given, row.place)
    except DataError as error:
        raise DataError(f"{path} {error.what}", error.fix) from error
