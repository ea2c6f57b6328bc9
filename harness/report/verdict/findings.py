"""The result of a group of runs: the verdict, and the comparisons and means it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.display import Rank
from harness.report.comparison.compare import Comparison
from harness.report.comparison.tables import rank
from harness.report.verdict.baselines import NO_BASELINES, Baselines, baselines_of
from harness.report.verdict.decide import verdict_of, why_no_entrant, why_nothing_ranks, without_ranking
from harness.report.verdict.eligible_runs import has_values, is_scored, ranking_evidence, why_apart
from harness.report.verdict.ranking import Ranking, rank_runs
from harness.report.verdict.sentences import margin_of
from harness.report.verdict.standings import COMPUTED, Line, aside_of, baseline_row, natural_mix, shown_rows
from harness.report.verdict.types import Outcome, Verdict
from harness.report.view import Group, RunView
from harness.statistics import Aggregate
from harness.statistics.paired_comparison import MeasureComparison


@dataclass(frozen=True)
class Findings:
    """The verdict of a group and its basis."""

    verdict: Verdict
    measure: str | None
    """The metric that ranks; None: no run has a score."""
    order: tuple[int, ...]
    """Positions in `group.views`, the best first; then baselines, then unfinished runs."""
    ranks: tuple[Rank | None, ...]
    """By position; None if a run is not ranked."""
    comparison: Comparison | None
    """All pairs of the ranked runs by the main metrics; None: see `why_not`."""
    entrants: tuple[int, ...] = ()
    """Positions of the ranked runs, in the order of `comparison`."""
    why_not: str = ""
    """Why nothing was compared."""
    ranking: Ranking | None = None
    baselines: Baselines = NO_BASELINES
    """Of `bounded`."""
    bounded: str | None = None
    """The metric that should rank; another one than `measure` if it cannot."""
    rows: tuple[Aggregate | None, ...] = ()
    """The mean of each run by position, see `shown_rows`."""
    margin_value: float | None = None
    """In the unit of the metric."""
    is_natural: bool = False
    """Whether `rows` are in the natural mix of query types; otherwise each query counts the same."""

    @property
    def ranked(self) -> MeasureComparison | None:
        """The comparison by the metric that ranks."""
        measures = self.comparison.measures if self.comparison else ()
        return next((one for one in measures if one.measure.name == self.measure and one.pairs), None)

    def lines(self, group: Group) -> list[Line]:
        """The leaderboard: ranked runs, runs that could not be ranked, baselines, and unfinished runs."""
        found = [self.line_at(group, position) for position in self.order]
        constant = self.baselines.constant
        if constant is not None and self.bounded == self.measure:
            row = baseline_row(constant, natural=self.is_natural)
            place = next((at for at, line in enumerate(found) if line.aside), len(found))
            found.insert(place, Line(constant.label, None, row, aside=COMPUTED))
        return found

    def line_at(self, group: Group, position: int) -> Line:
        """The line of the run at a position of the group."""
        view, row = group.views[position], self.rows[position] if self.rows else None
        others = group.scored_otherwise(self.measure) if self.measure else frozenset()
        return Line(view.label, view, row, self.ranks[position], aside_of(view, others))

    def row_of(self, group: Group, position: int, measure: str) -> Aggregate | None:
        """The mean of a run by any metric, in the same mix of types as `rows`."""
        stands = self.rows[position] if self.rows else None
        return stands if measure == self.measure else group.views[position].row_beside(measure, stands)

    def differ(self, one: RunView, other: RunView, measure: str) -> bool | None:
        """Whether two runs differ significantly, or by the same amount on every query. None: not tested, or in a
        race.
        """
        if one.race or other.race or self.comparison is None:
            return None
        ids = [run.run.run_id for run in self.comparison.runs]
        wanted = {ids.index(view.run.run_id) for view in (one, other) if view.run.run_id in ids}
        compared = next((own for own in self.comparison.measures if own.measure.name == measure), None)
        pairs = compared.pairs if compared else ()
        pair = next((pair for pair in pairs if {pair.a, pair.b} == wanted), None)
        return None if pair is None else pair.significant or (pair.spread is None and pair.n > 1)

    @property
    def margin(self) -> str:
        """`5 points`; `0.05` of a metric that is not shown in per cent."""
        if self.ranking is None or self.margin_value is None:
            return ""
        return margin_of(self.verdict) if self.ranking.is_share else f"{self.margin_value:g}"

    @property
    def weighed(self) -> str:
        """How query types count in `rows`."""
        return "types weighed as in the whole data set" if self.is_natural else "each query counting the same"

    @property
    def compared_order(self) -> list[int]:
        """Places in the comparison, the best run first."""
        return [self.entrants.index(position) for position in self.order if position in self.entrants]


def find(group: Group, measure: str | None = None, margin: float | None = None) -> Findings:
    """The result of a group, ranked by `measure` (None: see `rank_runs`), with a margin in points (None: from the
    configs). Reads only the views, and earlier runs beside them for repeated looks.
    """
    first = rank_runs(group, measure, group.margin if margin is None else margin)
    if first is None:
        found = Findings(
            verdict=without_ranking(group, *why_nothing_ranks(group)),
            measure=None,
            order=_order(group, []),
            ranks=(None,) * len(group.views),
            comparison=None,
            why_not="no run has a score that ranks",
        )
        outcome, said = why_nothing_ranks(group)
        return replace(found, verdict=without_ranking(group, outcome, said, found.lines(group)))
    baselines = baselines_of(group, first.measure, first.entrants)
    ranking = _able_to_rank(first, baselines) if measure is None else first
    ranked = [ranking.entrants[place] for place in ranking.order] if ranking.entrants else []
    found = Findings(
        verdict=without_ranking(group, Outcome.NOT_SCORED, ""),
        measure=ranking.measure,
        order=_order(group, ranked),
        ranks=_ranks(ranking),
        comparison=ranking.comparison,
        entrants=ranking.entrants,
        why_not="" if ranking.comparison else _why_not(ranking),
        ranking=ranking,
        baselines=baselines,
        bounded=first.measure,
        rows=shown_rows(ranking),
        is_natural=natural_mix(ranking),
        margin_value=ranking.margin_value,
    )
    return replace(found, verdict=_verdict(group, ranking, found))


def _verdict(group: Group, ranking: Ranking, found: Findings) -> Verdict:
    lines = found.lines(group)
    if not ranking.entrants:
        return without_ranking(group, Outcome.NOT_SCORED, why_no_entrant(ranking), lines)
    if ranking.ranked is None and len(ranking.entrants) > 1:
        said = f"No query has a value of {ranking.spoken} in two runs."
        return without_ranking(group, Outcome.NOT_SCORED, said, lines)
    return verdict_of(ranking, found.baselines, lines, found.bounded or "")


def _able_to_rank(first: Ranking, baselines: Baselines) -> Ranking:
    """The ranking by evidence found if answers cannot rank and the same runs have it."""
    if not baselines.cannot_rank:
        return first
    views = [first.group.views[place] for place in first.entrants]
    for measure in ranking_evidence(views, first.group.known):
        other = rank_runs(first.group, measure.name, first.margin)
        if other is not None and other.entrants == first.entrants:
            reason = f", because {first.spoken} cannot rank here"
            return replace(other, reason=reason, instead_of=first.measure)
    return first


def _why_not(ranking: Ranking) -> str:
    """Why fewer than two runs were compared."""
    others = [view for place, view in enumerate(ranking.group.views) if place not in ranking.entrants]
    competing = [view for view in others if not view.is_baseline and view.is_complete]
    held = [view for view in competing if has_values(view, ranking.measure)]
    if any(not why_apart(view, ranking.measure) for view in held):
        return f"no two runs were scored in one way by {ranking.spoken}"
    if any(is_scored(view) for view in competing):
        return f"only one run has a value of {ranking.spoken}"
    if any(not view.is_complete for view in others):
        return "fewer than two runs are finished"
    return "only one run has a score"


def _order(group: Group, ranked: Sequence[int]) -> tuple[int, ...]:
    """Ranked runs, then those that could not be ranked, then baselines, then unfinished runs."""
    views = group.views
    others = [place for place in range(len(views)) if place not in ranked]
    return (*ranked, *sorted(others, key=lambda place: (not views[place].is_complete, views[place].is_baseline)))


def _ranks(ranking: Ranking) -> tuple[Rank | None, ...]:
    ranks: list[Rank | None] = [None] * len(ranking.group.views)
    if ranking.ranked is not None:
        for place, position in enumerate(ranking.entrants):
            ranks[position] = rank(ranking.ranked, place)
    return tuple(ranks)
