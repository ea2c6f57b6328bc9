"""Loads the runs of a report; those that may be compared form a group."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from harness.core.records import EvaluationRecord
from harness.display import printable
from harness.protocols import Measure
from harness.report.group_notes import apart_note, notes_between, notes_on
from harness.report.labels import dataset_title, document_versions, run_labels
from harness.report.measures import (
    DEFAULT_MARGIN,
    RankingChoice,
    known_measures,
    margin_choice,
    ranking_choice,
    value_ranges,
)
from harness.report.notes import most_harmful_first, run_notes
from harness.report.records import RecordCounts, Sample, read_briefly, samples_of
from harness.report.run_view import RunView
from harness.statistics.aggregate import aggregate_scores
from harness.statistics.columnar_scores import MISSING, ScoreColumns
from harness.statistics.correlation import twin_correlations
from harness.statistics.cost import evaluation_costs, latencies, query_scores, run_costs
from harness.statistics.estimate import answers_spent
from harness.statistics.prices import Prices
from harness.statistics.query_values import COSTS, cost_values, scored_values
from harness.statistics.resource_usage import load_resources
from harness.statistics.run_frame import Frame
from harness.store import RunDir
from harness.store.run_lookup import is_being_written

__all__ = ["Group", "RunView", "collector_paused", "load_groups", "load_views"]


@dataclass(frozen=True)
class Group:
    """Runs over exactly the same queries, references and documents."""

    dataset: str
    digest: str
    views: tuple[RunView, ...]
    notes: tuple[str, ...]
    known: Mapping[str, Measure]
    ranking: RankingChoice
    """What ranks, if runs have it."""
    margin: float = DEFAULT_MARGIN
    """In points: a run that is worse by less counts as good."""

    @classmethod
    def of(cls, views: Sequence[RunView], digest: str = "") -> Group:
        """These runs, whatever they are over, without notes."""
        manifests = [view.manifest for view in views]
        known = known_measures(one for view in views for one in view.evaluations)
        title, ranks_by = dataset_title(manifests[0]), ranking_choice(manifests)
        return cls(title, digest, tuple(views), (), known, ranks_by, margin_choice(manifests))

    @property
    def title(self) -> str:
        return self.dataset if self.has_answers else f"{self.dataset}, without a generator"

    @property
    def key(self) -> str:
        return self.digest[:12] if self.has_answers else f"{self.digest[:12]}-retrieval"

    @property
    def has_answers(self) -> bool:
        return any(view.manifest.has_generator for view in self.views)

    @property
    def widest(self) -> RunView:
        """The run with the most queries; a run that left a race has fewer of them."""
        return max(self.views, key=lambda view: len(view.frame.query_types))

    def display_name(self, measure: str) -> str:
        known = self.known.get(measure)
        return printable(known.display_name if known else COSTS.get(measure, measure))

    @property
    def columns(self) -> list[Measure]:
        """The metrics in the leaderboard besides the one that ranks."""
        present = set(self.measures)
        found = [measure for name, measure in self.known.items() if measure.column and name in present]
        return sorted(found, key=lambda measure: not measure.ranks_where_answers_cannot)

    def owner(self, measure: str) -> str:
        return next((one.evaluator for one in self.evaluations if measure in one.measures), "")

    @property
    def evaluations(self) -> list[EvaluationRecord]:
        return [one for view in self.views for one in view.evaluations]

    def scored_otherwise(self, measure: str) -> frozenset[str]:
        """Ids of runs that were scored by another judge or version, or with other parameters, than most."""
        return self._otherwise.get(measure, frozenset())

    @cached_property
    def _otherwise(self) -> dict[str, frozenset[str]]:
        found = {}
        for measure in {name for view in self.views for name in view.values}:
            held = [view for view in self.views if view.values.get(measure)]
            able = [one for one in held if one.is_complete and not one.is_baseline and measure not in one.unscored]
            ways = Counter(one.way(measure) for one in able if one.values[measure].is_covered)
            ways = ways or Counter(one.way(measure) for one in held)
            most = next(iter(ways.most_common(1)), ("", 0))[0]
            found[measure] = frozenset(one.run.run_id for one in held if one.way(measure) != most)
        return found

    @property
    def query_types(self) -> list[str]:
        return sorted({query_type for view in self.views for query_type in view.frame.query_types.values()})

    @property
    def note_lines(self) -> list[str]:
        return most_harmful_first([*self.notes, *notes_on(self.views)])

    @property
    def measures(self) -> list[str]:
        return sorted({name for view in self.views for name in view.scored})


def load_groups(runs: Sequence[RunDir], prices: Prices) -> list[Group]:
    """One for each data set digest, and for retrieval alone; a run counts once. Most questions first, because they
    decide most; else in order of appearance.
    """
    found: dict[tuple[str, bool], list[RunDir]] = {}
    for run in {run.path.resolve(): run for run in runs}.values():
        manifest = run.manifest()
        digest = str(manifest.identity.get("dataset", {}).get("digest", ""))
        found.setdefault((digest, manifest.has_generator), []).append(run)
    groups = [
        _load_group(digest, members, prices, found.get((digest, not answers), ()))
        for (digest, answers), members in found.items()
    ]
    views = [view for group in groups for view in group.views]
    known = document_versions([view.manifest for view in views])
    versions = {view.run: version for view, version in zip(views, known, strict=True)}
    whole = []
    for group in groups:
        # Why other runs of the same data set are not in the group.
        others = [other for other in groups if other.dataset == group.dataset and other.digest != group.digest]
        notes = dict.fromkeys(apart_note(group.views[0], other.views[0]) for other in others)
        title = ", ".join(filter(None, (group.dataset, versions[group.views[0].run])))
        whole.append(replace(group, dataset=title, notes=(*group.notes, *notes)))
    return sorted(whole, key=lambda group: len(group.widest.sample), reverse=True)


def _load_group(digest: str, runs: Sequence[RunDir], prices: Prices, others: Sequence[RunDir]) -> Group:
    group = Group.of(load_views(runs, prices, others), digest)
    return replace(group, notes=tuple(notes_between(group.views, group.widest)))


def load_views(runs: Sequence[RunDir], prices: Prices, others: Sequence[RunDir] = ()) -> tuple[RunView, ...]:
    """With labels that tell them from each other, and from `others`."""
    named = run_labels([run.manifest() for run in runs], [run.manifest() for run in others])
    with collector_paused():
        samples = samples_of(runs)
        every = enumerate(zip(runs, named, samples, strict=True))
        return tuple(_load_view(*one, prices, position) for position, one in every)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Load runs without the garbage collector: their objects have no cycles, and scanning takes time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _load_view(run: RunDir, label: str, sample: Sample, prices: Prices, position: int) -> RunView:
    frame, (answers, briefs) = Frame.of(run, sample.values()), read_briefly(run)
    manifest, evaluations = run.manifest(), run.evaluations()
    ranges = value_ranges(known_measures(evaluations))
    read = ScoreColumns.read(frame, run.score_lines(), ranges)
    scores = read.fitting(briefs.is_answered)
    resources = load_resources(path) if (path := run.resources_path()) else None
    aggregates = aggregate_scores(frame, scores, ranges=ranges)
    costs = query_scores(frame, answers.values(), manifest.models, prices)
    rows = (
        *aggregates,
        *run_costs(run, frame, answers.all, costs, prices),
        *evaluation_costs(frame, evaluations, prices),
    )
    counts, index = RecordCounts.of(answers, frame), run.index()
    if index:
        index = index.model_copy(update={"stats": index.stats.model_copy(update={"passages": None})})
    view = RunView(
        run=run,
        manifest=manifest,
        label=label,
        is_finished=run.done() is not None,
        frame=frame,
        sample=sample,
        rows=rows,
        scored=tuple(dict.fromkeys(row.measure for row in aggregates)),
        scores=read,
        notes=(),
        resources=resources,
        index=index,
        evaluations=tuple(evaluations),
        twins=twin_correlations(frame, scores, evaluations),
        labelled={name: own.facts.labels for name, own in scores.by_measure.items() if own.facts.labels},
        n_answered=counts.n_asked,
        n_errors=counts.n_asked_failed,
        unscored=frozenset(name for name, own in scores.by_measure.items() if own.count(MISSING)),
        briefs=briefs,
        values=cost_values(frame, costs) | scored_values(frame, scores),
        latencies=tuple(latencies(costs)),
        spent=answers_spent(answers.all),
        race=run.race(),
        is_running=is_being_written(run),
        position=position,
    )
    return replace(view, notes=tuple(run_notes(view, scores, answers, counts, prices)))
