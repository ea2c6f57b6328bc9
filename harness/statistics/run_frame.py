"""What all numbers of a run share: the run, its sampled queries, and the row of one number in long format."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from sys import intern

import numpy as np
from numpy.typing import NDArray

from harness.statistics.confidence_intervals import UNKNOWN, Interval
from harness.statistics.sampling_design import SamplingDesign, clusters_of, repeated_questions
from harness.store import RunDir, SampleRow

OVERALL = "overall"
NATURAL = "overall_natural"


@dataclass(frozen=True)
class Aggregate:
    """One number of a run, in long format: a row of summary.csv."""

    run_id: str
    system: str
    dataset: str
    query_type: str
    """A type of the data set, `overall` or `overall_natural`; `overall` for values of a whole run."""
    measure: str
    mean: float | None
    """None: nothing was measured. For `_p50`, `_max` and whole-run metrics: that quantile, maximum or value."""
    ci_low: float | None
    ci_high: float | None
    n_scored: int
    n_imputed: int
    n_failed: int
    n_expected: int


class LowerBound(Aggregate):
    """Marks a quantile that may be higher than its row says, because imputed values are lower bounds."""


@dataclass(frozen=True)
class Frame:
    """Properties that all rows of a run share, and its sampled queries."""

    run_id: str
    system: str
    dataset: str
    query_types: Mapping[str, str]
    """Query id -> type, for every sampled query."""
    type_mix: Mapping[str, int]
    """Queries of each type in the whole data set; empty: unknown, and there are no `overall_natural` rows."""
    repeats: int = 1
    query_limit_s: float | None = None
    """Seconds after which a query timed out; None: unknown."""
    clusters: Mapping[str, str] = field(default_factory=dict)
    """Query id -> the document that it shares with others, see `clusters_of`; empty: queries are independent."""
    repeated: Mapping[str, str] = field(default_factory=dict)
    """Queries with the same text as an earlier one, see `repeated_questions`; they count as repeats of it."""

    @property
    def n_clusters(self) -> int | None:
        """Groups of queries that mainly cite the same document; None: no two queries are known to share one."""
        n = len(set(self.clusters.values()))
        return n if n < len(self.clusters) else None

    @property
    def drawn(self) -> SamplingDesign:
        return SamplingDesign(self.query_types, self.type_mix, self.clusters, self.repeated)

    @classmethod
    def of(cls, run: RunDir, sample: Collection[SampleRow] | None = None) -> Frame:
        """The frame of a run directory. `sample`: the result of `run.sample()`, if it was read before; it is
        iterated twice.
        """
        manifest, sample = run.manifest(), run.sample() if sample is None else sample
        # Data sets of labelled answers lack this key; none of their queries cites a document.
        is_clustered = manifest.dataset.get("cluster_by", "document") == "document"
        return cls(
            run_id=run.run_id,
            system=str(manifest.system.get("name", "")),
            dataset=str(manifest.dataset.get("name", "")),
            query_types={intern(row.query.query_id): intern(row.reference.query_type) for row in sample},
            type_mix=dict(manifest.dataset.get("type_mix") or {}),
            repeats=int(manifest.identity.get("repeats", 1)),
            query_limit_s=(manifest.identity.get("limits") or {}).get("query_timeout_s"),
            clusters=clusters_of(row.reference for row in sample) if is_clustered else {},
            repeated=repeated_questions((row.query.query_id, row.query.text) for row in sample),
        )

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The position of each query in the sample, shared by all metrics."""
        return {query_id: place for place, query_id in enumerate(self.query_types)}

    @cached_property
    def questions(self) -> NDArray[np.int64] | None:
        """The position of the question that each query asks; None: all texts are different."""
        if not self.repeated:
            return None
        asked = (self.repeated.get(one, one) for one in self.query_types)
        return np.array([self.places[one] for one in asked], dtype=np.int64)

    def row(self, measure: str, mean: float | None, interval: Interval = UNKNOWN) -> Aggregate:
        """A row for a value measured once per run: n_scored is 1, or n_failed is 1 if `mean` is None."""
        known = int(mean is not None)
        base = (self.run_id, self.system, self.dataset, OVERALL, measure)
        return Aggregate(*base, mean, interval.low, interval.high, known, 0, 1 - known, 1)
