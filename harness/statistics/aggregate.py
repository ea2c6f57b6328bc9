"""Aggregates scores to means with intervals, per query type and overall. Every expected query stays in the
denominator.

Rows of `query_type`:

- each query type of the sample;
- `overall`: as sampled, each query has the same weight (balanced, if the sample is);
- `overall_natural`: the types weighted as in the whole data set (`type_mix` of the manifest). There is no mean if
  a type with weight has no value. A metric that applies to a part of a type's queries gets that part of the type's
  weight, so that types to which `hallucination_rate` does not apply do not prevent its mean.

A row counts (query, repeat) pairs: n_expected = n_scored + n_imputed + n_failed. Pairs to which the metric does
not apply are not expected, and a row that expects none is omitted. A pair of the sample without a score counts as
failed. The mean is over scored and imputed values: first over the repeats of each query, then over queries, so
that repeats do not narrow the interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.statistics import confidence_intervals
from harness.statistics.columnar_scores import (
    FAILED,
    IMPUTED,
    MISSING,
    NONE,
    SCORED,
    STATES,
    ScoreColumns,
)
from harness.statistics.confidence_intervals import UNBOUNDED, Bounds, Interval, Stratum, can_be_shares
from harness.statistics.run_frame import NATURAL, OVERALL, Aggregate, Frame, LowerBound
from harness.statistics.sampling_design import are_equal


class _Counts(NamedTuple):
    n_scored: int
    n_imputed: int
    n_failed: int
    n_expected: int


@dataclass(frozen=True)
class _Cell:
    """One metric over some queries: one row per query, one column per repeat."""

    states: NDArray[np.uint8]
    values: NDArray[np.float64]
    """NaN without a value."""
    questions: NDArray[np.int64] | None = None
    """A number for each row, equal for rows with the same text; None: all texts are different."""

    @cached_property
    def counts(self) -> _Counts:
        found = np.bincount(self.states.ravel(), minlength=len(STATES)).tolist()
        n_failed = found[NONE] + found[FAILED] + found[MISSING]
        return _Counts(found[SCORED], found[IMPUTED], n_failed, found[SCORED] + found[IMPUTED] + n_failed)

    @cached_property
    def means(self) -> list[float]:
        """One value for each question that has any."""
        means = means_of(self.values)
        if self.questions is not None:
            _, means = means_of_questions(means, self.questions)
        found: list[float] = means[~np.isnan(means)].tolist()
        return found

    @cached_property
    def mean(self) -> float | None:
        return float(np.mean(self.means)) if self.means else None

    @cached_property
    def pooled(self) -> list[float]:
        """All values of all repeats, ascending."""
        return self._ascending(self.values)

    @cached_property
    def _at_most(self) -> list[float]:
        """The values, with imputed ones at their maximum."""
        return self._ascending(np.where(self.states == IMPUTED, math.inf, self.values))

    def may_be_more(self, p: float) -> bool:
        """Whether the `p` quantile would be higher if imputed values were larger."""
        place = round((len(self.pooled) - 1) * p, 9)
        between = {math.floor(place), math.ceil(place)} if self.pooled else set()
        return any(self._at_most[one] > self.pooled[one] for one in between)

    def _ascending(self, values: NDArray[np.float64]) -> list[float]:
        found: list[float] = np.sort(values[~np.isnan(values)]).tolist()
        return found


def aggregate_scores(
    frame: Frame, scores: ScoreColumns, *, ranges: Mapping[str, Bounds] | None = None
) -> list[Aggregate]:
    """Every metric of `scores`, by name, with the rows described above.

    `ranges`: lowest and highest possible value of a metric, which limits intervals. Values that are all 0 or 1 get
    Wilson's interval if `can_be_shares` allows it.
    """
    rows = []
    for measure, of_type, whole in _cells(frame, scores):
        ends = (ranges or {}).get(measure)
        for query_type, cell in _with_overall(of_type, whole):
            interval = confidence_intervals.mean_interval(
                cell.means, proportion=can_be_shares(ends), bounds=ends or UNBOUNDED
            )
            rows.append(_row(frame, (query_type, measure), cell, cell.mean, interval))
        if frame.type_mix:
            strata = _strata(frame, of_type)
            mean, natural = whole.mean, interval
            if not _is_as_sampled(strata, whole):
                mean, natural = _natural_mean(strata, ends)
            rows.append(_row(frame, (NATURAL, measure), whole, mean, natural))
    return [row for row in rows if row.n_expected]


def aggregate_quantiles(frame: Frame, scores: ScoreColumns, quantiles: Sequence[float]) -> list[Aggregate]:
    """`<measure>_p50` and so on, for each type and `overall`: over single repeats, not over their means.

    Quantiles interpolate linearly between values. Imputed values are lower bounds: a quantile that they may raise
    is a `LowerBound`. With repeats there is no interval, because repeats of a query are not independent.
    """
    rows = []
    for measure, of_type, whole in _cells(frame, scores):
        for query_type, cell in _with_overall(of_type, whole):
            for p in quantiles:
                value = float(np.quantile(cell.pooled, p)) if cell.pooled else None
                interval = confidence_intervals.UNKNOWN
                if frame.repeats == 1:
                    interval = confidence_intervals.quantile_interval(cell.pooled, p)
                row = _row(frame, (query_type, f"{measure}_p{p * 100:g}"), cell, value, interval)
                rows.append(LowerBound(**vars(row)) if cell.may_be_more(p) else row)
    return [row for row in rows if row.n_expected]


def mean_of(values: Sequence[float]) -> float:
    """The mean of the repeats of one query; usually there is only one, so this is faster than numpy."""
    return values[0] if len(values) == 1 else float(np.mean(values))


def means_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each row (the repeats of a query) the mean of its known values; NaN if there are none."""
    if values.shape[1] == 1:
        return values[:, 0]
    known = [row[~np.isnan(row)].tolist() for row in values]
    return np.array([mean_of(own) if own else np.nan for own in known], dtype=np.float64)


