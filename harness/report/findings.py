"""The answer in words: who wins, who ties, what it costs, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

from harness.report.comparison.compare import Comparison
from harness.report.comparison.text import rank
from harness.report.contest import Contest, hold
from harness.report.headlines import headline, headline_of_nothing
from harness.report.sentences import sentences, weaknesses
from harness.report.text import NOTHING
from harness.report.view import Group


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
    ranks: tuple[str, ...]
    """Of each view, by position: `1`, `1-3` for a tie, "–" where nothing ranks it."""  # noqa: RUF001
    comparison: Comparison | None
    """All pairs by the main measures of the runs that compete, not of brackets or of runs without that score: its
    positions are its own. None: see `why_not`.
    """
    why_not: str = ""
    """Why nothing was compared."""


def find(group: Group) -> Findings:
    """The answer of one group. Reads the samples of its runs only: everything else is in the views."""
    contest = hold(group)
    if contest is None:
        order = tuple(sorted(range(len(group.views)), key=lambda place: group.views[place].is_bracket))
        ranks = (NOTHING,) * len(group.views)
        why_not = "no run has a score that ranks"
        return Findings(headline_of_nothing(group), weaknesses(group), None, order, ranks, None, why_not)
    return Findings(
        headline=headline(contest),
        sentences=sentences(contest),
        measure=contest.measure,
        order=_order(contest),
        ranks=_ranks(contest),
        comparison=contest.comparison,
        why_not="" if contest.comparison else "there is one run with a score, and a comparison takes two",
    )


def _order(contest: Contest) -> tuple[int, ...]:
    """The entrants, then what could not be ranked, then brackets."""
    ranked = [contest.entrants[place] for place in contest.order]
    views = contest.group.views
    others = [place for place in range(len(views)) if place not in ranked]
    return (*ranked, *sorted(others, key=lambda place: views[place].is_bracket))


def _ranks(contest: Contest) -> tuple[str, ...]:
    ranks = [NOTHING] * len(contest.group.views)
    if contest.ranked is not None:
        for place, position in enumerate(contest.entrants):
            ranks[position] = rank(contest.ranked, place)
    return tuple(ranks)
