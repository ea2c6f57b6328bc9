"""Reads JSON Lines: every row with a text is a document."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from harness.core.sanitize import visible
from harness.datasets.decompression_limits import most_values, values_of_json
from harness.datasets.folder.plain_text import decoded
from harness.datasets.folder.text_cleanup import NoDocument, ReadText, composed

ReadRow = ReadText | NoDocument
PlacedRow = tuple[str, ReadRow]
"""Location of a row, and the document or the reason why it is none."""
_OWN = ("id", "_id")
"""Id fields of a row without `doc_id`, in order of preference."""
_BY_LINE = "rows identified by file and line, because ids in their file are not unique"


def read_rows_of(name: str, content: bytes) -> Iterator[PlacedRow]:
    """Yield (location, document or reason why it is none) for each row. `doc_id` is the id, otherwise file name
    and line (see `named_by_ids`). `title` is the title. All other texts, numbers and booleans, also those in
    `metadata`, become metadata.

    NoDocument: no row has a text.
    """
    if values_of_json(content) > most_values(len(content)):
        raise NoDocument("contains too many values to be data")
    found = False
    waiting: list[PlacedRow] = []
    for number, line in enumerate(decoded(content).split("\n"), start=1):
        if not line.strip():
            continue
        row = _row(name, number, line)
        waiting.append((f"{name} line {number}", row))
        found = found or isinstance(row, ReadText)
        if found:
            yield from waiting
            waiting.clear()
    if not found:
        raise NoDocument("no row has a `text`" if waiting else "without text")


def named_by_ids(found: Mapping[str, Sequence[PlacedRow]]) -> Iterator[tuple[str, list[PlacedRow]]]:
    """Yield the rows of each file by file name. Rows are identified by their ids if each id of the file names a
    single document of the folder; otherwise by their lines, with a remark.
    """
    texts = [(name, one) for name, rows in found.items() for _, one in rows if isinstance(one, ReadText)]
    names = Counter(composed(one.row_id or one.doc_id or name) for name, one in texts)
    shared = {name for name, one in texts if one.row_id and names[composed(one.row_id)] > 1}
    for name, rows in found.items():
        yield name, [(where, _called(one, by_id=name not in shared)) for where, one in rows]


def _called(one: ReadRow, *, by_id: bool) -> ReadRow:
    if isinstance(one, NoDocument) or not one.row_id:
        return one
    if by_id:
        return replace(one, doc_id=one.row_id)
    return replace(one, remarks={**one.remarks, _BY_LINE: 1})


def _row(name: str, number: int, line: str) -> ReadRow:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return NoDocument("a row that is not JSON")
    if not isinstance(fields, dict):
        return NoDocument("a row that is not a JSON object")
    text, title, doc_id = (fields.pop(key, None) for key in ("text", "title", "doc_id"))
    if not isinstance(text, str) or not text.strip():
        return NoDocument("a row without `text`")
    nested = fields.get("metadata")
    own = _named(doc_id)
    row_id = "" if own else next(filter(None, (_named(fields.get(key)) for key in _OWN)), "")
    return ReadText(
        text,
        title=title if isinstance(title, str) else own or row_id or f"{PurePosixPath(name).stem} {number}",
        doc_id=own or f"{name}#{number}",
        row_id=row_id,
        metadata=(_scalars(nested) if isinstance(nested, dict) else {}) | _scalars(fields),
    )


def _named(value: object) -> str:
    return visible(str(value).strip()) if isinstance(value, str | int) else ""


def _scalars(fields: Mapping[Any, Any]) -> dict[str, str]:
    return {
        str(key): value if isinstance(value, str) else json.dumps(value)
        for key, value in fields.items()
        if isinstance(value, str | int | float)
    }