def means_of_questions(
    means: NDArray[np.float64], questions: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The number of each question, and the average of the `means` of the queries that ask it."""
    known = ~np.isnan(means)
    numbers, group = np.unique(questions, return_inverse=True)
    sums = np.bincount(group[known], means[known], minlength=len(numbers))
    counts = np.bincount(group[known], minlength=len(numbers))
    return numbers, np.divide(sums, counts, out=np.full(len(numbers), np.nan), where=counts > 0)


def _cells(frame: Frame, scores: ScoreColumns) -> Iterator[tuple[str, dict[str, _Cell], _Cell]]:
    """Each metric by name, with its cell for each query type, sorted, and over all."""
    types, questions = [*frame.query_types.values()], frame.questions
    by_type = np.array(sorted(range(len(types)), key=types.__getitem__), np.int64)
    members = {name: by_type[[types[place] == name for place in by_type]] for name in sorted({*types})}
    for measure, column in sorted(scores.by_measure.items(), key=itemgetter(0)):
        whole, *cells = (
            _Cell(column.states[own], column.values[own], None if questions is None else questions[own])
            for own in (by_type, *members.values())
        )
        yield measure, dict(zip(members, cells, strict=True)), whole


def _with_overall(of_type: Mapping[str, _Cell], whole: _Cell) -> list[tuple[str, _Cell]]:
    """By type and over all. A type is renamed if it has the name of one of our own rows."""
    named = ((f"{name} (type)" if name in {OVERALL, NATURAL} else name, cell) for name, cell in of_type.items())
    return [*named, (OVERALL, whole)]


def _natural_mean(strata: Sequence[Stratum], ends: Bounds | None) -> tuple[float | None, Interval]:
    if not strata:
        return None, confidence_intervals.UNKNOWN
    interval = confidence_intervals.weighted_mean_interval(
        strata, proportion=can_be_shares(ends), bounds=ends or UNBOUNDED
    )
    return confidence_intervals.weighted_mean(strata), interval


def _is_as_sampled(strata: Sequence[Stratum], whole: _Cell) -> bool:
    """Whether the natural mix gives each question the same weight, as if the sample is the whole data set: then
    intervals need not be those of separate strata, of which few values say little.
    """
    each = np.array([stratum.weight / len(stratum.values) for stratum in strata])
    n = sum(len(stratum.values) for stratum in strata)
    return len(each) > 0 and n == len(whole.means) and are_equal(each)


def _strata(frame: Frame, cells: Mapping[str, _Cell]) -> list[Stratum]:
    """The query types with weight; none if one of them has no value."""
    strata = []
    for query_type, count in sorted(frame.type_mix.items()):
        cell = cells.get(query_type)
        if count and cell is None:
            return []
        if count and cell is not None and cell.counts.n_expected:
            if not cell.means:
                return []
            weight = count * cell.counts.n_expected / cell.states.size
            strata.append(Stratum(weight, cell.means))
    return strata


def _row(frame: Frame, name: tuple[str, str], cell: _Cell, mean: float | None, interval: Interval) -> Aggregate:
    query_type, measure = name
    return replace(frame.row(measure, mean, interval), query_type=query_type, **cell.counts._asdict())
