"""The answer in words: who wins, who ties, what it costs, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.display import Rank
from harness.report.comparison.compare import Comparison
from harness.report.comparison.quantities import rank
from harness.report.view import Group, RunView
from harness.report.words.bounds import NO_BOUNDS, MeasureBounds, bounds_of
from harness.report.words.contest import Contest, hold
from harness.report.words.entrants import at_equal_size, has_values, is_scored, why_apart
from harness.report.words.headlines import headline, headline_of_nothing
from harness.report.words.sentences import sentences
from harness.report.words.settling import margin_of
from harness.report.words.standings import COMPUTED, Line, aside_of, bound_row, natural_mix, shown_rows
from harness.report.words.weaknesses import weaknesses
from harness.report.words.wording import Gap
from harness.statistics import Aggregate
from harness.statistics.paired_comparison import MeasureComparison


@dataclass(frozen=True)
class Findings:
    """What a group of runs says."""

    headline: str
    """One sentence: the answer that somebody who reads nothing else takes away."""
    sentences: tuple[str, ...]
    """What supports it: differences, ties, costs, refusals, what this many queries could have told apart."""
    measure: str | None
    """The measure that ranks; None where no run has a score."""
    order: tuple[int, ...]
    """Positions in `group.views`, the best first; then baselines, at the end unfinished runs."""
    ranks: tuple[Rank | None, ...]
    """Of each view, by position; None where nothing ranks it."""
    comparison: Comparison | None
    """All pairs by the main measures of the runs that compete, not of baselines or of runs without that score.
    None: see `why_not`.
    """
    entrants: tuple[int, ...] = ()
    """Positions in `group.views` of the runs that compete: the comparison counts them in this order."""
    why_not: str = ""
    """Why nothing was compared."""
    priced: Comparison | None = None
    """What the runs cost against each other, where some failed too often to be in that; None: see `comparison`."""
    bounds: MeasureBounds = NO_BOUNDS
    """Between what the values of `bounded` lie."""
    bounded: str | None = None
    """The measure that was to rank: another than `measure` where that one cannot."""
    rows: tuple[Aggregate | None, ...] = ()
    """By position, the mean by which a run stands: see `shown_rows`."""
    margin: str = ""
    """By how much a run may be worse and count as good, in words."""
    margin_value: float | None = None
    """In the measure's own numbers."""
    is_natural: bool = False
    """Those weigh query types as the whole data set does; else each query counts the same."""

    @property
    def ranked(self) -> MeasureComparison | None:
        """The comparison by the measure that ranks."""
        measures = self.comparison.measures if self.comparison else ()
        return next((one for one in measures if one.measure.name == self.measure and one.pairs), None)

    def lines(self, group: Group) -> list[Line]:
        """The leaderboard: what is ranked, what could not be, baselines and bounds, and what is not finished."""
        found = [self.line_at(group, position) for position in self.order]
        constant = self.bounds.constant
        if constant is not None and self.bounded == self.measure:
            row = bound_row(constant, natural=self.is_natural)
            place = next((at for at, line in enumerate(found) if line.aside), len(found))
            found.insert(place, Line(constant.label, None, row, aside=COMPUTED))
        return found

    def line_at(self, group: Group, position: int) -> Line:
        """That of the run at a position of the group."""
        view, row = group.views[position], self.rows[position] if self.rows else None
        others = group.scored_otherwise(self.measure) if self.measure else frozenset()
        return Line(view.label, view, row, self.ranks[position], aside_of(view, others))

    def row_of(self, group: Group, position: int, measure: str) -> Aggregate | None:
        """What a run has of any measure: of the one that ranks the mean by which it stands, else in its mix."""
        stands = self.rows[position] if self.rows else None
        return stands if measure == self.measure else group.views[position].row_beside(measure, stands)

    def is_told_apart(self, one: RunView, other: RunView, measure: str) -> bool | None:
        """Whether two runs are shown to differ by a measure, or differ by as much on every query; None: no test
        says, as of runs that were not compared by it or that raced.
        """
        if one.race or other.race:
            return None
        wanted = [one.run.run_id, other.run.run_id]
        for comparison in filter(None, (self.comparison, self.priced)):
            ids = [run.run.run_id for run in comparison.runs]
            found = next((own for own in comparison.measures if own.measure.name == measure), None)
            if found is not None and {*wanted} <= {*ids}:
                gap = Gap.between(found, *map(ids.index, wanted))
                return None if gap is None else gap.is_told_apart or (gap.pair.spread is None and gap.pair.n > 1)
        return None

    @property
    def weighed(self) -> str:
        """How types of queries count in the means by which runs stand."""
        return "types weighed as in the whole data set" if self.is_natural else "each query counting the same"

    @property
    def compared_order(self) -> list[int]:
        """Places in the comparison, the best run first."""
        return [self.entrants.index(position) for position in self.order if position in self.entrants]


