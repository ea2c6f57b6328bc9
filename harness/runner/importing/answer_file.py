"""Reads a file of answers that were produced elsewhere: JSON Lines, JSON, CSV or Parquet. It is untrusted.

Columns may have the names of other tools (`harness.datasets.column_names`). Columns that are not read are named.
Null means that a field is missing. Integers may be written as 3.0, as pandas does in columns with gaps.
"""

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from harness.core.errors import ConfigError, DataError
from harness.core.records import Context, Record
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
from harness.datasets.row_fields import kind_of
from harness.datasets.table_reading import FieldRow, FieldTable, plain_name, read_table
from harness.evaluators.scores import bounded

_MOST_REPEATS = 1000
_MOST_COUNTED = 10**12
_LONGEST_S = 1e9
_TEXT_KEYS = ("page_content", "content")
"""Keys of a context's text in LangChain and Haystack."""


def _integer(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _identifier(value: Any) -> Any:
    number = _integer(value)
    return str(number) if isinstance(number, int) and not isinstance(number, bool) else value


def _context(value: Any) -> Any:
    if isinstance(value, str):
        return {"text": value, "doc_ids": ()}
    if not isinstance(value, Mapping):
        return value
    given = {name: value[name] for name in ("text", "score", "kind") if value.get(name) is not None}
    if "text" not in given and (texts := [value[name] for name in _TEXT_KEYS if value.get(name) is not None]):
        given["text"] = texts[0]
    doc_ids = value.get("doc_ids")
    doc_ids = value.get("doc_id") if doc_ids is None or doc_ids == [] else doc_ids
    several = doc_ids if isinstance(doc_ids, list) else [] if doc_ids is None else [doc_ids]
    return {**given, "doc_ids": tuple(map(_identifier, several))}


def _utc_time(text: str) -> str:
    moment = datetime.fromisoformat(text)
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    except OverflowError as error:
        raise ValueError("in UTC it is before the year 1 or after 9999") from error


Identifier = Annotated[str, BeforeValidator(_identifier)]
Count = Annotated[int, BeforeValidator(_integer), Field(ge=0, le=_MOST_COUNTED)]
Seconds = Annotated[float, Field(ge=0, le=_LONGEST_S)]
Contexts = Annotated[tuple[Annotated[Context, BeforeValidator(_context)], ...], Field(strict=False)]


class ImportedRow(Record):
    """One answer. Fields that the file does not give are None."""

    place: str
    """Its place in the file: `line 3`, or `row 3` of an array."""
    query_id: Identifier | None = None
    query: str | None = None
    repeat: Annotated[Count, Field(lt=_MOST_REPEATS)] = 0
    answer: str | None = None
    error: str | None = None
    """Why there is no answer; blank if there was no error."""
    contexts: Contexts | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cached_tokens: Count | None = None
    """The part of `input_tokens` that was read from a prompt cache."""
    model_calls: Count | None = None
    latency_s: Seconds | None = None
    reported_score: Annotated[float, Field(ge=0, le=1)] | None = None
    """The score that the other tool gave the answer."""
    started_at: Annotated[str, AfterValidator(_utc_time)] | None = None
    """ISO 8601; UTC if it has no time zone."""

    @property
    def has_tokens(self) -> bool:
        """Whether both token counts are known, or no model was called. Every call has input, so 0 is unknown."""
        return self.model_calls == 0 or (bool(self.input_tokens) and self.output_tokens is not None)

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        if self.query_id is None and self.query is None:
            raise ValueError("neither query nor query_id is given")
        if self.model_calls == 0 and (self.input_tokens or self.output_tokens):
            raise ValueError("model_calls is 0, but tokens are given")
        if (self.cached_tokens or 0) > (self.input_tokens or 0):
            raise ValueError("cached_tokens is greater than input_tokens")
        return self


FIELDS = tuple(name for name in ImportedRow.model_fields if name != "place")
NUMBERS = (
    "repeat",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "model_calls",
    "latency_s",
    "reported_score",
)


_MOST_BYTES = 1_000_000_000
_SYNONYMS = {
    "query": ("query", "question", "prompt"),
    "answer": ("answer", "response", "prediction", "reply", "output", "completion"),
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
    whole = read_table(path, most_bytes=_MOST_BYTES, noun="rows", answers=True).with_whole_numbers()
    rows = _kept(whole.rows, where)
    names = tuple(name for name in whole.names if not where or any(name in row.given for row in rows))
    table = replace(whole, names=names, rows=tuple(rows))
    columns = _columns(path, table, fields)
    given = [(row, _given(row, columns)) for row in table.rows]
    read = tuple(_parse(path, row, values) for row, values in given)
    score_names = {str(row.fields[_SCORE_NAME]) for row in rows if table.tool and _SCORE_NAME in row.fields}
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
    """DataError or ConfigError for a required or mapped field that no row has: all rows would be failures."""
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
    other_names = {plain_name(name) for name in (*NUMBERS, *itertools.chain(*QUESTION_FILE["answers"]))}
    likely = [
        name
        for word in _SYNONYMS[field]
        for name in sorted(names, key=len)
        if word in name and plain_name(name) not in other_names and not any(gold in name for gold in _GOLD_SIDE)
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
    """A number in a CSV cell. Other text stays as it is, and is refused."""
    try:
        return float(cell) if isinstance(cell, str) and cell.strip() else None
    except ValueError:
        return cell


def _parse(path: Path, row: FieldRow, given: Mapping[str, Any]) -> ImportedRow:
    known = {name: value for name, value in given.items() if value is not None}
    for name, value in known.items():
        # JSON can contain a lone surrogate, which UTF-8 cannot encode: writing the record would fail.
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            what = f"{path} {row.place}: '{name}' has an unpaired surrogate"
            raise DataError(what, "write the whole character, or remove it") from error
    try:
        return ImportedRow(place=row.place, **known)
    except ValidationError as error:
        raise DataError(f"{path} {row.place}: {_explained(error)}", "correct or remove that row") from error


def _explained(error: ValidationError) -> str:
    detail = error.errors()[0]
    problem = detail["msg"].removeprefix("Value error, ").replace("tuple", "list")
    parts = [str(part) for part in detail["loc"] if isinstance(part, int) or part.isidentifier()]
    if not parts:
        return problem
    return f"'{'.'.join(parts)}': {problem[0].lower()}{problem[1:]}, not {_shown(detail['input'])}"


def _shown(value: Any) -> str:
    plain = isinstance(value, int | float | str)
    return bounded(json.dumps(value), 40) if plain else kind_of(value)
