"""What stands in a leaderboard: each run's mean, over the queries and in the mix that decided the verdicts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import inf

from harness.display import Quantity, Rank
from harness.report.aggregates import cost_quantity, share
from harness.report.measures import Ranged, ranged
from harness.report.own_models import self_reported_mark
from harness.report.view import RunView
from harness.report.words.bounds import Bound, means_over
from harness.report.words.contest import Contest
from harness.statistics import NATURAL, OVERALL, Aggregate
from harness.statistics.cost import TIMES
from harness.statistics.paired_values import COSTS

NOT_FINISHED = "not finished"
BASELINE = "baseline"
COMPUTED = "no run"
SCORED_OTHERWISE = "scored otherwise"


@dataclass(frozen=True)
class Line:
    """One line of a leaderboard."""

    label: str
    view: RunView | None
    """None: a bound that was computed."""
    row: Aggregate | None
    rank: Rank | None = None
    aside: str = ""
    """What it is, if it does not compete; empty: a run that does, or could."""

    @property
    def named(self) -> str:
        """The label, with what keeps it out of the ranking."""
        return f"{self.label} ({self.aside})" if self.aside else self.label

    @property
    def mean(self) -> Quantity | None:
        """Its mean with the interval: of a cost `≥` where not all of it was counted."""
        return (
            cost_quantity(self.row, interval=True) if self.row and self.row.measure in COSTS else share(self.row)
        )

    def spent(self, cost: str) -> Quantity | None:
        """What a query took of it, in the mix in which the mean is; None: nobody knows, or there is no run."""
        if self.view is None:
            return None
        return cost_quantity(self.view.row_beside(cost, self.row), mark=self_reported_mark(self.view, cost))


def natural_mix(contest: Contest) -> bool:
    """Whether means weigh query types as the whole data set does."""
    if contest.ranked is not None:
        return contest.ranked.mix == "natural"
    places = contest.entrants or range(len(contest.group.views))
    rows = [contest.group.views[place].row(contest.measure, NATURAL) for place in places]
    return any(rows) and all(row is None or row.mean is not None for row in rows)


def shown_rows(contest: Contest) -> tuple[Aggregate | None, ...]:
    """The row of each view, by position: of a run that was compared, over the queries that all of those have, of a
    cost too.
    """
    mix = NATURAL if natural_mix(contest) else OVERALL
    return tuple(
        _shown(contest, view, mix, is_compared=position in contest.entrants)
        for position, view in enumerate(contest.group.views)
    )


def _shown(contest: Contest, view: RunView, mix: str, *, is_compared: bool) -> Aggregate | None:
    own, compared = view.row(contest.measure, mix) or view.row(contest.measure), contest.ranked
    measure = _ranged(contest)
    if not is_compared or compared is None or not compared.n_common or measure is None:
        return own
    values = view.values[contest.measure]
    # A mean of tokens has lower bounds in it, which are in no comparison.
    if len(values.values) == compared.n_common and not (contest.measure in COSTS and own and own.n_imputed):
        return own
    kept = {query_id: values.values[query_id] for query_id in compared.query_ids}
    late = [query_id for query_id in kept if contest.measure in TIMES and view.timed_out(query_id)]
    rows = means_over(view.frame, measure, kept, values.expected, frozenset(late))
    return next(row for row in rows if row.query_type == mix)


def _ranged(contest: Contest) -> Ranged | None:
    """What ranks; None where nobody knows what its values lie between."""
    if contest.measure in COSTS:
        return contest.measure, (0.0, inf)
    known = contest.group.known.get(contest.measure)
    return ranged(known) if known else None


def bound_row(bound: Bound, *, natural: bool) -> Aggregate | None:
    """The row of a bound in the same mix."""
    rows = {row.query_type: row for row in bound.rows}
    return rows.get(NATURAL if natural else OVERALL) or rows.get(OVERALL)


def aside_of(view: RunView, others: Collection[str] = ()) -> str:
    """What a run is that does not compete; `others`: the ids of those that were scored otherwise."""
    if not view.is_complete:
        return NOT_FINISHED
    if view.is_baseline:
        return BASELINE
    return SCORED_OTHERWISE if view.run.run_id in others else ""
