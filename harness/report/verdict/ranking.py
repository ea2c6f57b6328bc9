"""Which runs of a group are ranked, by which metric, and how they compare; and whether they were compared before
on a part of these queries: a sample that grows until a test is significant makes false winners."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, Literal

from harness.core.errors import ConfigError, HarnessError
from harness.core.records import RaceRecord
from harness.display import printable
from harness.protocols import Measure
from harness.report.comparison.compare import SHOWN_COSTS, compare_by
from harness.report.measures import DEFAULT_MARGIN, candidates_to_rank, instead_of, is_merit
from harness.report.quantities import why_apart
from harness.report.view import Group, RunView
from harness.statistics.paired_comparison import ComparedPair, MeasureComparison
from harness.statistics.query_values import COSTS
from harness.statistics.race_test import anytime_p
from harness.statistics.recommendation import Lead, leads_of, ranked_places
from harness.statistics.run_frame import NATURAL, OVERALL, Aggregate
from harness.store import Manifest, RunDir, find_runs

_NOTICED_DIGITS = 1
"""Digits of seconds: a user does not notice less than a tenth."""


@dataclass(frozen=True)
class Ranking:
    group: Group
    measure: str = ""
    """Empty: no run has a score that ranks."""
    reason: str = ""
    """Why by that metric; follows its name."""
    entrants: tuple[RunView, ...] = ()
    """The ranked runs, as in the group; empty if no complete run has a value. A `place` is an index into them."""
    comparisons: tuple[MeasureComparison, ...] = ()
    """Of the entrants, in their order, by the main metrics and costs; empty for fewer than two."""
    instead_of: str = ""
    """The metric that should rank and cannot, see `Baselines.cannot_rank`."""
    margin: float = DEFAULT_MARGIN
    """In points: a run that is worse by less is as good."""

    @property
    def display_name(self) -> str:
        return self.group.display_name(self.measure)

    @property
    def margin_value(self) -> float | None:
        """In the unit of the metric; a point is a hundredth of the largest possible difference. None: unknown."""
        span = self.ranked.measure.span if self.ranked else None
        return None if span is None else self.margin / 100 * span

    @property
    def is_share(self) -> bool:
        if self.measure in self.group.known:
            return self.group.known[self.measure].is_share
        return any(self.measure in one.binary for one in self.group.evaluations)

    def by(self, measure: str) -> MeasureComparison | None:
        return next((one for one in self.comparisons if one.measure.name == measure and one.pairs), None)

    @property
    def ranked(self) -> MeasureComparison | None:
        return self.by(self.measure)

    @cached_property
    def mix(self) -> str:
        """`NATURAL` if means are in the natural mix of query types, else `OVERALL`."""
        if self.ranked is not None:
            return NATURAL if self.ranked.mix == "natural" else OVERALL
        rows = [view.row(self.measure, NATURAL) for view in self.entrants or self.group.views]
        return NATURAL if any(rows) and all(row is None or row.mean is not None for row in rows) else OVERALL

    @property
    def race(self) -> RaceRecord | None:
        """The race of the runs that are ranked, by the metric that ranks them; None: they were not all in one."""
        races = [view.race for view in self.entrants]
        first = races[0] if races else None
        fits = first is not None and first.measure == self.measure and all(race == first for race in races)
        return first if fits else None

    @cached_property
    def order(self) -> list[int]:
        """The places by mean, the best first; of equal ones that with more answers right, then the cheaper, then
        the one with the smaller index, which is the simpler.
        """
        if self.ranked is None:
            return list(range(len(self.entrants)))
        compared, (_, right) = self.ranked, self.answers
        cost, costs = next(((name, means) for name, means in self._costs if len({*means} - {None}) > 1), ("", []))
        digits = _NOTICED_DIGITS if cost == "latency_s" else None
        sign = 1.0 if compared.measure.higher_is_better is False else -1.0

        def merit(place: int) -> tuple[float, float, float, int]:
            paid = costs[place] if costs else None
            paid = inf if paid is None else paid if digits is None else round(paid, digits)
            index = self.entrants[place].index
            size = index.bytes_on_disk if index else 0
            return sign * (compared.means[place] or 0.0), -right[place], paid, size

        return sorted(ranked_places(compared), key=merit)

    @cached_property
    def answers(self) -> tuple[str, list[float]]:
        """Where retrieval ranks: the metric of answers that decides between equal means, and its means."""
        known, views = self.group.known, self.entrants
        if self.measure in known and "answer" not in known[self.measure].reads:
            for name in candidates_to_rank(self.instead_of or self.group.ranking.name, (), known):
                means = [row.mean if (row := self._row(view, name)) else None for view in views]
                right = [mean for mean in means if mean is not None]
                is_alike = len(right) == len(views) and len({view.way(name) for view in views}) == 1
                if is_alike and "answer" in known[name].reads and known[name].higher_is_better:
                    return name, right
        return "", [0.0] * len(views)

    @cached_property
    def leads(self) -> list[Lead]:
        """The lead of the best run over each other one, the smallest first."""
        return leads_of(self.ranked, self.order[0]) if self.ranked is not None and self.ranked.n_common else []

    @cached_property
    def is_won(self) -> bool:
        return bool(self.leads) and all(lead.is_shown for lead in self.leads)

    @cached_property
    def shown_worse(self) -> dict[int, Literal["worse", "worse here"]]:
        """Runs that are significantly worse than the best, or on these documents only (`worse here`); with Holm's
        correction if the best has not won.
        """
        found: dict[int, Literal["worse", "worse here"]] = {}
        for lead in self.leads:
            pair = self.pair_with_best(lead.place)
            if self.is_won:
                found[lead.place] = "worse"
            elif pair.significant and pair.population == "documents" and lead.is_shown_here:
                found[lead.place] = "worse here"
            elif pair.significant and lead.is_shown:
                found[lead.place] = "worse"
        return found

    def pair_with_best(self, place: int) -> ComparedPair:
        """The comparison of a ranked run with the best one."""
        pair = self.ranked.pair_of(self.order[0], place) if self.ranked else None
        assert pair is not None  # noqa: S101 - all ranked runs are compared
        return pair

    @property
    def open_leads(self) -> list[Lead]:
        """The leads over runs that are not significantly worse, or only here."""
        return [lead for lead in self.leads if self.shown_worse.get(lead.place) != "worse"]

    @property
    def leading(self) -> list[int]:
        """The best run and those of `open_leads`; empty without entrants."""
        return [*self.order[:1], *(lead.place for lead in self.open_leads)]

    @cached_property
    def costs(self) -> tuple[str, list[float | None]]:
        """The first cost that is known of all leading runs, and its means; None: unknown or not comparable."""
        for cost, means in self._costs:
            own = [mean for place in self.leading if (mean := means[place]) is not None]
            known = [mean for mean in means if mean is not None]
            noticed = 10**-_NOTICED_DIGITS if cost == "latency_s" else 0.0
            if len(own) == len(self.leading) and len(known) > 1 and max(known) - min(known) > noticed:
                return cost, means
        return "", [None] * len(self.entrants)

    @cached_property
    def _costs(self) -> list[tuple[str, list[float | None]]]:
        """For each kind of cost its means. Tokens of different models cost different amounts."""
        same_model = len({view.model("generator") for view in self.entrants}) < 2
        kinds = [cost for cost in SHOWN_COSTS if cost != "tokens" or same_model]
        return [(cost, [self._price(view, cost) for view in self.entrants]) for cost in kinds]

    def _price(self, view: RunView, cost: str) -> float | None:
        """The mean of a cost; None: unknown or not comparable."""
        row = self._row(view, cost)
        return None if row is None or why_apart(view, cost=cost, means=[row]) else row.mean

    def _row(self, view: RunView, measure: str) -> Aggregate | None:
        """In the mix of query types of the comparison if it has that, else over all queries."""
        return view.row(measure, self.mix) or view.row(measure)

    @cached_property
    def earlier_looks(self) -> set[int]:
        """Sizes of smaller samples within this one over which two of the systems or more have finished runs."""
        if len(self.entrants) < 2:
            return set()
        own = {view.run.path.resolve() for view in self.group.views}
        seen: dict[str, dict[str, int]] = {}
        for folder in {view.run.path.parent for view in self.entrants}:
            for run in find_runs(folder, []):
                if run.path.resolve() not in own:
                    for system, digest, size in _earlier(run, self.entrants):
                        seen.setdefault(digest, {})[system] = size
        reached = [reach for view in self.entrants if (reach := view.run.reach())]
        grown = Counter(size for reach in reached for size in reach.looks)
        sizes = {size for systems in seen.values() if len(systems) > 1 for size in systems.values()}
        return sizes | {size for size, n in grown.items() if n > 1}

    @property
    def anytime_p(self) -> float | None:
        """p of the lead over the next run, valid for any number of looks; None without earlier looks."""
        if self.ranked is None or not self.earlier_looks:
            return None
        best, second, *_ = self.order
        ahead = self.ranked.differences(best, second)
        if self.ranked.measure.higher_is_better is False:
            ahead = -ahead
        return anytime_p(int((ahead > 0).sum()), int((ahead < 0).sum()))


def rank_runs(group: Group, measure: str | None = None, margin: float = DEFAULT_MARGIN) -> Ranking:
    """The ranking of a group by `measure`; None: by the metric that its configs or its data set name, if two runs
    have it; else evidence within the contexts of all runs; else the first one that all runs have; else any.

    Ranked are complete runs that were scored in the same way; baselines only if there is nothing else. Empty if no
    run has a score; ConfigError for a metric that no run has or that has no direction.
    """
    rivals = [view for view in group.views if not view.is_baseline] or [*group.views]
    complete = [view for view in rivals if view.is_complete]
    if measure is None:
        pending = [view for view in rivals if not view.is_complete]
        ranks_by = _own_measure(group, complete) or _own_measure(group, pending)
        if ranks_by is None:
            return Ranking(group)
    else:
        _refuse_unknown(group, rivals, measure)
        ranks_by = measure
    entrants = _scored_alike(group, [view for view in complete if not view.why_not_ranked(ranks_by)], ranks_by)
    found: tuple[MeasureComparison, ...] = ()
    if len(entrants) > 1:
        costs = [name for name in SHOWN_COSTS if all(has_values(view, name) for view in entrants)]
        # One that is 0 throughout says nothing.
        costs = [name for name in costs if any(any(view.values[name].values()) for view in entrants)]
        names = [ranks_by, *_main_measures(entrants, ranks_by, group.known), *costs]
        found = compare_by(entrants, names, group.known)
    return Ranking(group, ranks_by, _reason(group, ranks_by, measure), tuple(entrants), found, margin=margin)


def _reason(group: Group, measure: str, wanted: str | None) -> str:
    choice = group.ranking
    if wanted is not None:
        return ", as asked for"
    if measure == choice.name:
        return f", {choice.named}"
    if not choice.name:
        return ": neither a config nor the data set names a metric"
    return f": no two runs can be compared by {group.display_name(choice.name)}, {choice.named}"


def _main_measures(views: Sequence[RunView], ranks_by: str, known: Mapping[str, Measure]) -> list[str]:
    """The leaderboard's columns and the first metric of each other evaluator, if every run has it."""
    held = {name: measure for name, measure in known.items() if all(has_values(view, name) for view in views)}
    chosen = [name for name, measure in held.items() if measure.column]
    owners = {name: one.evaluator for view in views for one in view.evaluations for name in one.measures}
    done = {owners.get(name) for name in (ranks_by, *chosen)}
    evidence = [name for name, measure in held.items() if measure.ranks_where_answers_cannot]
    for name in (*evidence, *(name for name, measure in held.items() if is_merit(measure))):
        if name in owners and owners[name] not in done:
            chosen.append(name)
            done.add(owners[name])
    return chosen


