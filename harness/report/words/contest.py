"""Which runs of a group compete, by which measure, and how they compare: what the answer in words is made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.analysis.paired import MeasureComparison, compare_measure
from harness.analysis.paired_values import COSTS
from harness.display.text import printable
from harness.errors import ConfigError, nearest
from harness.protocols import Measure
from harness.report.comparison.choosing import paired
from harness.report.comparison.compare import Choice, Comparison, compare_loaded
from harness.report.comparison.quantities import ranking
from harness.report.comparison.runs import ComparedRun
from harness.report.notes import scored_by
from harness.report.view import Group, RunView

SHOWN_COSTS = ("latency_s", "tokens", "usd")


@dataclass(frozen=True)
class Contest:
    """The runs of a group that one measure can rank."""

    group: Group
    measure: str
    reason: str
    """Why that one, in words that stand behind its name."""
    entrants: tuple[int, ...]
    """Their positions in the group."""
    comparison: Comparison | None
    """Of the entrants, in their order, by the main measures; None for a single one."""

    @property
    def spoken(self) -> str:
        """What a sentence calls the measure."""
        return self.group.spoken(self.measure)

    @property
    def is_share(self) -> bool:
        """Whether the measure is said in per cent."""
        if self.measure in self.group.known:
            return self.group.known[self.measure].is_share
        return any(self.measure in one.binary for view in self.group.views for one in view.evaluations)

    def view(self, place: int) -> RunView:
        """The entrant at that place of the comparison."""
        return self.group.views[self.entrants[place]]

    def by(self, measure: str) -> MeasureComparison | None:
        """The entrants by that measure, if it was compared."""
        measures = self.comparison.measures if self.comparison else ()
        return next((one for one in measures if one.measure.name == measure and one.pairs), None)

    @property
    def ranked(self) -> MeasureComparison | None:
        """The entrants by the measure that ranks."""
        return self.by(self.measure)

    @property
    def order(self) -> list[int]:
        """Places in the comparison, the best mean first. A run that another is significantly better than is not
        the best, whatever its mean over the queries that all have: unfinished runs may leave few of those.
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


def hold(group: Group, measure: str | None = None) -> Contest | None:
    """The contest of a group by `measure`; None: by the one that its configs or its data set name, if two runs
    have it. None where no run that competes has a score; ConfigError where no run has the measure that was asked
    for.
    """
    places = [place for place, view in enumerate(group.views) if not view.is_bracket]
    found = _ranking_measure(group, places or range(len(group.views)), measure)
    if found is None:
        return None
    ranks_by, entrants = found
    reason = _reason(group, ranks_by, measure)
    if len(entrants) < 2:
        return Contest(group, ranks_by, reason, tuple(entrants), None)
    views = [group.views[place] for place in entrants]
    choice = Choice((ranks_by, *_main_measures(views, ranks_by, group.known)))
    return Contest(group, ranks_by, reason, tuple(entrants), compare_loaded(_compared(views), choice))


def against(contest: Contest, position: int, place: int) -> MeasureComparison | None:
    """The view at `position` of the group (0) against an entrant (1) by the measure that ranks; None where the two
    were not scored in one way, or not on the same queries.
    """
    one, other = contest.group.views[position], contest.view(place)
    if contest.measure not in one.values or _way(one, contest.measure) != _way(other, contest.measure):
        return None
    values = (one.values[contest.measure], other.values[contest.measure])
    shared = {(0, 1): frozenset(other.frame.query_types)}
    found = compare_measure(paired(contest.measure, values, contest.group.known), shared, other.frame.drawn)
    return found if found.pairs else None


def has_values(view: RunView, measure: str) -> bool:
    """Whether any query has a value of that measure."""
    return measure in view.values and bool(view.values[measure].values)


def is_scored(view: RunView) -> bool:
    """Whether any measure of an evaluator has a value."""
    return any(has_values(view, measure) for measure in view.values if measure not in COSTS)


