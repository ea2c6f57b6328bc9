"""Which runs of a group compete, by which measure, and how they compare: what the answer in words is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from harness.protocols import Measure
from harness.report.comparison.choosing import paired
from harness.report.comparison.compare import Choice, Comparison, compare_loaded
from harness.report.comparison.quantities import ranking
from harness.report.comparison.runs import ComparedRun
from harness.report.measures import DEFAULT_MARGIN
from harness.report.view import Group, RunView
from harness.report.words.entrants import at_equal_size, choose, has_values, is_merit, why_apart
from harness.statistics.non_inferior import as_good
from harness.statistics.paired_comparison import MeasureComparison, compare_measure

SHOWN_COSTS = ("latency_s", "tokens", "usd")


@dataclass(frozen=True)
class Contest:
    """The runs of a group that one measure can rank."""

    group: Group
    measure: str
    reason: str
    """Why that one, in words that stand behind its name."""
    entrants: tuple[int, ...]
    """Their positions in the group; none where no run that has a value is complete."""
    comparison: Comparison | None
    """Of the entrants, in their order, by the main measures, and by what they cost where nobody failed too often
    for that; None for fewer than two."""
    instead_of: str = ""
    """The measure that was to rank and cannot."""
    margin: float = DEFAULT_MARGIN
    """In points: a run that is worse by less is as good."""

    @property
    def spoken(self) -> str:
        """What a sentence calls the measure."""
        return self.group.spoken(self.measure)

    @property
    def margin_value(self) -> float | None:
        """The margin in the measure's own numbers: a point is a hundredth of the largest difference that can be.
        None: nobody knows how large one can be, as of seconds.
        """
        span = self.ranked.measure.span if self.ranked else None
        return None if span is None else self.margin / 100 * span

    @property
    def is_share(self) -> bool:
        """Whether the measure is said in per cent."""
        if self.measure in self.group.known:
            return self.group.known[self.measure].is_share
        return any(self.measure in one.binary for view in self.group.views for one in view.evaluations)

    def view(self, place: int) -> RunView:
        """The entrant at that place of the comparison."""
        return self.group.views[self.entrants[place]]

    @property
    def nobody_answered(self) -> bool:
        """Whether every query failed in every run."""
        views = [self.view(place) for place in range(len(self.entrants))]
        return bool(views) and all(view.n_answered == view.n_errors > 0 for view in views)

    def by(self, measure: str) -> MeasureComparison | None:
        """The entrants by that measure, if it was compared."""
        measures = self.comparison.measures if self.comparison else ()
        return next((one for one in measures if one.measure.name == measure and one.pairs), None)

    @property
    def ranked(self) -> MeasureComparison | None:
        """The entrants by the measure that ranks."""
        return self.by(self.measure)

    @cached_property
    def priced(self) -> Contest:
        """The same of the entrants of which may be said what they cost, compared by that."""
        reliable = [place for place in self.entrants if self.group.views[place].has_its_price]
        if len(reliable) == len(self.entrants):
            return self
        views = [self.group.views[place] for place in reliable]
        costs = _shown_costs(views)
        comparison = _comparison(views, costs) if len(views) > 1 and costs else None
        return replace(self, entrants=tuple(reliable), comparison=comparison)

    @property
    def order(self) -> list[int]:
        """Places in the comparison, the best mean first. A run that another is significantly better than is not
        the best, whatever its mean.
        """
        if self.ranked is None:
            return list(range(len(self.entrants)))
        places, beaten = ranking(self.ranked), self._beaten
        best = next((place for place in places if place not in beaten), places[0])
        return [best, *(place for place in places if place != best)]

    @property
    def _beaten(self) -> set[int]:
        """Places of runs that any other is significantly better than."""
        compared = self.ranked
        if compared is None:
            return set()
        verdicts = ((pair, compared.verdict(pair)) for pair in compared.pairs)
        return {pair.b if verdict == "a" else pair.a for pair, verdict in verdicts if verdict in {"a", "b"}}

    @property
    def leaders(self) -> list[int]:
        """The best mean and those that are not told apart from it, in order."""
        best, *others = self.order
        compared = self.ranked
        if compared is None:
            return [best]
        below = {
            pair.a if pair.b == best else pair.b
            for pair in compared.pairs
            if best in (pair.a, pair.b) and compared.verdict(pair) != "tie"
        }
        return [best, *(place for place in others if place not in below)]

    @cached_property
    def leaders_are_as_good(self) -> bool:
        """Whether each of the leaders is shown to be worse than none of the others by more than the margin."""
        compared, margin, places = self.ranked, self.margin_value, self.leaders
        if compared is None or margin is None:
            return False
        return all(as_good(compared, place, places, margin, len(places) - 1) is not None for place in places)


def hold(group: Group, measure: str | None = None, margin: float = DEFAULT_MARGIN) -> Contest | None:
    """The contest of a group by `measure`; None: by the one that its configs or its data set name, if two runs
    have it. None where no run that competes has a score; ConfigError where no run has the measure that was asked
    for.
    """
    found = choose(group, measure)
    if found is None:
        return None
    ranks_by, entrants = found
    reason = _reason(group, ranks_by, measure)
    if len(entrants) < 2:
        return Contest(group, ranks_by, reason, tuple(entrants), None, margin=margin)
    views = [group.views[place] for place in entrants]
    costs = _shown_costs(views) if all(view.has_its_price for view in views) else []
    measures = [ranks_by, *_main_measures(views, ranks_by, group.known), *costs]
    comparison = _comparison(views, list(dict.fromkeys(measures)))
    return Contest(group, ranks_by, reason, tuple(entrants), comparison, margin=margin)


def against(contest: Contest, position: int, place: int) -> MeasureComparison | None:
    """The view at `position` of the group (0) against an entrant (1) by the measure that ranks; None where the two
    were not scored in one way, or not on the same queries, or the first is not complete.
    """
    one, other = contest.group.views[position], contest.view(place)
    if not has_values(one, contest.measure) or why_apart(one, contest.measure):
        return None
    if one.way(contest.measure) != other.way(contest.measure):
        return None
    values = (one.values[contest.measure], other.values[contest.measure])
    shared = {(0, 1): frozenset(other.frame.query_types)}
    found = compare_measure(paired(contest.measure, values, contest.group.known), shared, other.frame.drawn)
    return found if found.pairs else None


def _reason(group: Group, measure: str, wanted: str | None) -> str:
    choice = group.ranking
    if wanted is not None:
        return ", as asked for"
    if measure == choice.name:
        return f", {choice.named}"
    if not choice.name:
        return ": neither a config nor the data set names a measure"
    return f": no two runs can be compared by {group.spoken(choice.name)}, {choice.named}"


def _main_measures(views: Sequence[RunView], ranks_by: str, known: Mapping[str, Measure]) -> list[str]:
    """Beside the one that ranks: those that ask to be compared, and the first measure of each other evaluator, of
    evidence the one at equal prompt size; of them, what every run has, and has in the same way as another.
    """
    chosen = [name for name, measure in known.items() if measure.compared and _fits(views, name)]
    owners = {name: one.evaluator for view in views for one in view.evaluations for name in one.measures}
    done = {owners.get(name) for name in (ranks_by, *chosen)}
    equal = [measure.name for measure in at_equal_size(views, known)]
    for name in (*equal, *(name for name, measure in known.items() if is_merit(measure))):
        if owners.get(name) not in done and name in owners and _fits(views, name):
            chosen.append(name)
            done.add(owners[name])
    return chosen


def _shown_costs(views: Sequence[RunView]) -> list[str]:
    """What every run has taken, on most of its queries, and not all of them nothing."""
    return [
        name
        for name in SHOWN_COSTS
        if _fits(views, name)
        and all(view.values[name].is_covered for view in views)
        and any(any(view.values[name].values.values()) for view in views)
    ]


def _fits(views: Sequence[RunView], measure: str) -> bool:
    ways = [view.way(measure) for view in views]
    return all(has_values(view, measure) for view in views) and len(set(ways)) < len(ways)


def _comparison(views: Sequence[RunView], measures: Sequence[str]) -> Comparison:
    return compare_loaded(_compared(views), Choice(tuple(measures)))


def _compared(views: Sequence[RunView]) -> list[ComparedRun]:
    return [
        ComparedRun(
            view.run,
            view.label,
            view.manifest,
            view.sample,
            view.values,
            view.evaluations,
            view.notes,
            view.frame,
            view.why_unpriced,
        )
        for view in views
    ]
