"""The meaning of a value in a table of questions or answers: lists inside a text, missing values, gold answers.

Question files and imported answers share it, and so do CSV, JSON and Parquet.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.core.errors import DataError
from harness.datasets.json_rows import DuplicateKeyError, strict_json
from harness.datasets.row_fields import encodable, kind_of

MISSING = frozenset(
    {"nan", "NaN", "NAN", "<NA>", "NaT", "None", "null", "NULL", "NA", "N/A", "n/a"}
    | {"#N/A", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NUM!", "#NULL!"}
)
"""Spellings of a missing value by pandas, Python, R, SQL and spreadsheets. Inside a list they are texts."""
NO_ANSWER = "Insufficient information."
_LONGEST_LIST = 1_000_000
"""Characters of a list in the spelling of Python or numpy."""
_DEEPEST, _MOST_PARTS = 12, 50_000
_TRUE, _FALSE = frozenset({"true", "yes", "1", "1.0", "y", "t"}), frozenset({"false", "no", "0", "0.0", "n", "f"})
_GOLD_KEYS = ("text", "value", "answer", "answers", "aliases", "spans")
"""Keys with answers of an object, such as SQuAD's {"text": [...], "answer_start": [...]}."""
_STRING = r"""'(?:[^'\\]|\\[\\'"abfnrtvxuUN0-7\n])*'|"(?:[^"\\]|\\[\\'"abfnrtvxuUN0-7\n])*\""""
_PART = re.compile(rf"(?P<string>{_STRING})|(?P<space>\s+)|[^\s'\"]+|['\"]")
_VALUE_ENDS, _VALUE_BEGINS = re.compile(r"[\w.)\]}'\"]$"), re.compile(r"[-+]?[\w.(\[{'\"]")


@dataclass(frozen=True)
class GoldAnswers:
    answers: tuple[str, ...] = ()
    missing_as: str = ""
    """The word that the cell has for a missing value, such as `nan`."""
    is_unanswerable: bool = False
    """SQuAD's empty list of answer spans."""


def parsed_cell(value: object, where: str = "") -> object:
    """The list or object that a text spells in JSON, Python or numpy; any other value unchanged. Nothing is
    evaluated. `['a' 'b']` (numpy) is two texts. What only begins like a list, such as `[sic]`, is text.
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text[:1] not in set("[({a") or text[-1:] not in set("])}"):
        return value
    try:
        found = strict_json(text)
    except DuplicateKeyError as error:
        raise DataError(f"{where}: {error}", "remove one of them") from error
    except (ValueError, RecursionError):
        if len(text) > _LONGEST_LIST and text.startswith("["):
            what = f"{where}: a list in a text has {len(text):,} characters and is not JSON"
            raise DataError(what, f"write it as JSON, or with at most {_LONGEST_LIST:,} characters") from None
        found = _python_value(text) if len(text) <= _LONGEST_LIST else None
    return found if isinstance(found, list | dict) else value


def is_missing(value: object) -> bool:
    """Whether a value is null, NaN, or one of the words in `MISSING`."""
    return _is_null(value) or (isinstance(value, str) and value.strip() in MISSING)


def _is_null(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def as_text(where: str, name: str, value: object) -> str:
    """A text or number as text. pandas writes whole numbers of a column with gaps as 24.0."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if isinstance(value, float) and math.isinf(value):
            raise DataError(f"{where}: '{name}': Infinity is not a JSON number", "correct or remove that value")
        return str(int(value) if isinstance(value, float) and value.is_integer() else value)
    if not isinstance(value, str):
        what = f"{where}: '{name}' must be text, not {kind_of(value)}"
        raise DataError(what, "docs/question-files.md describes the format")
    return encodable(where, name, value, "correct or remove that character")


def as_bool(where: str, name: str, value: object) -> bool | None:
    """A truth value, also as a word or number; None if it is missing."""
    if is_missing(value) or isinstance(value, bool):
        return value if isinstance(value, bool) else None
    word = str(value).strip().casefold()
    if word in _TRUE | _FALSE:
        return word in _TRUE
    raise DataError(f"{where}: '{name}' must be true or false, not {str(value)[:40]!r}", "write true or false")


