"""JSON lines: every row with a text is a document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePosixPath

from harness.datasets.folder.plain import decoded
from harness.datasets.folder.texts import NoDocument, ReadText
from harness.datasets.measuring import most_values, values_of_json
from harness.outside import visible

ReadRow = ReadText | NoDocument


def read_rows_of(name: str, content: bytes) -> Iterator[tuple[str, ReadRow]]:
    """(where, a document or why it is none) of each row. `doc_id` is its id, or else the file's name and its line;
    `title` its title; whatever else is a text, a number or a yes or no is metadata.

    NoDocument: no row holds a text.
    """
    if values_of_json(content) > most_values(len(content)):
        raise NoDocument("holds too many values to be data")
    found = False
    waiting: list[tuple[str, ReadRow]] = []
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
        raise NoDocument("no row of it holds a `text`" if waiting else "without text")


def _row(name: str, number: int, line: str) -> ReadRow:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return NoDocument("a row that is no JSON")
    if not isinstance(fields, dict):
        return NoDocument("a row that is no JSON object")
    text, title, doc_id = (fields.pop(key, None) for key in ("text", "title", "doc_id"))
    if not isinstance(text, str) or not text.strip():
        return NoDocument("a row without `text`")
    metadata = {
        str(key): value if isinstance(value, str) else json.dumps(value)
        for key, value in fields.items()
        if isinstance(value, str | int | float)
    }
    own = str(doc_id).strip() if isinstance(doc_id, str | int) else ""
    return ReadText(
        text,
        title=title if isinstance(title, str) else own or f"{PurePosixPath(name).stem} {number}",
        doc_id=visible(own) or f"{name}#{number}",
        metadata=metadata,
    )