def was_evaluated(view: RunView) -> bool:
    """Whether an evaluator has looked at it, with whatever outcome."""
    return any(measure not in COSTS for measure in view.values)


def _reason(group: Group, measure: str, wanted: str | None) -> str:
    choice = group.ranking
    if wanted is not None:
        return ", as asked for"
    if measure == choice.name:
        return f", {choice.named}"
    if not choice.name:
        return ": neither a config nor the data set names a measure"
    return f": no two runs can be compared by {group.spoken(choice.name)}, {choice.named}"


def _ranking_measure(group: Group, places: Iterable[int], wanted: str | None) -> tuple[str, list[int]] | None:
    """The wanted one; else the group's own where two runs have it, else the first measure that all scored runs
    have, else what there is.
    """
    if wanted is not None:
        entrants = _alike(group, list(places), wanted)
        if not entrants:
            what = f"no run over {group.title} has a value of '{printable(wanted)}'"
            raise ConfigError(what, nearest(wanted, _with_values(group)))
        if wanted not in group.known and wanted not in COSTS:
            what = f"'{printable(wanted)}' cannot rank: nobody here knows whether a high value is good"
            raise ConfigError(what, "install its evaluator, or choose another measure")
        return wanted, entrants
    first, known = group.ranking.name, group.known
    scored = [place for place in places if is_scored(group.views[place])]
    held = {
        name: found
        for name in dict.fromkeys((first, *known))
        if name in known and (found := _alike(group, scored, name))
    }
    fitting = [
        name for name, found in held.items() if len(found) == len(scored) or (name == first and len(found) > 1)
    ]
    measure = next(iter(fitting or held), None)
    return (measure, held[measure]) if measure else None


def _alike(group: Group, places: Sequence[int], measure: str) -> list[int]:
    """The largest part of these runs that was scored by a measure in one way."""
    ways: dict[str, list[int]] = {}
    for place in places:
        if has_values(group.views[place], measure):
            ways.setdefault(_way(group.views[place], measure), []).append(place)
    return max(ways.values(), key=len, default=[])


def _way(view: RunView, measure: str) -> str:
    return " ".join(scored_by(one) for one in view.evaluations if measure in one.measures)


def _with_values(group: Group) -> list[str]:
    names = (*group.measures, *COSTS)
    return [printable(name) for name in names if any(has_values(view, name) for view in group.views)]


def _main_measures(views: Sequence[RunView], ranks_by: str, known: Mapping[str, Measure]) -> list[str]:
    """Beside the one that ranks: those that ask to be compared, the first measure of each other evaluator, costs;
    of those, what every run has, and has in the same way as another run.
    """

    def fits(measure: str) -> bool:
        ways = [_way(view, measure) for view in views]
        return all(has_values(view, measure) for view in views) and len(set(ways)) < len(ways)

    chosen = [name for name, measure in known.items() if measure.compared and fits(name)]
    owners = {name: one.evaluator for view in views for one in view.evaluations for name in one.measures}
    done = {owners.get(name) for name in (ranks_by, *chosen)}
    for name in known:
        if owners.get(name) not in done and name in owners and fits(name):
            chosen.append(name)
            done.add(owners[name])
    spent = [
        name for name in SHOWN_COSTS if fits(name) and any(any(v.values[name].values.values()) for v in views)
    ]
    return [name for name in (*chosen, *spent) if name != ranks_by]


def _compared(views: Sequence[RunView]) -> list[ComparedRun]:
    rows = {row.query.query_id: row for row in views[0].run.sample()}
    compared = []
    for view in views:
        own = {row.query.query_id: row for row in view.run.sample()}
        kept = rows if own == rows else own  # Nearly always the same: once in memory, then.
        compared.append(
            ComparedRun(
                view.run, view.label, view.manifest, kept, view.values, view.evaluations, view.notes, view.frame
            )
        )
    return compared
