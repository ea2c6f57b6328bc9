"""The explorer's data: blocks of deflated bytes in base64, unpacked when needed."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

Block = tuple[str, str]
"""The id of its element, and its base64."""

_LEVEL = 9
_encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def pack(data: bytes) -> str:
    """zlib (RFC 1950) at level 9, as base64. The same zlib gives the same bytes; another build may not."""
    return base64.b64encode(zlib.compress(data, _LEVEL)).decode("ascii")


def pack_json(value: Any) -> str:
    """A value as JSON, packed. Half of a surrogate pair becomes a question mark."""
    return pack(as_json(value))


def as_json(value: Any) -> bytes:
    """Compact JSON in UTF-8."""
    return _encoded(value).encode("utf-8", errors="replace")


def cut(text: str, longest: int) -> str | list[Any]:
    """The text, or [its first `longest` characters, how many more there are]."""
    return text if len(text) <= longest else [text[:longest], len(text) - longest]
