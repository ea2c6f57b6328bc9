"""What makes two runs the same run: canonical JSON and its hash."""

import hashlib
import json
from typing import Any

RUN_ID_HEX = 12


def canonical_json(value: Any) -> str:
    """One spelling for one value: sorted keys, no spaces, no NaN (ValueError)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON of `value`, 64 hex digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def short_digest(value: Any) -> str:
    """The first 12 hex digits of `digest(value)`: the tail of a run or index id."""
    return digest(value)[:RUN_ID_HEX]
