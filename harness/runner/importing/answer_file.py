"""Reads a JSON Lines file (UTF-8) of answers that were produced elsewhere.

A bare NaN, which pandas writes for a missing value, is read as null. Fields that `ImportedRow` does not have are
ignored.
"""

import difflib
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.bounded_files import open_plain
from harness.core.errors import ConfigError, DataError
from harness.datasets.row_fields import kind_of
from harness.evaluators.scores import bounded
from harness.runner.importing.answer_row import FIELDS, ImportedRow, parse_row

_LARGEST_ROW_BYTES = 16_000_000
_SHAPE = "write one JSON object per line, in UTF-8"
_MOST_NAMES = 12
_SYNONYMS = {
    "query": ("query", "question", "prompt"),
    "answer": ("answer", "response", "prediction", "output", "completion"),
}
_GOLD_SIDE = ("gold", "reference", "expected", "truth", "target", "correct")
"""Words in field names of reference answers. These fields are never suggested as the answer field."""

Object = Mapping[str, Any]
Numbered = tuple[int, Object]
"""(line number from 1, object)."""


@dataclass(frozen=True)
class ImportedFile:
    """The imported rows, with the name and checksum of their file."""

    name: str
    sha256: str
    rows: tuple[ImportedRow, ...]


def read_file(path: Path, *, fields: Mapping[str, str], where: Mapping[str, str]) -> ImportedFile:
    """The rows of `path` in which the fields of `where` have these values (compared as text).

    `fields` maps fields of `ImportedRow` to names in the file. DataError or ConfigError for a file or row that is
    invalid or too large.
    """
    whole = hashlib.sha256()
    objects = [(number, _parse(path, number, line)) for number, line in _lines(path, whole) if line.strip()]
    if not objects:
        raise DataError(f"{path} has no rows", _SHAPE)
    kept = _selected(objects, where)
    _check_fields(path, [row for _, row in kept], fields)
    rows = []
    for number, row in kept:
        try:
            rows.append(parse_row({name: row.get(fields.get(name, name)) for name in FIELDS}, number))
        except DataError as error:
            raise DataError(f"{path} {error.what}", error.fix) from error
    return ImportedFile(path.name, whole.hexdigest(), tuple(rows))


def quoted(text: str, longest: int = 60) -> str:
    """`text` in quotes, shortened, with control characters escaped."""
    return repr(bounded(text, longest))


def _lines(path: Path, whole: "hashlib._Hash") -> Iterator[tuple[int, bytes]]:
    try:
        with open_plain(path) as file:
            number = 0
            while line := file.readline(_LARGEST_ROW_BYTES + 1):
                number += 1
                whole.update(line)
                if len(line) > _LARGEST_ROW_BYTES:
                    raise DataError(f"{path} line {number} is longer than {_LARGEST_ROW_BYTES:,} bytes", _SHAPE)
                yield number, line
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(f"{path} cannot be read: {reason}", "use a file with one JSON object per line") from error


def _parse(path: Path, number: int, line: bytes) -> Object:
    where = f"{path} line {number}"
    try:
        # utf-8-sig drops a byte order mark.
        value = json.loads(line.decode("utf-8-sig"), parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise DataError(f"{where} is not JSON ({error.msg} at column {error.colno})", _SHAPE) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is not JSON ({bounded(str(error), 100)})", _SHAPE) from error
    if not isinstance(value, Mapping):
        raise DataError(f"{where} is {kind_of(value)}, not an object", _SHAPE)
    return value


def _constant(name: str) -> float | None:
    return None if name == "NaN" else float(name)


def _selected(objects: Sequence[Numbered], where: Mapping[str, str]) -> Sequence[Numbered]:
    for field, value in where.items():
        names = _names(row for _, row in objects)
        if field not in names:
            raise ConfigError(f"--where {quoted(field)}: no row has that field", _nearest(field, names))
        values = list(dict.fromkeys(_as_text(row[field]) for _, row in objects if field in row))
        objects = [(number, row) for number, row in objects if field in row and _as_text(row[field]) == value]
        if not objects:
            raise ConfigError(
                f"--where {quoted(field)}: no row has the value {quoted(value)}", _nearest(value, values)
            )
    return objects


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _check_fields(path: Path, rows: Sequence[Object], fields: Mapping[str, str]) -> None:
    """DataError or ConfigError if no row has a required or mapped field: all rows would be failures."""
    names = _names(rows)
    for ours, theirs in fields.items():
        if ours not in FIELDS:
            raise ConfigError(f"--field {quoted(ours)}: unknown field", _nearest(ours, FIELDS))
        if theirs not in names:
            raise ConfigError(f"--field {ours}: no row has the field {quoted(theirs)}", _nearest(theirs, names))
    given = {*fields, *names}
    if not given & {"query", "query_id"}:
        raise _missing(path, "query", names)
    if "answer" not in given and any(row.get(fields.get("error", "error")) is None for row in rows):
        raise _missing(path, "answer", names)


def _missing(path: Path, field: str, names: Sequence[str]) -> DataError:
    likely = [
        name
        for word in _SYNONYMS[field]
        for name in sorted(names, key=len)
        if word in name.lower() and not any(gold in name.lower() for gold in _GOLD_SIDE)
    ]
    # Only suggest names that need no quoting in a shell.
    offered = next((name for name in likely if re.fullmatch(r"[\w.-]+", name)), None)
    fix = f"did you mean --field {field}={offered}?" if offered else f"map one with --field {field}=NAME"
    return DataError(f"{path}: no row has the field '{field}'; the fields are {_listed(names)}", fix)


def _names(rows: Iterable[Object]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(map(quoted, names[:_MOST_NAMES])) + more


def _nearest(name: str, known: Sequence[str]) -> str:
    """Like `harness.core.errors.nearest`, for untrusted names: shortened and escaped."""
    close = difflib.get_close_matches(name, [one for one in known if len(one) <= 200], n=1, cutoff=0.5)
    return f"did you mean {quoted(close[0])}?" if close else f"known: {_listed(known)}"
