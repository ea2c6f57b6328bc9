"""What would settle a contest that is undecided: how many queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.report.words.contest import Contest
from harness.report.words.wording import amount, bare
from harness.statistics.paired_comparison import ComparedPair, MeasureComparison
from harness.statistics.power import MOST_QUERIES, most_discordant, queries_needed, rounded_up


class Needed(NamedTuple):
    """So many queries would show a difference of that size four times out of five."""

    queries: int
    difference: float


def needed_for(contest: Contest) -> Needed | None:
    """What it takes to tell any two leaders apart that differ by the margin; where these queries are as many
    already, by what was seen between the first two. None: nothing is known of it, or more than anybody has.
    """
    compared, leaders = contest.ranked, contest.leaders
    if compared is None or len(leaders) < 2 or contest.margin_value is None:
        return None
    means = [compared.means[place] or 0.0 for place in leaders[:2]]
    for difference in (contest.margin_value, abs(means[0] - means[1])):
        found = _needed(compared, leaders, difference) if difference > 0 else None
        if found is not None and compared.n_common < found < MOST_QUERIES:
            return Needed(rounded_up(found), difference)
    return None


def shown_by(compared: MeasureComparison, needed: Needed) -> str:
    """The difference that so many queries would show: `5 points`."""
    return amount(compared, needed.difference).replace(".0 points", " points")


def _needed(compared: MeasureComparison, leaders: Sequence[int], difference: float) -> int | None:
    """For every pair of these, as widely as its runs may differ."""
    undecided = [pair for pair in compared.pairs if {pair.a, pair.b} <= {*leaders}]
    found = [_pair_needs(compared, pair, difference) for pair in undecided]
    known = [n for n in found if n is not None]
    return max(known) if known and len(known) == len(found) else None


def _pair_needs(compared: MeasureComparison, pair: ComparedPair, difference: float) -> int | None:
    """Of runs that differ nowhere, or alike everywhere, so many queries say something where they are shares."""
    if pair.spread is not None:
        return pair.spread.needed(difference, len(compared.pairs))
    if not compared.measure.is_share:
        return None
    return queries_needed(difference, len(compared.pairs), most_discordant(pair.higher + pair.lower, pair.n))


def margin_of(contest: Contest) -> str:
    """`5 points`, or `0.05` of a measure that is no share."""
    compared, margin = contest.ranked, contest.margin_value
    if compared is None or margin is None:
        return ""
    if compared.measure.is_share:
        return f"{100 * margin:g} points"
    return bare(compared, margin).rstrip("0")