def gold_answers(where: str, name: str, value: object, *, is_csv: bool) -> GoldAnswers:
    """The answers of a cell: one, or all in a list, also in one that is spelled in a text or, in CSV, separated
    by |. Missing values are no answers.
    """
    if is_missing(value):
        return GoldAnswers(missing_as=value.strip() if isinstance(value, str) else "")
    found = parsed_cell(value, where)
    if isinstance(found, Mapping) and "answer_start" in found and not list(_texts(where, name, found)):
        return GoldAnswers(is_unanswerable=True)
    if is_csv and isinstance(found, str) and "\n" not in found.strip():
        found = found.split("|")  # In a text of several lines it is the border of a table.
    return GoldAnswers(tuple(dict.fromkeys(text for one in _texts(where, name, found) if (text := one.strip()))))


def _texts(where: str, name: str, value: object, depth: int = 0) -> Iterator[str]:
    if _is_null(value):
        return
    if depth > _DEEPEST:
        raise DataError(f"{where}: '{name}' is nested too deeply", "write a list of texts")
    if isinstance(value, Mapping):
        given = [(str(key), one) for key, one in value.items() if one is not None and one != ""]
        if not given:
            return
        inner = [one for key in _GOLD_KEYS for own, one in given if own.lower() == key]
        if not inner:
            texts = [one for _, one in given if isinstance(one, str)] or [one for _, one in given]
            if len(texts) != 1:
                keys = ", ".join(repr(key[:40]) for key, _ in given[:8])
                fix = f"name one with --field answers={name}.KEY, or write a list of texts"
                raise DataError(f"{where}: the object in '{name}' has no key for the answer ({keys})", fix)
            inner = texts
        value = inner
    if isinstance(value, list | tuple):
        for one in value:
            yield from _texts(where, name, one, depth + 1)
    elif isinstance(value, bool):
        yield str(value)  # As in CSV. Scoring reads it as yes or no.
    else:
        yield as_text(where, name, value)


def _python_value(text: str) -> object:
    """The list or object of a Python or numpy spelling; None for anything else. Nothing is evaluated."""
    try:
        found = _literal(ast.parse(_with_commas(text), mode="eval").body)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    if isinstance(found, tuple):  # A pair of numbers may be coordinates.
        return list(found) if found and all(isinstance(one, str) for one in found) else None
    is_list = text.startswith(("[", "array")) or not isinstance(found, list)
    return found if is_list or any(isinstance(one, str) for one in found) else None


def _with_commas(text: str) -> str:
    """The text with the commas that numpy leaves out: `['a' 'b']` as `['a','b']`. ValueError: too many parts, or
    `'a''b'` and `u'a'`, which no list has.
    """
    parts = list(_PART.finditer(text))
    if len(parts) > _MOST_PARTS:
        raise ValueError(f"more than {_MOST_PARTS} parts")
    written: list[str] = []
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        word, last = part.group(), written[-1] if written else ""
        if part["string"] and re.search(r"[\w'\"]$", last):
            raise ValueError(word)
        if part["space"]:
            is_between = _VALUE_ENDS.search(last) and following and _VALUE_BEGINS.match(following.group())
            word = "," if is_between else " "
        written.append(word)
    return "".join(written).strip()


def _literal(node: ast.expr | None) -> Any:
    """The value of a node: of a set a list, of `array(...)` what is in it, of `nan` None; else a ValueError."""
    match node:
        case ast.Constant(value=str() | int() | float() | None) | ast.UnaryOp(operand=ast.Constant()):
            return ast.literal_eval(node)
        case ast.Name(id="nan"):
            return None
        case ast.List(elts=parts) | ast.Set(elts=parts):
            return [_literal(one) for one in parts]
        case ast.Tuple(elts=parts):
            return tuple(map(_literal, parts))
        case ast.Dict(keys=keys, values=values):
            return {_literal(key): _literal(value) for key, value in zip(keys, values, strict=True)}
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="np")) | ast.Name(id="array" | "set"),
            args=[inner],
            keywords=[] | [ast.keyword(arg="dtype")],
        ):
            return _literal(inner)
    raise ValueError("not a list of texts and numbers")
