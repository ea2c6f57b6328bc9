"""Validates the rows of a question file, which are untrusted."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import DataError, nearest
from harness.datasets.question_files.file_reading import FieldRow, FieldTable
from harness.datasets.row_fields import kind_of

_FORMAT = "docs/question-files.md describes the format"
_FIELDS = ("question", "id", "answers", "answer", "evidence", "type", "made_by", "seen_by", "quote", "document")
_PASSED_OVER = ("checks", "notes")
_NUMBERED = re.compile(r"(quote|document)(?:_([1-9]\d?))?")
_ASKED = ("query", "questions", "prompt", "input", "text")
"""Names that other tools use for the question field."""
_SHOWN = 12
_LONGEST_NAME = 200
"""Longest id or type in characters, because both appear in tables."""
DEFAULT_TYPE = "question"


@dataclass(frozen=True)
class AskedQuote:
    """Evidence as given in the file; either field may be empty."""

    quote: str
    document: str


@dataclass(frozen=True)
class AskedQuestion:
    """One row; missing fields are empty."""

    where: str
    text: str
    query_id: str
    answers: tuple[str, ...]
    evidence: tuple[AskedQuote, ...]
    query_type: str
    made_by: str
    seen_by: str


def parse_rows(path: Path, table: FieldTable) -> tuple[list[AskedQuestion], list[str]]:
    """The questions, and the names of ignored fields. DataError names the first mistake with its line."""
    names = table.names
    if "question" not in names:
        near = next((name for name in _ASKED if name in names), "")
        fix = (
            f"rename '{near}' to 'question'"
            if near
            else f"name the column with the questions 'question'; {_FORMAT}"
        )
        raise DataError(f"{path} has no column 'question', its columns are {listed(names)}", fix)
    return [_parse(row) for row in table.rows], _strangers(path, names)


def answers_of(row: FieldRow) -> tuple[str, ...]:
    """All answers of a row from all its answer fields, without duplicates. DataError: a value is not a text."""
    return tuple(dict.fromkeys(_answers(row)))


def evidence_of(row: FieldRow) -> tuple[AskedQuote, ...]:
    """All evidence of a row, given as a list, as one object, or in separate fields, without duplicates."""
    return tuple(dict.fromkeys(_evidence(row)))


def means(name: str) -> str:
    """The field that a name stands for: `answers` for `answer`, `evidence` for `quote_2`."""
    name = name.strip().lower()
    return "evidence" if _NUMBERED.fullmatch(name) else "answers" if name == "answer" else name


def listed(names: Sequence[str]) -> str:
    """The first few names, for messages."""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(repr(shortened(name)) for name in names[:_SHOWN]) + more


def shortened(text: str, most: int = 60) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _strangers(path: Path, names: Sequence[str]) -> list[str]:
    """Names of unknown fields. DataError if one looks like a misspelling of a missing known field."""
    strange = [name for name in names if name not in (*_FIELDS, *_PASSED_OVER) and not _NUMBERED.fullmatch(name)]
    for name in strange:
        near = difflib.get_close_matches(name[:_LONGEST_NAME], _FIELDS, n=1, cutoff=0.8)
        if near and near[0] not in names:
            raise DataError(f"{path}: unknown field '{shortened(name)}'", nearest(near[0], _FIELDS))
    return strange


def _parse(row: FieldRow) -> AskedQuestion:
    if "question" not in row.fields:
        raise DataError(f"{row.where}: the question is empty", "write it, or remove the row")
    return AskedQuestion(
        where=row.where,
        text=_text(row, "question").strip(),
        query_id=_name(row, "id"),
        answers=answers_of(row),
        evidence=evidence_of(row),
        query_type=_name(row, "type") or DEFAULT_TYPE,
        made_by=_name(row, "made_by"),
        seen_by=_name(row, "seen_by"),
    )


def _text(row: FieldRow, name: str) -> str:
    return _as_text(row.where, name, row.fields.get(name, ""))


def _as_text(where: str, name: str, value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        # pandas writes the numbers of a column with gaps as decimals.
        return str(int(value) if isinstance(value, float) and value.is_integer() else value)
    if not isinstance(value, str):
        raise _wrong(where, name, "text", value)
    try:
        # JSON can contain an unpaired surrogate, which UTF-8 files cannot: it would fail later, in a record.
        value.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{where}: '{name}' contains an unpaired surrogate", "correct or remove that character"
        ) from error
    return value


def _wrong(where: str, name: str, wanted: str, value: object) -> DataError:
    return DataError(f"{where}: '{name}' must be {wanted}, not {kind_of(value)}", _FORMAT)


def _name(row: FieldRow, name: str) -> str:
    """A short text on one line."""
    text = " ".join(_text(row, name).split())
    if len(text) > _LONGEST_NAME:
        raise DataError(
            f"{row.where}: '{name}' has {len(text):,} characters", f"use at most {_LONGEST_NAME}; {_FORMAT}"
        )
    return text


def _answers(row: FieldRow) -> list[str]:
    return [answer for name in ("answers", "answer") for answer in _several(row, name) if answer]


def _several(row: FieldRow, name: str) -> list[str]:
    value = row.fields.get(name, "")
    if row.is_csv and isinstance(value, str):
        value = _json_cell(row, name) if value.lstrip().startswith("[") else value.split("|")
    values = value if isinstance(value, list) else [value]
    return [_as_text(row.where, name, one).strip() for one in values if one is not None]


def _json_cell(row: FieldRow, name: str) -> object:
    """The JSON list in a cell; a text that only begins like one is split at |."""
    text = str(row.fields[name])
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list):
        return value
    if name == "evidence":
        raise DataError(
            f"{row.where}: '{name}' is not a JSON list of quotes", f"use columns quote, document; {_FORMAT}"
        )
    return text.split("|")


def _evidence(row: FieldRow) -> list[AskedQuote]:
    value = row.fields.get("evidence", [])
    if isinstance(value, str):
        value = _json_cell(row, "evidence")
    listed_ones = [_quote(row.where, one) for one in (value if isinstance(value, list) else [value])]
    return [one for one in (*listed_ones, *_columns(row)) if one.quote or one.document]


def _quote(where: str, value: object) -> AskedQuote:
    if not isinstance(value, dict):
        raise _wrong(where, "evidence", 'a list of {"quote", "document"}', value)
    if strange := [str(name) for name in value if name not in {"quote", "document"}]:
        what = f"{where}: evidence has the fields {listed([str(name) for name in value])}"
        if not {"quote", "document"} & set(value):
            raise DataError(what, f"name them quote and document, not {listed(strange)}")
    given = {name: value.get(name) for name in ("quote", "document")}
    texts = {name: _as_text(where, name, one).strip() for name, one in given.items() if one is not None}
    return AskedQuote(texts.get("quote", ""), texts.get("document", ""))


def _columns(row: FieldRow) -> list[AskedQuote]:
    """Quotes in separate fields, ordered by their numbers."""
    pairs: dict[int, dict[str, str]] = {}
    for name in row.fields:
        if found := _NUMBERED.fullmatch(name):
            pairs.setdefault(int(found[2] or 1), {})[found[1]] = _text(row, name).strip()
    return [AskedQuote(pair.get("quote", ""), pair.get("document", "")) for _, pair in sorted(pairs.items())]
