"""Runs with the same score: whether they are at the ceiling of their metric, and what decides between them."""

from __future__ import annotations

from harness.report.measures import is_merit
from harness.report.verdict.ranking import Ranking
from harness.report.verdict.types import Choice, TieBreak
from harness.statistics.confidence_intervals import FEWEST


def is_ceiling(ranking: Ranking, least: int = FEWEST) -> bool:
    """Whether two leading runs or more have the best possible value on every one of at least so many queries."""
    compared, leading = ranking.ranked, ranking.leading
    if compared is None or compared.measure.ends is None or compared.n_common < least or ranking.race:
        return False
    best = compared.measure.ends[0 if compared.measure.higher_is_better is False else 1]
    return len(leading) > 1 and all(bool((compared.values(place) == best).all()) for place in leading)


def fewer_right(ranking: Ranking) -> frozenset[int]:
    """Where the leading runs retrieve everything: those with fewer answers right, beyond the margin."""
    name, right = ranking.answers
    if not name or not is_ceiling(ranking, 1):
        return frozenset()
    ends = ranking.group.known[name].ends or (0.0, 1.0)
    least = right[ranking.order[0]] - ranking.margin / 100 * (ends[1] - ends[0])
    return frozenset(place for place in ranking.leading if right[place] < least)


def tie_break(ranking: Ranking, choice: Choice) -> TieBreak | None:
    """Why the chosen run is preferred to one with the same mean: more answers right, or else a lower cost."""
    compared, place, (name, right), (cost, costs) = ranking.ranked, choice.place, ranking.answers, ranking.costs
    if compared is None or not choice.recommends or ranking.race is not None:
        return None
    equal = [one for one in ranking.leading if one != place and compared.means[one] == compared.means[place]]
    if worse := [one for one in equal if right[one] < right[place]]:
        other = max(worse, key=lambda one: right[one])
        tested, measure = ranking.by(name), ranking.group.known[name]
        pair = tested.pair_of(place, other) if tested else None
        is_shown = pair is not None and pair.significant
        told = (ranking.entrants[other].label, measure.display_name, right[place], right[other])
        return TieBreak(*told, measure.is_share, is_shown)
    own, dearer = costs[place], [(known, one) for one in equal if (known := costs[one]) is not None]
    if own is None or not dearer or min(dearer)[0] <= own:
        return None
    return TieBreak(ranking.entrants[min(dearer)[1]].label, cost, own, min(dearer)[0])


def separated_by(ranking: Ranking) -> str:
    """The first metric of the same evaluator by which the leading runs differ; empty if there is none."""
    group, views = ranking.group, [ranking.entrants[place] for place in ranking.leading]
    for name, measure in group.known.items():
        means = {view.value(name) for view in views}
        if is_merit(measure) and group.owner(name) == group.owner(ranking.measure) and len(means - {None}) > 1:
            return name
    return ""
