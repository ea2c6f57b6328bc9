"""What the calls of a journal took, also where rows of it are damaged."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.core.records import Usage
from harness.store.checksums import row_check

COLUMNS = (
    *("scope", "role", "request_digest", "occurrence", "model", "request", "response", "input_tokens"),
    *("output_tokens", "cached_tokens", "metered", "wall_s", "started_at", "paid_by"),
)
"""Of a call; what `row_check` is of, in this order. A row of an earlier version has none."""
_TOKENS = ("input_tokens", "output_tokens", "cached_tokens")
_LONGEST_TEXT = 1 << 28
"""Bytes of a request or response."""


class PaidCalls:
    """Sums by run and role.

    Of a damaged row nobody knows what is. Where its texts are not whole the damage is there, and its tokens count
    as they are. Else they may be what is damaged, and the call counts with the most that it can have taken: a
    token a byte.
    """

    def __init__(self) -> None:
        self.n_damaged = 0
        self._sums: dict[tuple[str, str], list[int]] = {}

    def add(self, values: Sequence[Any], check: int | None) -> None:
        """Count one row. ValueError where its tokens are no counts."""
        call = dict(zip(COLUMNS, values, strict=True))
        amounts = [call[name] for name in _TOKENS]
        if check not in (None, row_check(values)):
            self.n_damaged += 1
            amounts = _most_of(call) or amounts
        if not all(type(amount) is int and amount >= 0 for amount in amounts):
            raise ValueError("tokens that are no counts")
        sums = self._sums.setdefault((str(call["paid_by"]), str(call["role"])), [0, 0, 0, 0])
        for place, amount in enumerate((1, *amounts)):
            sums[place] += amount

    def usage(self) -> Iterator[tuple[str, str, Usage]]:
        """(run, role, what its calls took)."""
        names = ("calls", *_TOKENS)
        for (run, role), sums in self._sums.items():
            yield run, role, Usage(**dict(zip(names, sums, strict=True)))


def _most_of(call: Mapping[str, Any]) -> list[int] | None:
    """Of a call whose texts are whole."""
    try:
        return [len(unpacked(call["request"])), len(unpacked(call["response"])), 0]
    except (TypeError, ValueError, zlib.error):
        return None


def unpacked(packed: bytes) -> bytes:
    """A request or response as it was; ValueError, TypeError or zlib.error where it is none, or far too long."""
    inflater = zlib.decompressobj()
    text = inflater.decompress(packed, _LONGEST_TEXT)
    if not inflater.eof:
        raise ValueError("torn or too long")
    return text
