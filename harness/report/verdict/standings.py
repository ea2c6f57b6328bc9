"""The leaderboard: the standing of each run with its status, its costs, and its mean over the queries and in the
mix of types that decide the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf

from harness.display import printable
from harness.protocols import Measure
from harness.report.comparison.compare import gap_of, paired
from harness.report.quantities import self_reported_mark, why_apart
from harness.report.records import TIMEOUT
from harness.report.verdict.baselines import Baseline, baseline_row, means_over
from harness.report.verdict.ranking import Ranking, has_values
from harness.report.verdict.types import SCORED_OTHERWISE, UNFINISHED, Choice, Number, Standing, Status
from harness.report.view import RunView
from harness.statistics.confidence_intervals import FEWEST
from harness.statistics.cost import TIMES, is_lower_bound
from harness.statistics.query_values import COSTS, QueryValues
from harness.statistics.run_frame import Aggregate, Frame

Rows = Mapping[RunView, Aggregate | None]
"""The mean of each run, see `shown_rows`."""


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
    if compared is None or not compared.n_common:
        # One run alone, or runs without a common query: over its own queries.
        alone = rows_with_missing(view.frame, ranking.measure, values, ranking.group.known)
        return next((row for row in alone if row.query_type == ranking.mix), own)
    # A mean of tokens has lower bounds in it, which are in no comparison.
    if len(values) == compared.n_common and not (ranking.measure in COSTS and own and own.n_imputed):
        return own
    own_values = compared.values(ranking.entrants.index(view)).tolist()
    kept = dict(zip(compared.query_ids, own_values, strict=True))
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


def standings(
    ranking: Ranking, rows: Rows, choice: Choice | None = None, constant: Baseline | None = None
) -> tuple[Standing, ...]:
    """Ranked runs, the best first; then runs that could not be ranked, baselines, unfinished runs. The `constant`
    answer comes before the first one that is not ranked. Without a choice nothing is ranked.
    """
    ranked = [ranking.entrants[place] for place in ranking.order]
    left = [view for view in ranking.group.views if view not in ranked]
    views = [*ranked, *sorted(left, key=lambda view: (not view.is_complete, view.is_baseline))]
    found = [_standing(ranking, view, rows[view], choice) for view in views]
    if constant is not None:
        row, others = baseline_row(constant, ranking.mix), ranking.group.scored_otherwise(ranking.measure)
        n_above = next((at for at, view in enumerate(views) if why_apart(view, others)), len(views))
        n = row.n_expected if row else 0
        found.insert(n_above, Standing(constant.label, "", "baseline", "constant answer", score=_mean(row), n=n))
    return tuple(found)


def _standing(ranking: Ranking, view: RunView, row: Aggregate | None, choice: Choice | None) -> Standing:
    if choice is None or view not in ranking.entrants:
        return _unplaced(ranking, view, row, *_why_unranked(ranking, view, choice))
    place, compared = ranking.entrants.index(view), ranking.ranked
    found = _unplaced(ranking, view, row, _status(place, choice, ranking))
    if compared is None:
        return found
    found = replace(found, n_missing=compared.n_missing[place])
    lead = next((one for one in ranking.leads if one.place == place), None)
    if lead is None or ranking.race is not None:
        return found
    pair = ranking.pair_with_best(place)
    is_same = pair.higher == pair.lower == 0 and not any(compared.n_missing)
    gap = (0.0,) if is_same else gap_of(compared, lead, ranking.order[0], is_won=ranking.is_won)
    return replace(found, behind=Number(*gap))


def _status(place: int, choice: Choice, ranking: Ranking) -> Status:
    if place == choice.place and choice.recommends:
        return "recommended"
    if ranking.entrants[place].is_baseline:
        return "baseline"
    if place in choice.as_good:
        return "as good"
    if place in ranking.shown_worse and ranking.race is None:
        return ranking.shown_worse[place]
    return "too few" if ranking.ranked is not None and ranking.ranked.n_common < FEWEST else "tied"


def _why_unranked(ranking: Ranking, view: RunView, choice: Choice | None) -> tuple[Status, str]:
    if view.is_baseline:
        return "baseline", ""
    if not view.is_complete:
        return "not ranked", UNFINISHED
    if choice is None or not has_values(view, ranking.measure):
        return "not ranked", "no score"
    return "not ranked", view.why_not_ranked(ranking.measure) or SCORED_OTHERWISE


def _unplaced(ranking: Ranking, view: RunView, row: Aggregate | None, status: Status, why: str = "") -> Standing:
    """Everything but its place among the others."""
    mix, repeats = ranking.mix, max(1, view.frame.repeats)
    tokens, usd = (view.row_in(mix, cost) for cost in ("tokens", "usd"))
    unranked = view.row_in(mix, ranking.instead_of) if ranking.instead_of else None
    columns = {}
    for measure in ranking.group.columns:
        other = view.row_in(mix, measure.name)
        # Beside the score, a share of less than half as many queries would be read as one of all.
        is_most = other is None or row is None or 2 * other.n_expected >= row.n_expected
        if row is None or (measure.name != row.measure and is_most):
            columns[printable(measure.display_name)] = other.mean if other else None
    return Standing(
        view.label,
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
        seconds=_cost(view.row("latency_s_p50")),
        # A failed query costs less than an answer.
        tokens=_cost(tokens, mark=self_reported_mark(view, "tokens"), at_least=view.fails_too_often),
        usd_per_1000=_cost(usd, 1000.0, at_least=view.fails_too_often),
        index_usd=_cost(view.row("index_usd")),
        index_tokens=_cost(view.row("index_tokens")),
    )


def _mean(row: Aggregate | None) -> Number | None:
    return None if row is None or row.mean is None else Number(row.mean, row.ci_low, row.ci_high)


def _cost(row: Aggregate | None, scale: float = 1.0, mark: str = "", *, at_least: bool = False) -> Number | None:
    if row is None or row.mean is None:
        return None
    return Number(row.mean * scale, at_least=at_least or is_lower_bound(row), mark=mark)
