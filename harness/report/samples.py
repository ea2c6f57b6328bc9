"""What runs were asked: of those that were asked the same, in memory once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.store import RunDir, SampleRow

Sample = Mapping[str, SampleRow]
"""Query id -> query and reference."""


def samples_of(runs: Sequence[RunDir]) -> list[Sample]:
    """Of each run; where two are the same, as nearly always, one object."""
    found: list[Sample] = []
    known: dict[str, Sample] = {}
    for run in runs:
        digest = run.sample_digest()
        own = known.get(digest or "") or {row.query.query_id: row for row in run.sample()}
        found.append(next((other for other in found if other is own or other == own), own))
        known.update({digest: own} if digest else {})
    return found
