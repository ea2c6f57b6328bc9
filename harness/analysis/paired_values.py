"""What a comparison pairs: of one run, one number for each query and measure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from harness.analysis.aggregate import Frame, scores_by_measure
from harness.analysis.cost import Models, query_scores
from harness.analysis.prices import Prices
from harness.records import RunRecord, Score
from harness.store import RunDir

COSTS = ("latency_s", "input_tokens", "output_tokens", "usd")
"""What a query takes; of each, less is better."""


@dataclass(frozen=True)
class QueryValues:
    """One measure of one run."""

    values: Mapping[str, float]
    """Query id -> the mean over its repeats of what was scored or imputed; without any, no entry."""
    expected: frozenset[str]
    """The queries to which the measure applies, with or without a value."""

    def only(self, query_ids: Collection[str]) -> QueryValues:
        """The part of it that concerns these queries."""
        kept = {query_id: value for query_id, value in self.values.items() if query_id in query_ids}
        return QueryValues(kept, self.expected & frozenset(query_ids))


def run_values(run: RunDir, prices: Prices) -> dict[str, QueryValues]:
    """Every measure that has scores in a run, finished or not, and what its queries cost (`COSTS`)."""
    frame, models = Frame.of(run), run.manifest().identity.get("models", {})
    return {
        **cost_values(frame, run.records().values(), models, prices),
        **scored_values(frame, run.scores()),
    }


def scored_values(frame: Frame, scores: Iterable[Score]) -> dict[str, QueryValues]:
    """By measure. Scores of queries or repeats outside the frame are passed over."""
    applying = {
        measure: {key: score.value for key, score in found.items() if score.status != "not_applicable"}
        for measure, found in scores_by_measure(frame, scores).items()
    }
    return {measure: _by_query(frame, own) for measure, own in applying.items()}


def cost_values(
    frame: Frame, records: Iterable[RunRecord], models: Models, prices: Prices
) -> dict[str, QueryValues]:
    """`COSTS` of each query, of the records that count, as `harness.analysis.cost` counts them: tokens and dollars
    of failures too, seconds only of what was answered, and answered live. `usd` is absent where a model that was
    called has no price.
    """
    scores = [score for score in query_scores(list(records), models, prices) if score.measure in COSTS]
    applies = frozenset(frame.query_types)
    return {name: QueryValues(own.values, applies) for name, own in scored_values(frame, scores).items()}


def _by_query(frame: Frame, found: Mapping[tuple[str, int], float | None]) -> QueryValues:
    of_query: dict[str, list[float]] = {}
    for (query_id, repeat), value in sorted(found.items(), key=lambda item: item[0]):
        if query_id in frame.query_types and repeat < frame.repeats:
            of_query.setdefault(query_id, []).extend([] if value is None else [float(value)])
    means = {query_id: float(np.mean(values)) for query_id, values in of_query.items() if values}
    return QueryValues(means, frozenset(of_query))
