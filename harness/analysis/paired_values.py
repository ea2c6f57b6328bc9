"""What a comparison pairs: of one run, one number for each query and measure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.analysis.aggregate import Frame, mean_of, scores_by_measure
from harness.analysis.cost import TIMES, Models, query_scores
from harness.analysis.prices import Prices
from harness.records import RunRecord, Score
from harness.store import Manifest, RecordKey

COSTS = {
    "latency_s": "latency",
    "wall_s": "wall time",
    "tokens": "tokens",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "usd": "USD",
}
"""What a query takes, and what a sentence calls it; of each, less is better."""


LEAST_COVERED = 0.5
"""The share of its queries of which a run must have a value to be compared."""


@dataclass(frozen=True)
class QueryValues:
    """One measure of one run."""

    values: Mapping[str, float]
    """Query id -> the mean over its repeats of what was scored or imputed; without any, no entry."""
    expected: frozenset[str]
    """The queries to which the measure applies, with or without a value."""

    @property
    def is_covered(self) -> bool:
        """Whether enough of its queries have a value to be compared: those that one run lacks are taken from all
        others.
        """
        return len(self.values) >= LEAST_COVERED * len(self.expected)

    def only(self, query_ids: Collection[str]) -> QueryValues:
        """The part of it that concerns these queries."""
        kept = {query_id: value for query_id, value in self.values.items() if query_id in query_ids}
        return QueryValues(kept, self.expected & frozenset(query_ids))


def values_of(
    manifest: Manifest,
    frame: Frame,
    scores: Iterable[Score],
    records: Mapping[RecordKey, RunRecord],
    prices: Prices,
) -> dict[str, QueryValues]:
    """Every measure that has scores in a run, finished or not, and what its queries cost (`COSTS`); `records` are
    those that count.
    """
    costs = cost_values(frame, records.values(), manifest.identity.get("models", {}), prices)
    return costs | scored_values(frame, scores)


def scored_values(frame: Frame, scores: Iterable[Score]) -> dict[str, QueryValues]:
    """By measure. Scores of queries or repeats outside the frame are passed over."""
    applying = {
        measure: {key: score.value for key, score in found.items() if score.status != "not_applicable"}
        for measure, found in scores_by_measure(frame, scores).items()
    }
    queries = [
        (query_id, [(query_id, repeat) for repeat in range(frame.repeats)])
        for query_id in sorted(frame.query_types)
    ]
    alike: dict[frozenset[str], frozenset[str]] = {}
    found = {}
    for measure, own in applying.items():
        values = _by_query(own, queries)
        # Most measures apply to the same queries: one set for all of those.
        found[measure] = QueryValues(values.values, alike.setdefault(values.expected, values.expected))
    return found


def cost_values(
    frame: Frame, records: Iterable[RunRecord], models: Models, prices: Prices
) -> dict[str, QueryValues]:
    """`COSTS` of each query, of the records that count, as `harness.analysis.cost` counts them: tokens and dollars
    of failures too, seconds of what was answered live and of what timed out, with its limit. A query whose tokens
    were not all counted has none here: which of two takes fewer cannot be told from lower bounds. `usd` is absent
    where a model that was called has no price.
    """
    found = query_scores(list(records), models, prices, frame.query_limit_s)
    scores = [
        score
        for score in found
        if score.measure in COSTS and (score.measure in TIMES or score.status != "imputed")
    ]
    applies = frozenset(frame.query_types)
    return {name: QueryValues(own.values, applies) for name, own in scored_values(frame, scores).items()}


def _by_query(
    found: Mapping[RecordKey, float | None], queries: Iterable[tuple[str, Sequence[RecordKey]]]
) -> QueryValues:
    """`queries`: each with the keys of its repeats."""
    values: dict[str, float] = {}
    expected = []
    for query_id, keys in queries:
        applying = [found[key] for key in keys if key in found]
        known = [value for value in applying if value is not None]
        if applying:
            expected.append(query_id)
        if known:
            values[query_id] = mean_of(known)
    return QueryValues(values, frozenset(expected))
