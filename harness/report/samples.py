"""The samples of runs; runs with the same sample share one object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from harness.core.records import Reference
from harness.store import CompressedByKey, RunDir, SampleRow

Sample = CompressedByKey[str, SampleRow]
"""Query id -> query and reference."""


class References(Sequence[Reference]):
    """The references of some queries, each read from the sample when needed."""

    def __init__(self, sample: Sample, query_ids: Sequence[str]) -> None:
        self._sample, self._query_ids = sample, query_ids

    @overload
    def __getitem__(self, place: int) -> Reference: ...
    @overload
    def __getitem__(self, place: slice) -> References: ...
    def __getitem__(self, place: int | slice) -> Reference | References:
        if isinstance(place, slice):
            return References(self._sample, self._query_ids[place])
        return self._sample[self._query_ids[place]].reference

    def __len__(self) -> int:
        return len(self._query_ids)


def samples_of(runs: Sequence[RunDir]) -> list[Sample]:
    """Of each run; where two are the same, as nearly always, one object."""
    found: list[Sample] = []
    known: dict[str, Sample] = {}
    for run in runs:
        digest = run.sample_digest()
        own = known.get(digest or "") or run.sample_by_id()
        found.append(next((other for other in found if other is own or other.is_same(own)), own))
        known.update({digest: own} if digest else {})
    return found
