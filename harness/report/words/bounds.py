"""Between what the values of a measure lie: what a constant answer gets, what no retrieval gets, what the
reference evidence gives. Where that room is not more than chance, the measure cannot rank what lies in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.display.text_format import printable
from harness.report.comparison.choosing import paired
from harness.report.contexts import lacks_evidence, sees_gold
from harness.report.measures import Ranged, ranged
from harness.report.samples import References
from harness.report.view import Group, RunView
from harness.report.words.entrants import has_values, why_apart
from harness.report.words.wording import Gap, name
from harness.statistics import Aggregate, Frame, aggregate_scores
from harness.statistics.paired_comparison import compare_measure
from harness.statistics.paired_values import QueryValues
from harness.statistics.score_columns import FAILED, IMPUTED, NOT_APPLICABLE, SCORED, GatheredRows

_LONGEST_ANSWER = 26
_FEWEST_RIGHT = 2
"""Queries on which a constant answer is worth something: of answers that all differ, each is right once."""


@dataclass(frozen=True)
class Bound:
    """One end of what values can be."""

    label: str
    values: QueryValues
    rows: tuple[Aggregate, ...]
    """Its means, as those of a run."""
    is_computed: bool = False
    """No run: a constant answer."""

    @property
    def called(self) -> str:
        """What a sentence calls it."""
        return self.label if self.is_computed else name(self.label)


@dataclass(frozen=True)
class MeasureBounds:
    """What is known of the ends of a measure, over the queries of a group."""

    constant: Bound | None = None
    """The best answer that is the same for every query."""
    floor: Bound | None = None
    """The best of what needs no document: the constant, and baselines that see none."""
    ceiling: Bound | None = None
    """The best of the baselines that are given the reference evidence."""
    headroom: Gap | None = None
    """The ceiling less the floor, over the queries of both; None where one of them is not known."""

    @property
    def cannot_rank(self) -> bool:
        """Whether the ceiling is not shown to be above the floor: what lies between them is then no merit."""
        return self.headroom is not None and not (self.headroom.is_told_apart and self.headroom.difference > 0)


NO_BOUNDS = MeasureBounds()


def bounds_of(group: Group, measure: str, entrants: Sequence[int]) -> MeasureBounds:
    """The bounds of a measure by which a group is ranked; `entrants` say how they were scored. Without any there
    is the constant alone.
    """
    like = group.views[entrants[0]] if entrants else None
    constant = _constant(group, measure, like or group.widest)
    if like is None:
        return MeasureBounds(constant=constant, floor=constant)
    marks = [view for view in group.views if view.is_baseline and _is_comparable(view, like, measure)]
    given = {view.run.run_id: sees_gold(view.manifest) for view in marks}
    blind = [_of_run(view, measure) for view in marks if given[view.run.run_id] is False]
    shown = [view for view in marks if given[view.run.run_id] is True and not lacks_evidence(view.sample.values())]
    seeing = [_of_run(view, measure) for view in shown]
    floor = _best(group, measure, [*([constant] if constant else []), *blind])
    ceiling = _best(group, measure, seeing)
    return MeasureBounds(constant, floor, ceiling, _headroom(group, measure, floor, ceiling))


def means_over(
    frame: Frame,
    measure: Ranged,
    values: Mapping[str, float],
    applies: frozenset[str],
    imputed: Collection[str] = (),
) -> tuple[Aggregate, ...]:
    """The rows of a measure with one value a query; a query to which it applies and that has none is missing.
    `imputed`: of which queries the value was put in place of one, such as the limit of what timed out.
    """
    name, ends = measure
    scores = GatheredRows()
    for query_id in frame.query_types:
        value = values.get(query_id)
        known = IMPUTED if query_id in imputed else SCORED
        state = known if value is not None else FAILED if query_id in applies else NOT_APPLICABLE
        scores.add((query_id, 0), {name: (state, value)})
    ranges = {name: ends} if ends else {}
    return tuple(aggregate_scores(replace(frame, repeats=1), scores.columns(), ranges=ranges))


def query_weights(frame: Frame, queries: Sequence[str], applies: frozenset[str]) -> list[float]:
    """What each query weighs where types are mixed as in the whole data set; all alike where that is not known."""
    found = frame.drawn.weights(queries, frame.query_types.keys(), applies)
    return [1.0] * len(queries) if found is None else found.tolist()


def _constant(group: Group, measure: str, view: RunView) -> Bound | None:
    known = group.known.get(measure)
    if known is None or known.constant is None or measure not in view.values:
        return None
    applies = view.values[measure].expected
    ids = [query_id for query_id in view.sample if query_id in applies]
    found = known.constant(References(view.sample, ids), query_weights(view.frame, ids, applies))
    if found is None or sum(value > 0 for value in found.values) < _FEWEST_RIGHT:
        return None
    values = QueryValues(dict(zip(ids, found.values, strict=True)), frozenset(ids))
    label = f"always '{printable(found.answer, _LONGEST_ANSWER)}'"
    return Bound(label, values, means_over(view.frame, ranged(known), values.values, applies), is_computed=True)


def _is_comparable(view: RunView, like: RunView, measure: str) -> bool:
    if not has_values(view, measure) or why_apart(view, measure):
        return False
    return view.way(measure) == like.way(measure)


def _of_run(view: RunView, measure: str) -> Bound:
    rows = tuple(row for row in view.rows if row.measure == measure)
    return Bound(view.label, view.values[measure], rows)


def _best(group: Group, measure: str, bounds: Sequence[Bound]) -> Bound | None:
    """The best weighted mean over the queries that all of them have; of equals the first."""
    frame = group.widest.frame
    common = sorted(frozenset.intersection(*(frozenset(one.values.values) for one in bounds))) if bounds else []
    if not common:
        return None
    weights = query_weights(frame, common, frozenset().union(*(one.values.expected for one in bounds)))
    known = group.known.get(measure)
    sign = -1 if known is not None and not known.higher_is_better else 1

    def merit(one: Bound) -> float:
        values = one.values.values
        return sign * sum(w * values[q] for w, q in zip(weights, common, strict=True))

    return max(bounds, key=merit)


def above(group: Group, measure: str, view: RunView, bound: Bound) -> Gap | None:
    """How far a run is above a bound by that measure, over the queries of both."""
    return _gap(group, measure, view.values[measure], bound.values) if measure in view.values else None


def _headroom(group: Group, measure: str, floor: Bound | None, ceiling: Bound | None) -> Gap | None:
    return _gap(group, measure, ceiling.values, floor.values) if floor and ceiling else None


def _gap(group: Group, measure: str, upper: QueryValues, lower: QueryValues) -> Gap | None:
    frame = group.widest.frame
    shared = {(0, 1): frozenset(frame.query_types)}
    return Gap.between(compare_measure(paired(measure, [upper, lower], group.known), shared, frame.drawn), 0, 1)
