"""Checks one answer that was produced elsewhere. Nothing in it is trusted.

Null means that a field is missing. Integers may be written as 3.0, as pandas does in columns with gaps.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from harness.core.errors import DataError
from harness.core.records import Context, Record
from harness.datasets.row_fields import kind_of
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
    """Text of the query."""
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
"""The fields of a row."""
NUMBERS = (
    "repeat",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "model_calls",
    "latency_s",
    "reported_score",
)


def parse_row(given: Mapping[str, Any], place: str) -> ImportedRow:
    """The row with these fields. DataError names an invalid field."""
    known = {name: given[name] for name in FIELDS if given.get(name) is not None}
    for name, value in known.items():
        # JSON can contain a lone surrogate, which UTF-8 cannot encode: writing the record would fail.
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            what = f"{place}: '{name}' has an unpaired surrogate"
            raise DataError(what, "write the whole character, or remove it") from error
    try:
        return ImportedRow(place=place, **known)
    except ValidationError as error:
        raise DataError(f"{place}: {_explained(error)}", "correct or remove that row") from error


def _explained(error: ValidationError) -> str:
    """The first error, in terms of JSON."""
    detail = error.errors()[0]
    problem = detail["msg"].removeprefix("Value error, ").replace("tuple", "list")
    parts = [str(part) for part in detail["loc"] if isinstance(part, int) or part.isidentifier()]
    if not parts:
        return problem
    return f"'{'.'.join(parts)}': {problem[0].lower()}{problem[1:]}, not {_shown(detail['input'])}"


def _shown(value: Any) -> str:
    plain = isinstance(value, int | float | str)
    return bounded(json.dumps(value), 40) if plain else kind_of(value)
