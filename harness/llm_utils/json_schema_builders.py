"""JSON Schemas of replies, in the subset that OpenAI's strict mode and llama.cpp's grammars both know."""

from collections.abc import Iterable, Mapping
from typing import Any


def object_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def string_of(length: int) -> dict[str, Any]:
    """A string of at most `length` characters."""
    return {"type": "string", "maxLength": length}


def list_of(items: Mapping[str, Any], length: int) -> dict[str, Any]:
    """A list of at most `length` items."""
    return {"type": "array", "maxItems": length, "items": dict(items)}


def integer_among(numbers: Iterable[int]) -> dict[str, Any]:
    """One of these whole numbers."""
    return {"type": "integer", "enum": sorted(numbers)}


def integer_of(lowest: int, highest: int) -> dict[str, Any]:
    """A whole number between the two, both included."""
    return {"type": "integer", "minimum": lowest, "maximum": highest}