def has_values(view: RunView, measure: str) -> bool:
    return bool(view.values.get(measure))


def is_scored(view: RunView) -> bool:
    return any(has_values(view, measure) for measure in view.values if measure not in COSTS)


def is_only_described(group: Group, view: RunView) -> bool:
    """Whether it has values, but only of metrics without a direction."""
    return is_scored(view) and not any(
        has_values(view, name) and (name not in group.known or is_merit(group.known[name]))
        for name in view.values
        if name not in COSTS
    )


def ranking_evidence(views: Sequence[RunView], known: Mapping[str, Measure]) -> list[Measure]:
    """The retrieval metrics that rank runs if answers cannot, and of which every run has a value."""
    able = [one for one in known.values() if one.ranks_where_answers_cannot]
    return [one for one in able if all(has_values(view, one.name) for view in views)]


def _refuse_unknown(group: Group, rivals: Sequence[RunView], wanted: str) -> None:
    if not any(has_values(view, wanted) for view in rivals):
        names = (*group.measures, *COSTS)
        held = [printable(name) for name in names if any(has_values(view, name) for view in group.views)]
        fix = instead_of(wanted, held, [view.manifest for view in group.views], group.known)
        raise ConfigError(f"no run over {group.title} has a value of '{printable(wanted)}'", fix)
    if wanted in group.known and group.known[wanted].failure_value is None:
        what = f"'{printable(wanted)}' cannot rank: it only describes, and more is not better"
        raise ConfigError(what, "choose a measure of answers or of evidence")
    if wanted in group.known and not group.known[wanted].counts_failures:
        what = f"'{printable(wanted)}' cannot rank: it leaves out failed queries, so that failing would win"
        raise ConfigError(what, "choose a measure that counts them as wrong")
    if wanted not in group.known and wanted not in COSTS:
        what = f"'{printable(wanted)}' cannot rank: it has no known direction"
        raise ConfigError(what, "install its evaluator, or choose another measure")


