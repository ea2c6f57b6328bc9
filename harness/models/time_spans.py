"""The union of time spans."""

from collections.abc import Iterable

Elapsed = tuple[float, float]
"""Start and end, in seconds of one clock."""
_MERGED_FROM = 1_000


def merged(spans: Iterable[Elapsed]) -> list[Elapsed]:
    """The union as disjoint spans, in order; a span that ends before it starts is ignored."""
    found: list[Elapsed] = []
    for start, end in sorted(spans):
        if end <= start:
            continue
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def covered_s(spans: Iterable[Elapsed]) -> float:
    """Length of the union in seconds."""
    return sum(end - start for start, end in merged(spans))


class Spans:
    """Spans of any number of calls, merged to disjoint ones."""

    def __init__(self) -> None:
        self._spans: list[Elapsed] = []
        self._merge_at = _MERGED_FROM

    def add(self, start_s: float, end_s: float) -> None:
        """Add a span."""
        self._spans.append((start_s, end_s))
        if len(self._spans) >= self._merge_at:
            self._spans = merged(self._spans)
            self._merge_at = 2 * len(self._spans) + _MERGED_FROM

    def __iadd__(self, others: "Spans") -> "Spans":
        """Add all of `others`."""
        for span in others.list():
            self.add(*span)
        return self

    def list(self) -> list[Elapsed]:
        """The spans, unordered; some may have been merged."""
        return list(self._spans)
