"""Vectors: of unit length, and out of replies to a request for embeddings, as OpenAI, Ollama and TEI send them."""

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.protocols import Vectors


def unit_rows(vectors: Vectors) -> Vectors:
    """The same rows at length 1; a row of zeros or of NaN raises ValueError."""
    if vectors.ndim != 2:
        raise ValueError("the embedder's reply holds no embeddings")
    # float32 squares of small numbers are 0.
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths == 0).any():
        raise ValueError("the embedder returned a vector of zeros, NaN or infinity")
    unit: Vectors = (vectors / lengths).astype(np.float32)
    return unit


_ABOUT_A_BATCH = re.compile(
    r"batch|too many (?:inputs|texts|items|documents)|tokens? (?:per|in (?:a|one|this)) request"
    r"|(?:most|max\w*|larger|exceeds?)\b.{0,60}(?:inputs|texts|items|array)"
    r"|\b(?:texts|inputs|items|documents|array)\b.{0,60}(?:at most|max|exceed|limit|less than)"
    r"|input must be a string|\u6700\u5927.{0,20}\u6761",
    re.IGNORECASE,
)


class BatchTooLarge(ValueError):
    """The server accepts fewer texts in one request."""


def is_about_a_batch(status: int, message: str) -> bool:
    """Whether a refusal says that fewer texts would be accepted."""
    return status == 413 or (status in {400, 422} and bool(_ABOUT_A_BATCH.search(message)))


def rows_of(reply: Any) -> list[Any] | None:
    """The embeddings of a reply in the order of the texts, unread; None if it has none.

    OpenAI: `{"data": [{"index", "embedding"}]}`; Ollama: `{"embeddings": [[...]]}`; TEI: `[[...]]`; llama.cpp
    without /v1: `[{"index", "embedding": [[...]]}]`.
    """
    if isinstance(reply, list):
        is_rows = bool(reply) and all(isinstance(row, list | dict) for row in reply)
        if not is_rows or (isinstance(reply[0], dict) and "embedding" not in reply[0]):
            return None
        return _in_order(reply)
    if not isinstance(reply, dict):
        return None
    if isinstance(data := reply.get("data"), list):
        return _in_order(data)
    return found if isinstance(found := reply.get("embeddings"), list) else None


def _in_order(rows: list[Any]) -> list[Any]:
    """By their index if that numbers them from 0 or 1; otherwise as they were sent."""
    indexes = [row.get("index") if isinstance(row, dict) else None for row in rows]
    places = {str(index): place for place, index in enumerate(indexes)}
    for first in (0, 1):
        if places.keys() == {str(number) for number in range(first, first + len(rows))}:
            rows = [rows[places[str(number)]] for number in range(first, first + len(rows))]
            break
    return [row.get("embedding") if isinstance(row, dict) else row for row in rows]


def vectors_of(reply: Any, n_texts: int) -> Vectors:
    """Shape (n_texts, d), float32, unit rows. Raises ValueError, which says what the server sent instead."""
    rows = rows_of(reply)
    if rows is None:
        raise ValueError("the embedder's reply holds no embeddings")
    if len(rows) != n_texts:
        raise ValueError(f"{n_texts} texts were sent and {len(rows)} embeddings came back")
    vectors = [_vector(row) for row in rows]
    lengths = sorted({len(vector) for vector in vectors})
    if len(lengths) > 1:
        raise ValueError(f"the embedder returned vectors of different lengths ({lengths[0]} and {lengths[-1]})")
    return unit_rows(np.asarray(vectors, dtype=np.float32))


def _vector(row: Any) -> Sequence[float]:
    if isinstance(row, list) and row and isinstance(row[0], list):
        if len(row) > 1:
            raise ValueError("the embedder returned one vector per token: set its pooling")
        row = row[0]
    if isinstance(row, str):
        try:
            # In base64, as OpenAI sends it: little-endian float32.
            row = [float(one) for one in np.frombuffer(base64.b64decode(row, validate=True), dtype="<f4")]
        except (binascii.Error, ValueError) as error:
            raise ValueError("the embedder returned text instead of numbers") from error
    if row is None:
        raise ValueError("the embedder returned null for a text")
    if not isinstance(row, list) or not row or not all(isinstance(one, int | float) for one in row):
        raise ValueError("the embedder's reply holds no embeddings")
    return row
