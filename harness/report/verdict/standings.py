"""The lines of a leaderboard: each run's mean, over the queries and in the mix of types that decide the
verdict.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import inf

from harness.display import Quantity, Rank
from harness.report.aggregates import cost_quantity, share
from harness.report.comparable_costs import self_reported_mark
from harness.report.measures import Ranged, ranged
from harness.report.verdict.baselines import Baseline, means_over
from harness.report.verdict.ranking import Ranking
from harness.report.view import RunView
from harness.statistics import NATURAL, OVERALL, Aggregate
from harness.statistics.cost import TIMES
from harness.statistics.query_values import COSTS

NOT_FINISHED = "not finished"
BASELINE = "baseline"
COMPUTED = "no run"
SCORED_OTHERWISE = "scored otherwise"


@dataclass(frozen=True)
class Line:
    """One line of a leaderboard."""

    label: str
    view: RunView | None
    """None: a constant answer."""
    row: Aggregate | None
    rank: Rank | None = None
    aside: str = ""
    """Why it is not ranked; empty: it is, or could be."""

    @property
    def named(self) -> str:
        """The label, with what keeps it out of the ranking."""
        return f"{self.label} ({self.aside})" if self.aside else self.label

    @property
    def mean(self) -> Quantity | None:
        """Its mean with the interval; a cost that was not counted in full is a lower bound."""
        return (
            cost_quantity(self.row, interval=True) if self.row and self.row.measure in COSTS else share(self.row)
        )

    def spent(self, cost: str) -> Quantity | None:
        """The mean cost of a query, in the same mix of types; None: unknown, or no run."""
        if self.view is None:
            return None
        return cost_quantity(self.view.row_beside(cost, self.row), mark=self_reported_mark(self.view, cost))


def natural_mix(ranking: Ranking) -> bool:
    """Whether means are in the natural mix of query types."""
    if ranking.ranked is not None:
        return ranking.ranked.mix == "natural"
    places = ranking.entrants or range(len(ranking.group.views))
    rows = [ranking.group.views[place].row(ranking.measure, NATURAL) for place in places]
    return any(rows) and all(row is None or row.mean is not None for row in rows)


def shown_rows(ranking: Ranking) -> tuple[Aggregate | None, ...]:
    """The mean of each run, by position: of a run that was compared, over the queries of the comparison, with the
    worst possible value for each missing one.
    """
    mix = NATURAL if natural_mix(ranking) else OVERALL
    return tuple(_shown(ranking, view, mix, position) for position, view in enumerate(ranking.group.views))


def _shown(ranking: Ranking, view: RunView, mix: str, position: int) -> Aggregate | None:
    own, compared = view.row(ranking.measure, mix) or view.row(ranking.measure), ranking.ranked
    measure = _ranged(ranking)
    if position not in ranking.entrants or compared is None or not compared.n_common or measure is None:
        return own
    values = view.values[ranking.measure]
    # A mean of tokens has lower bounds in it, which are in no comparison.
    if len(values.values) == compared.n_common and not (ranking.measure in COSTS and own and own.n_imputed):
        return own
    place = ranking.entrants.index(position)
    kept = dict(zip(compared.query_ids, compared.values(place).tolist(), strict=True))
    late = [query_id for query_id in kept if ranking.measure in TIMES and view.timed_out(query_id)]
    absent = [query_id for query_id in kept if query_id not in values.values]
    rows = means_over(view.frame, measure, kept, frozenset(kept), frozenset([*late, *absent]))
    return next(row for row in rows if row.query_type == mix)


def _ranged(ranking: Ranking) -> Ranged | None:
    """The metric that ranks and its range; None if the range is unknown."""
    if ranking.measure in COSTS:
        return ranking.measure, (0.0, inf)
    known = ranking.group.known.get(ranking.measure)
    return ranged(known) if known else None


def baseline_row(baseline: Baseline, *, natural: bool) -> Aggregate | None:
    """The mean of a baseline in the same mix."""
    rows = {row.query_type: row for row in baseline.rows}
    return rows.get(NATURAL if natural else OVERALL) or rows.get(OVERALL)


def aside_of(view: RunView, others: Collection[str] = ()) -> str:
    """Why a run is not ranked; `others`: ids of the runs that were scored in another way."""
    if not view.is_complete:
        return NOT_FINISHED
    if view.is_baseline:
        return BASELINE
    return SCORED_OTHERWISE if view.run.run_id in others else ""
