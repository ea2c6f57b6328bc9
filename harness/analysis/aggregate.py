"""Scores -> means with intervals, per query type and over all, with nothing lost from the denominator.

Rows of `query_type`:

- each query type of the sample;
- `overall`: as sampled, every query counts the same (balanced, where the sample is);
- `overall_natural`: the types weighted as in the whole data set (`type_mix` of the manifest). Without a value for
  a type that has weight there is no mean. A measure that applies to a part of a type's queries has that part of
  its weight, so that `hallucination_rate` is not held back by types it does not apply to.

A row counts (query, repeat) pairs: n_expected = n_scored + n_imputed + n_failed. Pairs to which the measure does
not apply are not expected, and a row that expects none is left out. A pair of the sample without any score counts
as failed. The mean is over scored and imputed values: first over the repeats of each query, then over queries, so
that repeats do not narrow the interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from harness.analysis import intervals
from harness.analysis.drawn import Drawn, clusters_of
from harness.analysis.intervals import Bounds, Interval, Stratum
from harness.errors import StoreError
from harness.records import Score
from harness.store import Records, RunDir, SampleRow

OVERALL = "overall"
NATURAL = "overall_natural"


@dataclass(frozen=True)
class Aggregate:
    """One number of a run, in long format: a row of summary.csv."""

    run_id: str
    system: str
    dataset: str
    query_type: str
    """A type of the data set, `overall` or `overall_natural`; `overall` for what belongs to a whole run."""
    measure: str
    mean: float | None
    """None: nothing was measured. Of a `_p50`, `_max` or whole-run measure: that quantile, maximum or value."""
    ci_low: float | None
    ci_high: float | None
    n_scored: int
    n_imputed: int
    n_failed: int
    n_expected: int


@dataclass(frozen=True)
class Frame:
    """What every row of one run shares, and the queries it is counted against."""

    run_id: str
    system: str
    dataset: str
    query_types: Mapping[str, str]
    """Query id -> type, of every sampled query."""
    type_mix: Mapping[str, int]
    """Queries of each type in the whole data set; empty: unknown, and there are no `overall_natural` rows."""
    repeats: int = 1
    query_limit_s: float | None = None
    """Seconds after which a query timed out; None: not known."""
    clusters: Mapping[str, str] = field(default_factory=dict)
    """Query id -> the document that it shares with others, see `clusters_of`; empty: queries have nothing in
    common."""

    @property
    def n_clusters(self) -> int | None:
        """Groups of queries that cite the same document most; None: no two queries are known to share one."""
        n = len(set(self.clusters.values()))
        return n if n < len(self.clusters) else None

    @property
    def drawn(self) -> Drawn:
        """How its queries came about."""
        return Drawn(self.query_types, self.type_mix, self.clusters)

    @classmethod
    def of(cls, run: RunDir, sample: Iterable[SampleRow] | None = None) -> Frame:
        """The frame of a run directory; `sample`: what `run.sample()` gives, where it was read before."""
        manifest, sample = run.manifest(), list(run.sample() if sample is None else sample)
        # Runs that do not say are from before data sets said it: their queries cite documents, or are alone.
        is_clustered = manifest.dataset.get("cluster_by", "document") == "document"
        return cls(
            run_id=run.run_id,
            system=str(manifest.identity.get("system", {}).get("name", "")),
            dataset=str(manifest.dataset.get("name", "")),
            query_types={row.query.query_id: row.reference.query_type for row in sample},
            type_mix=dict(manifest.dataset.get("type_mix") or {}),
            repeats=int(manifest.identity.get("repeats", 1)),
            query_limit_s=(manifest.identity.get("limits") or {}).get("query_timeout_s"),
            clusters=clusters_of(row.reference for row in sample) if is_clustered else {},
        )

    def row(self, measure: str, mean: float | None, interval: Interval = intervals.UNKNOWN) -> Aggregate:
        """A row for something measured once in a run: n_scored is 1, or n_failed is where `mean` is None."""
        known = int(mean is not None)
        base = (self.run_id, self.system, self.dataset, OVERALL, measure)
        return Aggregate(*base, mean, interval.low, interval.high, known, 0, 1 - known, 1)


@dataclass
class _Cell:
    """One measure over some queries."""

    by_query: list[list[float]] = field(default_factory=list)
    n_scored: int = 0
    n_imputed: int = 0
    n_failed: int = 0
    n_not_applicable: int = 0

    @property
    def n_expected(self) -> int:
        return self.n_scored + self.n_imputed + self.n_failed

    @cached_property
    def means(self) -> list[float]:
        """One value for each query that has any; asked for when every query is in."""
        return [mean_of(values) for values in self.by_query if values]

    @cached_property
    def mean(self) -> float | None:
        return float(np.mean(self.means)) if self.means else None

    @property
    def pooled(self) -> list[float]:
        return [value for values in self.by_query for value in values]

    def add_query(self, scores: Iterable[Score | None]) -> None:
        values = []
        for score in scores:
            if score is None or score.status in {"failed", "missing"}:
                self.n_failed += 1
            elif score.status == "not_applicable":
                self.n_not_applicable += 1
            else:
                self.n_scored += score.status == "scored"
                self.n_imputed += score.status == "imputed"
                values.append(float(score.value if score.value is not None else 0.0))
        self.by_query.append(values)


def aggregate_scores(
    frame: Frame,
    scores: Iterable[Score],
    *,
    proportions: bool = True,
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> list[Aggregate]:
    """Every measure of `scores`, by name; the rows of each as described above.

    `proportions`: a measure whose values are all 0 or 1 gets Wilson's interval. False for counts and times, where
    a 1 is no success and nothing is below 0. `ranges`: of a measure the lowest and highest value that can be,
    which no limit passes. Scores of queries or repeats outside the frame are passed over.
    """
    rows = []
    for measure, of_type in _cells(frame, scores).items():
        bounds = (ranges or {}).get(measure, intervals.UNBOUNDED if proportions else (0.0, math.inf))
        wholes = _with_overall(of_type)
        for query_type, cell in wholes.items():
            interval = intervals.mean_interval(cell.means, proportion=proportions, bounds=bounds)
            rows.append(_row(frame, (query_type, measure), cell, cell.mean, interval))
        if frame.type_mix:
            mean, interval = _natural_mean(frame, of_type, proportions, bounds)
            rows.append(_row(frame, (NATURAL, measure), wholes[OVERALL], mean, interval))
    return [row for row in rows if row.n_expected]


def aggregate_quantiles(frame: Frame, scores: Iterable[Score], quantiles: Sequence[float]) -> list[Aggregate]:
    """`<measure>_p50` and so on, for each type and `overall`: over single repeats, not over their means.

    Quantiles interpolate linearly between values. No interval with repeats: those of one query are not
    independent.
    """
    rows = []
    for measure, cells in _cells(frame, scores).items():
        for query_type, cell in _with_overall(cells).items():
            for p in quantiles:
                value = float(np.quantile(cell.pooled, p)) if cell.pooled else None
                interval = intervals.UNKNOWN
                if frame.repeats == 1:
                    interval = intervals.quantile_interval(cell.pooled, p)
                rows.append(_row(frame, (query_type, f"{measure}_p{p * 100:g}"), cell, value, interval))
    return [row for row in rows if row.n_expected]


def fitting_scores(scores: Iterable[Score], records: Records) -> list[Score]:
    """The scores as they fit the records that count: of a query that had failed when it was scored and has an
    answer now, the failure's score is none of that answer's, which is missing.
    """

    def fits(score: Score) -> bool:
        record = records.get((score.query_id, score.repeat))
        return score.status != "imputed" or record is None or record.status != "ok"

    return [one if fits(one) else one.model_copy(update={"status": "missing", "value": None}) for one in scores]


def mean_of(values: Sequence[float]) -> float:
    """The mean of the repeats of one query; nearly always there is one, which is quicker than numpy's."""
    return values[0] if len(values) == 1 else float(np.mean(values))


