"""Lower and upper baselines of a metric: the best constant answer, answers without documents, and answers from the
gold evidence. If the upper one is not significantly above the lower one, the metric cannot rank what lies between.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.display import printable
from harness.report.comparison.compare import paired
from harness.report.run_view import sees_gold
from harness.report.verdict.ranking import has_values
from harness.report.verdict.types import ModelLimit
from harness.report.view import Group, RunView
from harness.statistics.aggregate import aggregate_scores
from harness.statistics.columnar_scores import FAILED, IMPUTED, NOT_APPLICABLE, SCORED, ScoreColumns
from harness.statistics.confidence_intervals import FEWEST
from harness.statistics.paired_comparison import compare_measure
from harness.statistics.query_values import QueryValues
from harness.statistics.recommendation import Lead, leads_of
from harness.statistics.run_frame import OVERALL, Aggregate, Frame

_LOW = 0.7
"""Share of answers right with the gold evidence, below which the model is named as the limit."""
_FEWEST_RIGHT = 2
"""A constant answer must be right this often: where all answers differ, each is right once."""


@dataclass(frozen=True)
class Baseline:
    label: str
    values: QueryValues
    rows: tuple[Aggregate, ...]


@dataclass(frozen=True)
class Baselines:
    """The baselines of a metric over the queries of a group; each may be unknown."""

    constant: Baseline | None = None
    lower: Baseline | None = None
    """The better of `constant` and the baselines that see no document."""
    upper: Baseline | None = None
    """The best of the baselines that see the gold evidence."""
    headroom: Lead | None = None
    """The lead of the upper baseline over the lower one; None if unknown, or if a system is above the lower one
    although the upper one is not: then it says nothing about the model.
    """

    @property
    def cannot_rank(self) -> bool:
        """Whether the upper baseline is not significantly above the lower one."""
        return self.headroom is not None and not self.headroom.is_shown_here


def baselines_of(group: Group, measure: str, entrants: Sequence[RunView]) -> Baselines:
    """The baselines that were scored like the `entrants`; without entrants, only the constant answer."""
    constant = _constant(group, measure, entrants[0] if entrants else group.widest)
    if not entrants:
        return Baselines(constant=constant, lower=constant)
    runs = [
        view
        for view in group.views
        if view.is_baseline and not view.fails_too_often and has_values(view, measure)
        if not view.why_not_ranked(measure) and view.way(measure) == entrants[0].way(measure)
    ]
    found = {
        view: Baseline(view.label, view.values[measure], tuple(row for row in view.rows if row.measure == measure))
        for view in runs
    }
    blind = [own for view, own in found.items() if sees_gold(view.manifest) is False]
    seeing = [own for view, own in found.items() if sees_gold(view.manifest) and not view.why_no_ceiling]
    lower = _best(group, measure, [*([constant] if constant else []), *blind])
    upper = _best(group, measure, seeing)
    headroom = _lead(group, measure, upper.values, lower.values) if lower and upper else None
    if headroom is not None and lower is not None and not headroom.is_shown_here:
        leads = [lead_over(group, measure, view, lower) for view in entrants]
        if any(lead is not None and lead.is_shown for lead in leads):
            headroom = None
    return Baselines(constant, lower, upper, headroom)


def baseline_row(baseline: Baseline, mix: str) -> Aggregate | None:
    rows = {row.query_type: row for row in baseline.rows}
    return rows.get(mix) or rows.get(OVERALL)


def model_limit(
    group: Group, measure: str, baselines: Baselines, entrants: Sequence[RunView], mix: str
) -> ModelLimit | None:
    """The share right with the gold evidence, if low and further from 100 % than from the best system."""
    upper, known = baselines.upper, group.known.get(measure)
    row = baseline_row(upper, mix) if upper and known and known.is_share else None
    if upper is None or row is None or row.mean is None or row.n_expected < FEWEST:
        return None
    rows = [view.row_beside(measure, row) for view in entrants]
    best = max((one.mean for one in rows if one and one.mean is not None), default=0.0)
    if max(row.mean, best) >= _LOW or 1 - row.mean <= row.mean - best:
        return None
    return ModelLimit(upper.label, group.display_name(measure), row.mean)


def means_over(
    frame: Frame,
    measure: str,
    ends: tuple[float, float] | None,
    values: Mapping[str, float],
    applies: frozenset[str],
    imputed: Collection[str] = (),
) -> tuple[Aggregate, ...]:
    """The means of a metric by query type, from one value for each distinct question. One in `applies` without a
    value is missing. `imputed`: questions whose value stands for an unknown one, such as a time limit.
    """
    types = {query_id: kind for query_id, kind in frame.query_types.items() if query_id not in frame.repeated}
    distinct = replace(frame, repeats=1, query_types=types, repeated={})

    def cell(query_id: str) -> tuple[int, float | None]:
        value = values.get(query_id)
        if value is None:
            return FAILED if query_id in applies else NOT_APPLICABLE, None
        return IMPUTED if query_id in imputed else SCORED, value

    scores = ScoreColumns.of_cells(distinct, (((one, 0), {measure: cell(one)}) for one in types))
    return tuple(aggregate_scores(distinct, scores, ranges={measure: ends} if ends else {}))


def query_weights(frame: Frame, queries: Sequence[str], applies: frozenset[str]) -> list[float]:
    """The weight of each query in the natural mix of query types; all equal if the mix is unknown."""
    found = frame.drawn.weights(queries, frame.query_types.keys(), applies)
    return [1.0] * len(queries) if found is None else found.tolist()


def _constant(group: Group, measure: str, view: RunView) -> Baseline | None:
    known = group.known.get(measure)
    if known is None or known.constant is None or measure not in view.values:
        return None
    applies = view.values[measure].expected
    ids = [query_id for query_id in view.sample if query_id in applies]
    references = [view.sample[query_id].reference for query_id in ids]
    found = known.constant(references, query_weights(view.frame, ids, applies))
    if found is None or sum(value > 0 for value in found.values) < _FEWEST_RIGHT:
        return None
    values = QueryValues.of(dict(zip(ids, found.values, strict=True)), frozenset(ids))
    label = f"always '{printable(found.answer, 26)}'"
    return Baseline(label, values, means_over(view.frame, measure, known.ends, values, applies))


def _best(group: Group, measure: str, baselines: Sequence[Baseline]) -> Baseline | None:
    """The best weighted mean over the queries that all of them have; the first of equal ones."""
    frame = group.widest.frame
    every = [frozenset(one.values) for one in baselines]
    common = sorted(frozenset.intersection(*every)) if every else []
    if not common:
        return None
    weights = query_weights(frame, common, frozenset().union(*(one.values.expected for one in baselines)))
    known = group.known.get(measure)
    sign = -1 if known is not None and not known.higher_is_better else 1

    def merit(one: Baseline) -> float:
        values = one.values
        return sign * sum(weight * values[query_id] for weight, query_id in zip(weights, common, strict=True))

    return max(baselines, key=merit)


def lead_over(group: Group, measure: str, view: RunView, baseline: Baseline) -> Lead | None:
    return _lead(group, measure, view.values[measure], baseline.values) if measure in view.values else None


def _lead(group: Group, measure: str, upper: QueryValues, lower: QueryValues) -> Lead | None:
    frame = group.widest.frame
    shared = {(0, 1): frozenset(frame.query_types)}
    compared = compare_measure(paired(measure, [upper, lower], group.known), shared, frame.drawn)
    return next(iter(leads_of(compared, 0)), None)
