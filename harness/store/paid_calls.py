"""Sums the usage of the calls in a journal, including damaged rows."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.core.records import Usage
from harness.store.checksums import row_check

COLUMNS = (
    *("scope", "role", "request_digest", "occurrence", "model", "request", "response", "input_tokens"),
    *("output_tokens", "cached_tokens", "metered", "wall_s", "started_at", "paid_by"),
)
"""Columns of a call, in the order used by `row_check`."""
_TOKENS = ("input_tokens", "output_tokens", "cached_tokens")
_LONGEST_TEXT = 1 << 28
"""Largest request or response in bytes."""


class PaidCalls:
    """Sums of usage by run and role.

    In a damaged row, any column may be wrong. If its request or response cannot be decompressed, that is the
    damage, and its token counts are used. Otherwise the counts may be wrong, and the call counts with its largest
    possible usage: one token per byte.
    """

    def __init__(self) -> None:
        self.n_damaged = 0
        self._sums: dict[tuple[str, str], list[int]] = {}

    def add(self, values: Sequence[Any], check: object) -> None:
        """Add a row. ValueError if its token counts are invalid."""
        call = dict(zip(COLUMNS, values, strict=True))
        amounts = [call[name] for name in _TOKENS]
        if check != row_check(values):
            self.n_damaged += 1
            amounts = _most_of(call) or amounts
        if not all(type(amount) is int and amount >= 0 for amount in amounts):
            raise ValueError("invalid token counts")
        sums = self._sums.setdefault((str(call["paid_by"]), str(call["role"])), [0, 0, 0, 0])
        for place, amount in enumerate((1, *amounts)):
            sums[place] += amount

    def usage(self) -> Iterator[tuple[str, str, Usage]]:
        """(run, role, usage) for each run and role."""
        names = ("calls", *_TOKENS)
        for (run, role), sums in self._sums.items():
            yield run, role, Usage(**dict(zip(names, sums, strict=True)))


def _most_of(call: Mapping[str, Any]) -> list[int] | None:
    """The largest possible usage of a call; None if its texts are damaged."""
    try:
        return [len(unpacked(call["request"])), len(unpacked(call["response"])), 0]
    except (TypeError, ValueError, zlib.error):
        return None


def unpacked(packed: bytes) -> bytes:
    """Decompress a request or response. ValueError, TypeError or zlib.error if it is damaged or far too long."""
    inflater = zlib.decompressobj()
    text = inflater.decompress(packed, _LONGEST_TEXT)
    if not inflater.eof:
        raise ValueError("incomplete or too long")
    return text
