"""The answer in words: who wins, who ties, what it costs, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

from harness.analysis.paired import MeasureComparison
from harness.display import Rank
from harness.report.comparison.compare import Comparison
from harness.report.comparison.quantities import rank
from harness.report.view import Group
from harness.report.words.contest import Contest, has_values, hold, is_scored
from harness.report.words.headlines import headline, headline_of_nothing
from harness.report.words.sentences import sentences, weaknesses


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
    """Positions in `group.views`, the best first; brackets, which do not compete, at the end."""
    ranks: tuple[Rank | None, ...]
    """Of each view, by position; None where nothing ranks it."""
    comparison: Comparison | None
    """All pairs by the main measures of the runs that compete, not of brackets or of runs without that score.
    None: see `why_not`.
    """
    entrants: tuple[int, ...] = ()
    """Positions in `group.views` of the runs that compete: the comparison counts them in this order."""
    why_not: str = ""
    """Why nothing was compared."""

    @property
    def ranked(self) -> MeasureComparison | None:
        """The comparison by the measure that ranks."""
        measures = self.comparison.measures if self.comparison else ()
        return next((one for one in measures if one.measure.name == self.measure and one.pairs), None)

    @property
    def compared_order(self) -> list[int]:
        """Places in the comparison, the best run first."""
        return [self.entrants.index(position) for position in self.order if position in self.entrants]


def find(group: Group, measure: str | None = None) -> Findings:
    """The answer of one group, ranked by `measure` (None: see `hold`). Reads the samples of its runs only:
    everything else is in the views.
    """
    contest = hold(group, measure)
    if contest is None:
        order = tuple(sorted(range(len(group.views)), key=lambda place: group.views[place].is_bracket))
        ranks = (None,) * len(group.views)
        why_not = "no run has a score that ranks"
        return Findings(headline_of_nothing(group), weaknesses(group), None, order, ranks, None, (), why_not)
    return Findings(
        headline=headline(contest),
        sentences=sentences(contest),
        measure=contest.measure,
        order=_order(contest),
        ranks=_ranks(contest),
        comparison=contest.comparison,
        entrants=contest.entrants,
        why_not="" if contest.comparison else _why_not(contest),
    )


def _why_not(contest: Contest) -> str:
    """Why a contest of one run has no comparison."""
    others = [view for place, view in enumerate(contest.group.views) if place not in contest.entrants]
    competing = [view for view in others if not view.is_bracket]
    if any(has_values(view, contest.measure) for view in competing):
        return f"no two runs were scored in one way by {contest.spoken}"
    if any(is_scored(view) for view in competing):
        return f"one run alone has a value of {contest.spoken}, and a comparison takes two"
    return "there is one run with a score, and a comparison takes two"


def _order(contest: Contest) -> tuple[int, ...]:
    """The entrants, then what could not be ranked, then brackets."""
    ranked = [contest.entrants[place] for place in contest.order]
    views = contest.group.views
    others = [place for place in range(len(views)) if place not in ranked]
    return (*ranked, *sorted(others, key=lambda place: views[place].is_bracket))


def _ranks(contest: Contest) -> tuple[Rank | None, ...]:
    ranks: list[Rank | None] = [None] * len(contest.group.views)
    if contest.ranked is not None:
        for place, position in enumerate(contest.entrants):
            ranks[position] = rank(contest.ranked, place)
    return tuple(ranks)
