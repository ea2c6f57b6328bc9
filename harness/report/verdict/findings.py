"""The result of a group of runs: the verdict, and the comparisons and means it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.core.errors import ConfigError
from harness.report.comparison.compare import Comparison, ComparisonChoice, compare_loaded
from harness.report.comparison.runs import finished_runs, load_compared
from harness.report.verdict.baselines import Baselines, baselines_of
from harness.report.verdict.decide import decide
from harness.report.verdict.headline import margin_of
from harness.report.verdict.ranking import Ranking, rank_runs, ranking_evidence
from harness.report.verdict.standings import Rows, shown_rows
from harness.report.verdict.types import Verdict
from harness.report.view import Group, RunView
from harness.statistics.prices import Prices
from harness.statistics.run_frame import NATURAL, Aggregate
from harness.store import RunDir, name_for


@dataclass(frozen=True)
class Findings:
    """The verdict of a group and its basis."""

    verdict: Verdict
    ranking: Ranking
    """Without entrants if no run has a score that ranks."""
    baselines: Baselines
    """Of the metric that should rank; another one than `measure` if it cannot."""
    rows: Rows

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
        is_natural = self.ranking.mix == NATURAL
        return "types weighed as in the whole data set" if is_natural else "each query counting the same"

    def row_of(self, view: RunView, measure: str) -> Aggregate | None:
        """The mean of a run by any metric, in the same mix of types as `rows`."""
        stands = self.rows[view]
        return stands if measure == self.measure else view.row_beside(measure, stands)

    def differ(self, one: RunView, other: RunView, measure: str) -> bool | None:
        """Whether two runs differ significantly, or alike on every query; None: not tested, or in a race."""
        compared, entrants = self.ranking.by(measure), self.ranking.entrants
        if one.race or other.race or compared is None or one not in entrants or other not in entrants:
            return None
        pair = compared.pair_of(entrants.index(one), entrants.index(other))
        return None if pair is None else pair.significant or (pair.spread is None and pair.n > 1)


def find(group: Group, measure: str | None = None, margin: float | None = None) -> Findings:
    """The result of a group, ranked by `measure` (None: see `rank_runs`), with a margin in points (None: from the
    configs). Reads only the views, and earlier runs beside them for repeated looks.
    """
    ranking, baselines = _ranked(group, measure, margin)
    rows = shown_rows(ranking)
    return Findings(decide(ranking, baselines, rows), ranking, baselines, rows)


def compare_runs(runs: Sequence[RunDir], prices: Prices, choice: ComparisonChoice | None = None) -> Comparison:
    """Compare all pairs of runs, or every run with `choice.against`, which need not be among them. Unfinished runs
    are left out, with a note. The metric that ranks comes first, unless `choice` names some.

    ConfigError: fewer than two finished runs, an unfinished `against`, different data sets, no common query, or an
    unknown metric or query type.
    """
    choice = choice or ComparisonChoice()
    loaded = load_compared([*runs, choice.against] if choice.against else runs, choice.query_type, prices)
    finished = finished_runs(loaded, choice.against)
    raced = [one.label for one in finished if one.run.race() is not None]
    if raced:
        what = f"{raced[0]} was in a race, which stops by its results: no other test of it is valid"
        names = " ".join(name_for(one.run) for one in finished)
        raise ConfigError(what, f"see the result of the race: rag-harness report {names}")
    group = Group.of(finished)
    first = "" if choice.measures or choice.query_type else _evidence_that_ranks(group)
    found = compare_loaded(group, choice, first)
    left = [one.label for one in loaded if one not in finished]
    return replace(found, notes=(*(f"{label} is unfinished and not compared." for label in left), *found.notes))


def _evidence_that_ranks(group: Group) -> str:
    """The retrieval metric that ranks, because baselines show that answers cannot; empty elsewhere."""
    views = group.views
    groups = {(str(one.manifest.identity.get("dataset")), one.manifest.has_generator) for one in views}
    if len(groups) > 1 or not any(one.is_baseline for one in views):
        return ""
    ranking, _ = _ranked(group)
    return ranking.measure if ranking.instead_of else ""


def _ranked(group: Group, measure: str | None = None, margin: float | None = None) -> tuple[Ranking, Baselines]:
    """The ranking, and the baselines of the metric that should rank. By evidence found if no metric was asked
    for, answers cannot rank and the same runs have it.
    """
    first = rank_runs(group, measure, group.margin if margin is None else margin)
    baselines = baselines_of(group, first.measure, first.entrants) if first.measure else Baselines()
    can_rank = measure is not None or not baselines.cannot_rank
    for evidence in () if can_rank else ranking_evidence(first.entrants, group.known):
        other = rank_runs(group, evidence.name, first.margin)
        if other.entrants == first.entrants:
            reason = f", because {first.display_name} cannot rank here"
            return replace(other, reason=reason, instead_of=first.measure), baselines
    return first, baselines
