"""The lines of a leaderboard, and the standing of each run: its status, its costs, and its mean over the queries
and in the mix of types that decide the verdict."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple

from harness.display import printable
from harness.protocols import Measure
from harness.report.comparison.compare import gap_of, paired
from harness.report.quantities import self_reported_mark
from harness.report.records import TIMEOUT
from harness.report.verdict.baselines import means_over
from harness.report.verdict.ranking import Ranking, has_values, why_not_comparable
from harness.report.verdict.types import SCORED_OTHERWISE, UNFINISHED, Choice, Number, Standing, Status
from harness.report.view import Group, RunView
from harness.statistics.confidence_intervals import FEWEST
from harness.statistics.cost import TIMES, is_lower_bound
from harness.statistics.query_values import COSTS, QueryValues
from harness.statistics.run_frame import OVERALL, Aggregate, Frame

NOT_FINISHED = "not finished"
BASELINE = "baseline"


class Line(NamedTuple):
    label: str
    view: RunView | None
    """None: a constant answer."""
    row: Aggregate | None


def shown_rows(ranking: Ranking) -> dict[RunView, Aggregate | None]:
    """The mean of each run; of compared ones over common queries, with the worst value for missing ones."""
    return {view: _shown(ranking, view) for view in ranking.group.views}


def _shown(ranking: Ranking, view: RunView) -> Aggregate | None:
    own = view.row(ranking.measure, ranking.mix) or view.row(ranking.measure)
    compared = ranking.ranked
    known = ranking.group.known.get(ranking.measure)
    ends = (0.0, inf) if ranking.measure in COSTS else known.ends if known else None
    if view not in ranking.entrants or (known is None and ranking.measure not in COSTS):
        return own
    values = view.values[ranking.measure]
    if compared is not None and compared.n_common:
        # A mean of tokens has lower bounds in it, which are in no comparison.
        if len(values) == compared.n_common and not (ranking.measure in COSTS and own and own.n_imputed):
            return own
        ids, own_values = compared.query_ids, compared.values(ranking.entrants.index(view))
    else:
        # One run alone, or runs without a common query: over its own queries.
        alone = rows_with_missing(view.frame, ranking.measure, values, ranking.group.known)
        return next((row for row in alone if row.query_type == ranking.mix), own)
    kept = dict(zip(ids, own_values.tolist(), strict=True))
    late = [query_id for query_id in kept if ranking.measure in TIMES and view.became(query_id, TIMEOUT)]
    absent = [query_id for query_id in kept if query_id not in values]
    rows = means_over(view.frame, ranking.measure, ends, kept, frozenset(kept), {*late, *absent})
    return next((row for row in rows if row.query_type == ranking.mix), own)


def rows_with_missing(
    frame: Frame, measure: str, values: QueryValues, known: Mapping[str, Measure]
) -> tuple[Aggregate, ...]:
    """The means of one run by query type, with the worst value for missing ones; empty if none is missing, or
    nothing can replace it.
    """
    alone, ids = paired(measure, [values], known), tuple(sorted(values.expected))
    if len(values) == len(ids) or not alone.counts_missing:
        return ()
    kept = dict(zip(ids, alone.at(0, ids).tolist(), strict=True))
    return means_over(frame, measure, alone.ends, kept, frozenset(kept), set(ids).difference(values))


def why_not_ranked(view: RunView, others: Collection[str] = ()) -> str:
    """Why a run is not ranked; `others`: ids of the runs that were scored in another way."""
    if not view.is_complete:
        return NOT_FINISHED
    if view.is_baseline:
        return BASELINE
    return SCORED_OTHERWISE if view.run.run_id in others else ""


def standings(
    group: Group, lines: Sequence[Line], ranking: Ranking | None = None, choice: Choice | None = None
) -> Iterator[Standing]:
    """In the order of the lines; without a choice nothing is ranked."""
    leads = {lead.place: lead for lead in ranking.leads} if ranking and ranking.race is None else {}
    for line in lines:
        if ranking is None or choice is None or line.view not in ranking.entrants:
            yield _standing(group, line, ranking, *_why_unranked(line, ranking))
            continue
        place, compared = ranking.entrants.index(line.view), ranking.ranked
        found = _standing(group, line, ranking, _status(place, choice, ranking))
        if compared is not None:
            found = replace(found, n_missing=compared.n_missing[place])
            if place in leads:
                pair, best = ranking.pair_with_best(place), ranking.order[0]
                is_same = pair.higher == pair.lower == 0 and not any(compared.n_missing)
                gap = (0.0,) if is_same else gap_of(compared, leads[place], best, is_won=ranking.is_won)
                found = replace(found, behind=Number(*gap))
        yield found


def _status(place: int, choice: Choice, ranking: Ranking) -> Status:
    if place == choice.place and choice.recommends:
        return "recommended"
    if ranking.entrants[place].is_baseline:
        return "baseline"
    if place in choice.as_good:
        return "as good"
    if place in ranking.beaten and ranking.race is None:
        return "worse"
    if place in ranking.worse_here:
        return "worse here"
    return "too few" if ranking.ranked is not None and ranking.ranked.n_common < FEWEST else "tied"


def _why_unranked(line: Line, ranking: Ranking | None) -> tuple[Status, str]:
    view = line.view
    if view is None or view.is_baseline:
        return "baseline", "constant answer" if view is None else ""
    if not view.is_complete:
        return "not ranked", UNFINISHED
    if ranking is None or not has_values(view, ranking.measure):
        return "not ranked", "no score"
    return "not ranked", why_not_comparable(view, ranking.measure) or SCORED_OTHERWISE


def _standing(group: Group, line: Line, ranking: Ranking | None, status: Status, why: str = "") -> Standing:
    row, view = line.row, line.view
    if view is None:
        return Standing(line.label, "", status, why, score=_mean(row), n=row.n_expected if row else 0)
    mix = ranking.mix if ranking else OVERALL
    unranked = view.row_in(mix, ranking.instead_of) if ranking and ranking.instead_of else None
    columns, repeats = {}, max(1, view.frame.repeats)
    for measure in group.columns:
        other = view.row_in(mix, measure.name)
        # Beside the score, a share of less than half as many queries would be read as one of all.
        is_most = other is None or row is None or 2 * other.n_expected >= row.n_expected
        if row is None or (measure.name != row.measure and is_most):
            columns[printable(measure.display_name)] = other.mean if other else None
    return Standing(
        line.label,
        view.run.run_id,
        status,
        why,
        score=_mean(row),
        why_unpriced=view.why_unpriced,
        n=row.n_expected // repeats if row else 0,
        unranked=_mean(unranked),
        n_unranked=unranked.n_expected // repeats if unranked and unranked.mean is not None else 0,
        columns=columns,
        failed=view.n_errors / view.n_answered if view.n_answered else None,
        is_imported=view.manifest.is_imported,
        seconds=_number(view.row("latency_s_p50")),
        tokens=_cost(view, mix, "tokens", mark=self_reported_mark(view, "tokens")),
        usd_per_1000=_cost(view, mix, "usd", 1000.0),
        index_usd=_number(view.row("index_usd")),
        index_tokens=_number(view.row("index_tokens")),
    )


def _mean(row: Aggregate | None) -> Number | None:
    return None if row is None or row.mean is None else Number(row.mean, row.ci_low, row.ci_high)


def _cost(view: RunView, mix: str, measure: str, scale: float = 1.0, mark: str = "") -> Number | None:
    """The mean of a query; a lower bound if many failed, because a failed query costs less than an answer."""
    found = _number(view.row_in(mix, measure), scale, mark)
    return replace(found, at_least=found.at_least or view.fails_too_often) if found else None


def _number(row: Aggregate | None, scale: float = 1.0, mark: str = "") -> Number | None:
    if row is None or row.mean is None:
        return None
    return Number(row.mean * scale, at_least=is_lower_bound(row), mark=mark)
