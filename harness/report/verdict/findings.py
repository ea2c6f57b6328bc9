"""The result of a group of runs: the verdict, and the comparisons and means it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.report.measures import known_measures, margin_choice, ranking_choice
from harness.report.verdict.baselines import NO_BASELINES, Baseline, Baselines, baseline_row, baselines_of
from harness.report.verdict.decide import verdict_of, why_no_entrant, why_nothing_ranks, without_ranking
from harness.report.verdict.ranking import Ranking, rank_runs, ranking_evidence
from harness.report.verdict.sentences import margin_of
from harness.report.verdict.standings import Line, natural_mix, shown_rows, why_not_ranked
from harness.report.verdict.types import Outcome, Verdict
from harness.report.view import Group, RunView
from harness.statistics.run_frame import Aggregate


@dataclass(frozen=True)
class Findings:
    """The verdict of a group and its basis."""

    verdict: Verdict
    order: tuple[int, ...]
    """Positions in `group.views`, the best first; then baselines, then unfinished runs."""
    ranking: Ranking
    """Without entrants if no run has a score that ranks."""
    baselines: Baselines = NO_BASELINES
    """Of the metric that should rank; another one than `measure` if it cannot."""
    rows: tuple[Aggregate | None, ...] = ()
    """The mean of each run by position, see `shown_rows`."""

    @property
    def measure(self) -> str | None:
        return self.ranking.measure or None

    @property
    def margin(self) -> str:
        """`5 points`; `0.05` of a metric that is not shown in per cent."""
        value = self.ranking.margin_value
        return "" if value is None else margin_of(self.verdict) if self.ranking.is_share else f"{value:g}"

    @property
    def weighed(self) -> str:
        """How `rows` count the queries."""
        is_natural = natural_mix(self.ranking)
        return "types weighed as in the whole data set" if is_natural else "each query counting the same"

    @property
    def compared_order(self) -> list[int]:
        """Places in the comparison, the best run first."""
        return [
            self.ranking.entrants.index(position) for position in self.order if position in self.ranking.entrants
        ]

    def row_of(self, group: Group, position: int, measure: str) -> Aggregate | None:
        """The mean of a run by any metric, in the same mix of types as `rows`."""
        stands = self.rows[position] if self.rows else None
        return stands if measure == self.measure else group.views[position].row_beside(measure, stands)

    def differ(self, one: RunView, other: RunView, measure: str) -> bool | None:
        """Whether two runs differ significantly, or alike on every query; None: not tested, or in a race."""
        compared = self.ranking.by(measure)
        if one.race or other.race or self.ranking.comparison is None or compared is None:
            return None
        ids = [run.run.run_id for run in self.ranking.comparison.runs]
        if one.run.run_id not in ids or other.run.run_id not in ids:
            return None
        pair = compared.pair_of(ids.index(one.run.run_id), ids.index(other.run.run_id))
        return None if pair is None else pair.significant or (pair.spread is None and pair.n > 1)


def find(group: Group, measure: str | None = None, margin: float | None = None) -> Findings:
    """The result of a group, ranked by `measure` (None: see `rank_runs`), with a margin in points (None: from the
    configs). Reads only the views, and earlier runs beside them for repeated looks.
    """
    first = rank_runs(group, measure, group.margin if margin is None else margin)
    baselines = baselines_of(group, first.measure, first.entrants) if first.measure else NO_BASELINES
    ranking = _able_to_rank(first, baselines) if measure is None else first
    order = _order(group, [ranking.entrants[place] for place in ranking.order])
    rows = shown_rows(ranking)
    lines = _lines(ranking, order, rows, baselines.constant if ranking.measure == first.measure else None)
    if not ranking.measure:
        verdict = without_ranking(group, *why_nothing_ranks(group), lines)
    elif not ranking.entrants:
        verdict = without_ranking(group, Outcome.NOT_SCORED, why_no_entrant(ranking), lines)
    elif ranking.ranked is None and len(ranking.entrants) > 1:
        said = f"No query has a value of {ranking.display_name} in two runs."
        verdict = without_ranking(group, Outcome.NOT_SCORED, said, lines)
    else:
        verdict = verdict_of(ranking, baselines, lines, first.measure)
    return Findings(verdict, order, ranking, baselines, rows)


def evidence_that_ranks(views: Sequence[RunView]) -> str:
    """The retrieval metric that ranks, because baselines show that answers cannot; empty elsewhere."""
    groups = {(str(one.manifest.identity.get("dataset")), one.manifest.has_generator) for one in views}
    if len(groups) > 1 or not any(one.is_baseline for one in views):
        return ""
    manifests = [one.manifest for one in views]
    known = known_measures(evaluation for view in views for evaluation in view.evaluations)
    found = find(Group("", "", tuple(views), (), known, ranking_choice(manifests), margin_choice(manifests)))
    return found.measure or "" if found.verdict.is_by_evidence else ""


def _lines(
    ranking: Ranking, order: Sequence[int], rows: Sequence[Aggregate | None], constant: Baseline | None
) -> list[Line]:
    """The leaderboard: ranked runs, runs that could not be ranked, baselines, and unfinished runs."""
    group, others = ranking.group, ranking.group.scored_otherwise(ranking.measure)
    views = [group.views[position] for position in order]
    found = [Line(view.label, view, rows[position]) for view, position in zip(views, order, strict=True)]
    if constant is not None:
        row = baseline_row(constant, natural=natural_mix(ranking))
        place = next((at for at, view in enumerate(views) if why_not_ranked(view, others)), len(found))
        found.insert(place, Line(constant.label, None, row))
    return found


def _able_to_rank(first: Ranking, baselines: Baselines) -> Ranking:
    """The ranking by evidence found if answers cannot rank and the same runs have it."""
    if not baselines.cannot_rank:
        return first
    for measure in ranking_evidence(first.views, first.group.known):
        other = rank_runs(first.group, measure.name, first.margin)
        if other.entrants == first.entrants:
            reason = f", because {first.display_name} cannot rank here"
            return replace(other, reason=reason, instead_of=first.measure)
    return first


def _order(group: Group, ranked: Sequence[int]) -> tuple[int, ...]:
    """Ranked runs, then those that could not be ranked, then baselines, then unfinished runs."""
    views = group.views
    others = [place for place in range(len(views)) if place not in ranked]
    return (*ranked, *sorted(others, key=lambda place: (not views[place].is_complete, views[place].is_baseline)))
