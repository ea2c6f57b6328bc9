"""Strict JSON: the values and rows of a foreign text, with the place of the first mistake."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.core.errors import DataError

_LONGEST_LINE = 16_000_000
"""Characters of a row of JSON Lines."""
_BETWEEN_ROWS = re.compile(r"[\s,]*")
_LINE = re.compile(r"^.*$", re.MULTILINE)
"""Not as in splitlines(), which also splits at U+2028: a JSON string may contain it unescaped."""
_SHAPE, _REMOVE = "write one JSON object per line, in UTF-8", "remove one of them"


class DuplicateKeyError(ValueError):
    """A JSON object has the same key twice."""


def _object_of(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise DuplicateKeyError(f"the key {name[:60]!r} occurs twice in one object")
    return found


_STRICT = json.JSONDecoder(
    parse_constant=lambda name: None if name == "NaN" else float(name), object_pairs_hook=_object_of
)


def strict_json(text: str) -> object:
    """The value of a JSON text; NaN, which pandas writes, is null. ValueError, also for a repeated key;
    RecursionError if it is nested too deeply.
    """
    return _STRICT.decode(text)


def parse_json(path: Path, text: str, line: int = 1) -> object:
    """The value of a text that begins at this line of the file. DataError names the line of a mistake."""
    try:
        return strict_json(text)
    except json.JSONDecodeError as error:
        place = f"{path} line {line + error.lineno - 1}"
        raise DataError(
            f"{place} is not JSON, or truncated ({error.msg} at column {error.colno})", _SHAPE
        ) from error
    except DuplicateKeyError as error:
        raise DataError(f"{path} line {line}: {error}", _REMOVE) from error
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:100]
        raise DataError(f"{path} line {line} is not JSON ({reason})", _SHAPE) from error


def json_rows(path: Path, text: str) -> Iterator[tuple[str, object]]:
    """The place, such as `row 2` or `line 3`, and value of each row: of an array, of an object over several lines,
    or of JSON Lines. DataError names the first mistake.
    """
    start = text.lstrip()
    end = start.find("\n") if "\n" in start else len(start)
    if start.startswith("["):
        yield from ((f"row {number}", value) for number, value in enumerate(_array(path, text), start=1))
    elif start.startswith("{") and not start[max(0, end - 100) : end].rstrip().endswith("}"):
        yield "row 1", parse_json(path, text)
    else:
        for number, found in enumerate(_LINE.finditer(text), start=1):
            line = found[0]
            if len(line) > _LONGEST_LINE and end < len(start.rstrip()):
                raise DataError(f"{path} line {number} is longer than {_LONGEST_LINE:,} bytes", _SHAPE)
            if line.strip():
                yield f"line {number}", parse_json(path, line, number)


def _array(path: Path, text: str) -> Any:
    try:
        return strict_json(text)
    except DuplicateKeyError:
        pass
    except (ValueError, RecursionError):
        return parse_json(path, text)
    # To name the row, each value is parsed alone.
    at, number = text.index("[") + 1, 1
    while True:
        at = _BETWEEN_ROWS.match(text, at).end()  # type: ignore[union-attr] # it matches anything
        try:
            _, at = _STRICT.raw_decode(text, at)
        except DuplicateKeyError as error:
            raise DataError(f"{path} row {number}: {error}", _REMOVE) from error
        number += 1