def _own_measure(group: Group, views: Sequence[RunView]) -> str | None:
    first, known = group.ranking.name, group.known
    scored = [view for view in views if is_scored(view)]
    evidence = [measure.name for measure in ranking_evidence(scored, known)]
    held = {
        name: found
        for name in candidates_to_rank(first, evidence, known)
        if (found := _scored_alike(group, scored, name))
    }
    fitting = [
        name for name, found in held.items() if len(found) == len(scored) or (name == first and len(found) > 1)
    ]
    return next(iter(fitting or held), None)


def _scored_alike(group: Group, views: Sequence[RunView], measure: str) -> list[RunView]:
    """Those of these runs that have values of a metric and were scored by it as most are."""
    others = group.scored_otherwise(measure)
    return [view for view in views if has_values(view, measure) and view.run.run_id not in others]


def _earlier(run: RunDir, views: Sequence[RunView]) -> Iterator[tuple[str, str, int]]:
    """System, digest and size of a finished run of one of these systems on a part of the queries."""
    try:
        manifest = run.manifest()
        fitting = [view for view in views if _what_ran(manifest) == _what_ran(view.manifest)]
        if not fitting or run.done() is None:
            return
        rows = run.sample()
    except HarnessError:  # A run that cannot be read was not compared here.
        return
    for view in fitting:
        # Ids are not enough: two question files may use the same ones.
        asked = len(rows) < len(view.sample) and all(view.sample.get(row.query.query_id) == row for row in rows)
        if asked:
            yield view.run.run_id, str(manifest.identity["dataset"].get("digest")), len(rows)


def _what_ran(manifest: Manifest) -> list[Any]:
    """Equal for the same system with the same parameters and models over the same data set."""
    dataset = manifest.identity.get("dataset", {})
    own = map(manifest.identity.get, ("system", "models", "answers"))
    return [dataset.get("name"), dataset.get("subset"), *own]