def find(group: Group, measure: str | None = None, margin: float | None = None) -> Findings:
    """The answer of one group, ranked by `measure` (None: see `hold`), with a margin in points (None: what the
    configs say). Everything is in the views but earlier looks, which are sought beside its runs.
    """
    first = hold(group, measure, group.margin if margin is None else margin)
    if first is None:
        ranks = (None,) * len(group.views)
        why_not = "no run has a score that ranks"
        return Findings(
            headline_of_nothing(group), weaknesses(group), None, _order(group, []), ranks, None, (), why_not
        )
    bounds = bounds_of(group, first.measure, first.entrants)
    contest = _able_to_rank(first, bounds) if measure is None else first
    ranked = [contest.entrants[place] for place in contest.order] if contest.entrants else []
    return Findings(
        headline=headline(contest, bounds),
        sentences=sentences(contest, bounds),
        measure=contest.measure,
        order=_order(group, ranked),
        ranks=_ranks(contest),
        comparison=contest.comparison,
        entrants=contest.entrants,
        why_not="" if contest.comparison else _why_not(contest),
        priced=None if contest.priced is contest else contest.priced.comparison,
        bounds=bounds,
        bounded=first.measure,
        rows=shown_rows(contest),
        is_natural=natural_mix(contest),
        margin=margin_of(contest),
        margin_value=contest.margin_value,
    )


def _able_to_rank(first: Contest, bounds: MeasureBounds) -> Contest:
    """The contest by a measure that ranks where answers cannot, if they cannot and the same runs have one."""
    if not bounds.cannot_rank:
        return first
    views = [first.group.views[place] for place in first.entrants]
    for measure in at_equal_size(views, first.group.known):
        other = hold(first.group, measure.name, first.margin)
        if other is not None and other.entrants == first.entrants:
            reason = f", because {first.spoken} cannot rank here"
            return replace(other, reason=reason, instead_of=first.measure)
    return first


def _why_not(contest: Contest) -> str:
    """Why a contest of fewer than two runs has no comparison."""
    others = [view for place, view in enumerate(contest.group.views) if place not in contest.entrants]
    competing = [view for view in others if not view.is_baseline and view.is_complete]
    held = [view for view in competing if has_values(view, contest.measure)]
    if any(not why_apart(view, contest.measure) for view in held):
        return f"no two runs were scored in one way by {contest.spoken}"
    if any(is_scored(view) for view in competing):
        return f"one run alone has a value of {contest.spoken}, and a comparison takes two"
    if any(not view.is_complete for view in others):
        return "fewer than two runs are finished, and a comparison takes two"
    return "there is one run with a score, and a comparison takes two"


def _order(group: Group, ranked: Sequence[int]) -> tuple[int, ...]:
    """What is ranked, then what could not be, then baselines, then what is not finished."""
    views = group.views
    others = [place for place in range(len(views)) if place not in ranked]
    return (*ranked, *sorted(others, key=lambda place: (not views[place].is_complete, views[place].is_baseline)))


def _ranks(contest: Contest) -> tuple[Rank | None, ...]:
    ranks: list[Rank | None] = [None] * len(contest.group.views)
    if contest.ranked is not None:
        for place, position in enumerate(contest.entrants):
            ranks[position] = rank(contest.ranked, place)
    return tuple(ranks)