def scores_by_measure(frame: Frame, scores: Iterable[Score]) -> dict[str, dict[tuple[str, int], Score]]:
    """Measure -> (query id, repeat) -> its score; two scores of one are one `StoreError` line."""
    by_measure: dict[str, dict[tuple[str, int], Score]] = {}
    for score in scores:
        found = by_measure.setdefault(score.measure, {})
        key = (score.query_id, score.repeat)
        if key in found:
            raise StoreError(
                f"run {frame.run_id}: two scores of '{score.measure}' for query '{score.query_id}'",
                "two evaluators share a measure's name: delete one of their files under scores/",
            )
        found[key] = score
    return by_measure


def _cells(frame: Frame, scores: Iterable[Score]) -> dict[str, dict[str, _Cell]]:
    """Measure -> query type -> cell, both sorted."""
    by_measure = scores_by_measure(frame, scores)
    cells: dict[str, dict[str, _Cell]] = {}
    keys = [
        (query_type, [(query_id, repeat) for repeat in range(frame.repeats)])
        for query_id, query_type in frame.query_types.items()
    ]
    for measure in sorted(by_measure):
        of_type = {query_type: _Cell() for query_type in sorted(set(frame.query_types.values()))}
        found = by_measure[measure]
        for query_type, own in keys:
            of_type[query_type].add_query([found.get(key) for key in own])
        cells[measure] = of_type
    return cells


def _with_overall(cells: Mapping[str, _Cell]) -> dict[str, _Cell]:
    whole = _Cell()
    for cell in cells.values():
        whole.by_query += cell.by_query
        whole.n_scored += cell.n_scored
        whole.n_imputed += cell.n_imputed
        whole.n_failed += cell.n_failed
        whole.n_not_applicable += cell.n_not_applicable
    return {**{_type_name(name): cell for name, cell in cells.items()}, OVERALL: whole}


def _natural_mean(
    frame: Frame, cells: Mapping[str, _Cell], proportions: bool, bounds: Bounds
) -> tuple[float | None, Interval]:
    """Mean and interval over the types as they are mixed in the data set."""
    strata = _strata(frame, cells)
    if not strata:
        return None, intervals.UNKNOWN
    interval = intervals.weighted_mean_interval(strata, proportion=proportions, bounds=bounds)
    return intervals.weighted_mean(strata), interval


def _strata(frame: Frame, cells: Mapping[str, _Cell]) -> list[Stratum]:
    """The types that have weight; none where one of them has no value."""
    strata = []
    for query_type, count in sorted(frame.type_mix.items()):
        cell = cells.get(query_type)
        if count and cell is None:
            return []
        if count and cell is not None and cell.n_expected:
            if not cell.means:
                return []
            weight = count * cell.n_expected / (cell.n_expected + cell.n_not_applicable)
            strata.append(Stratum(weight, cell.means))
    return strata


def _row(frame: Frame, name: tuple[str, str], cell: _Cell, mean: float | None, interval: Interval) -> Aggregate:
    query_type, measure = name
    return replace(
        frame.row(measure, mean, interval),
        query_type=query_type,
        n_scored=cell.n_scored,
        n_imputed=cell.n_imputed,
        n_failed=cell.n_failed,
        n_expected=cell.n_expected,
    )


def _type_name(query_type: str) -> str:
    """A data set may call a type what our own rows are called."""
    return f"{query_type} (type)" if query_type in {OVERALL, NATURAL} else query_type
