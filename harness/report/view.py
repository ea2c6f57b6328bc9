"""Everything a report says about each run, read once; runs that may be compared stand in one group."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from harness.core.records import EvaluationRecord, RaceRecord
from harness.display.text_format import printable
from harness.protocols import Measure
from harness.report.briefs import (
    ABSTAINED,
    TIMEOUT,
    Briefs,
    became,
    read_briefly,
    refused_of,
    refuses_most,
    why_unpriced,
)
from harness.report.labels import dataset_title, labels
from harness.report.measures import (
    DEFAULT_MARGIN,
    RankingChoice,
    known_measures,
    known_ranges,
    margin_choice,
    ranking_choice,
)
from harness.report.notes import (
    apart_note,
    constant_notes,
    document_notes,
    group_notes,
    judge_notes,
    resource_notes,
    run_notes,
    way_of,
)
from harness.report.record_counts import RecordCounts
from harness.report.samples import Sample, samples_of
from harness.statistics import (
    OVERALL,
    Aggregate,
    Frame,
    Prices,
    Resources,
    aggregate_scores,
    load_resources,
    run_costs,
)
from harness.statistics.correlation import TwinCorrelation, twin_correlations
from harness.statistics.cost import fails_too_often, latencies, query_scores
from harness.statistics.estimates import Spent, answers_spent
from harness.statistics.paired_values import COSTS, QueryValues, values_of
from harness.statistics.score_columns import MISSING, ScoreColumns
from harness.statistics.score_range import Spreads, judged_spreads
from harness.statistics.scoring_cost import evaluation_costs
from harness.store import Manifest, RunDir


@dataclass(frozen=True)
class RunView:
    """One run."""

    run: RunDir
    manifest: Manifest
    label: str
    is_finished: bool
    frame: Frame
    sample: Sample = field(repr=False)
    """In memory once for all runs of a group that were asked the same."""
    rows: tuple[Aggregate, ...]
    scored: tuple[str, ...]
    """The measures that evaluators scored; what else has a row is a cost."""
    scores: ScoreColumns = field(repr=False)
    """All of them, as they were read."""
    notes: tuple[str, ...]
    resources: Resources | None
    evaluations: tuple[EvaluationRecord, ...]
    """What made the scores, by the evaluator's name."""
    twins: tuple[TwinCorrelation, ...]
    """Measures and what stands in for them."""
    judged: Spreads
    """Between what the values lie that a judge led to."""
    labelled: Mapping[str, Mapping[str, int]]
    """Measure -> label -> how many answers have it, of the measures that sort answers."""
    latencies: tuple[float, ...]
    """Seconds of each query that was answered live or timed out, ascending."""
    spent: Spent
    """What all attempts took together."""
    n_answered: int
    """(query, repeat) pairs that have a record."""
    n_errors: int
    """Those of them that failed."""
    why_failed: str
    """Kinds of their failures and the message of the first."""
    unscored: frozenset[str]
    """Measures that were scored before every answer was there."""
    briefs: Briefs = field(repr=False)
    """What became of each query, and where the rest stands."""
    values: Mapping[str, QueryValues] = field(repr=False)
    """Measure -> one number for each query, costs included: what a comparison pairs."""
    race: RaceRecord | None = None
    """What the race established that it was in."""

    @property
    def left_race_after(self) -> int | None:
        """After how many queries a race asked it no further; None: it did not leave one."""
        drops = self.race.dropped if self.race else ()
        return next((drop.after for drop in drops if drop.run_id == self.manifest.run_id), None)

    def row(self, measure: str, query_type: str = OVERALL) -> Aggregate | None:
        """The row of that measure, if there is one."""
        return self._places.get((measure, query_type))

    def row_beside(self, measure: str, other: Aggregate | None) -> Aggregate | None:
        """The row of that measure in the mix of query types in which another one is, if there is one in that."""
        row = self.row(measure, other.query_type) if other else None
        return row if row is not None and row.mean is not None else self.row(measure)

    def value(self, measure: str) -> float | None:
        """The overall mean of that measure, if there is one."""
        row = self.row(measure)
        return row.mean if row else None

    @cached_property
    def _places(self) -> dict[tuple[str, str], Aggregate]:
        return {(row.measure, row.query_type): row for row in reversed(self.rows)}

    def way(self, measure: str) -> str:
        """The same for two runs whose scores by a measure may be compared."""
        return way_of(self.evaluations, measure)

    @property
    def n_expected(self) -> int:
        """(query, repeat) pairs that the run is to answer."""
        return len(self.frame.query_types) * self.frame.repeats

    @property
    def fails_too_often(self) -> bool:
        """Whether it fails so many queries that it is called neither the cheapest nor the fastest."""
        return fails_too_often(self.n_errors, self.n_answered)

    @cached_property
    def refused(self) -> tuple[int, int]:
        """Answerable queries that it refused, and how many there are."""
        return refused_of(self.sample, self.briefs, self.frame.repeats)

    def abstained(self, query_id: str) -> bool:
        """Whether any answer of it to that query says that there is none."""
        return became(self.briefs, query_id, self.frame.repeats, ABSTAINED)

    def timed_out(self, query_id: str) -> bool:
        """Whether any repeat of that query did."""
        return became(self.briefs, query_id, self.frame.repeats, TIMEOUT)

    def has_answer(self, query_id: str) -> bool:
        """Whether it said anything to that query."""
        return any(self.briefs.has_answer((query_id, repeat)) for repeat in range(self.frame.repeats))

    @property
    def refuses_most(self) -> bool:
        """Whether it refuses most of what has an answer: what it takes is then the cost of a refusal."""
        return refuses_most(self.refused)

    @property
    def why_unpriced(self) -> str:
        """Why nothing may be said of what an answer costs, as words that stand behind its name; empty: it may."""
        return why_unpriced((self.n_errors, self.n_answered), self.refused)

    @property
    def is_complete(self) -> bool:
        """Whether every answer is there and the run has closed: what is not complete is compared with nothing."""
        return self.is_finished and self.n_answered >= self.n_expected

    @property
    def shown(self) -> str:
        """What a table or a figure calls it, in which it does not stand apart otherwise."""
        return self.label if self.is_complete else f"{self.label} (not finished)"

    @property
    def is_baseline(self) -> bool:
        """Whether it is a mark to read the others by, which does not compete with them."""
        return bool(self.manifest.baseline)

    def model(self, role: str) -> str:
        """`provider/model` of a role."""
        played_by: dict[str, Any] = self.manifest.identity.get("models", {}).get(role) or {}
        names = (played_by.get("provider"), played_by.get("model"))
        return "/".join(dict.fromkeys(printable(str(name)) for name in names if name)) or "none"


@dataclass(frozen=True)
class Group:
    """Runs over exactly the same queries, references and documents."""

    dataset: str
    digest: str
    views: tuple[RunView, ...]
    notes: tuple[str, ...]
    known: Mapping[str, Measure]
    """What is known of measures, by name."""
    ranking: RankingChoice
    """What ranks, if runs have it."""
    margin: float = DEFAULT_MARGIN
    """In points: what is worse by less is as good."""

    @property
    def title(self) -> str:
        """What a chapter about it is called."""
        return self.dataset if self._has_answers else f"{self.dataset}, without a generator"

    @property
    def key(self) -> str:
        """What tells it, and its files, from every other group of a report: the same queries may be asked twice,
        with a generator and for retrieval alone.
        """
        return self.digest[:12] if self._has_answers else f"{self.digest[:12]}-retrieval"

    @property
    def _has_answers(self) -> bool:
        return any(view.manifest.has_generator for view in self.views)

    @property
    def widest(self) -> RunView:
        """The run that was asked the most: who left a race was asked fewer of the same queries."""
        return _widest(self.views)

    def spoken(self, measure: str) -> str:
        """What a sentence calls a measure, or what a query takes."""
        known = self.known.get(measure)
        return printable(known.spoken if known else COSTS.get(measure, measure))

    @property
    def columns(self) -> list[Measure]:
        """The metrics that the leaderboard shows besides the one that ranks."""
        present = set(self.measures)
        found = [measure for name, measure in self.known.items() if measure.column and name in present]
        return sorted(found, key=lambda measure: not measure.ranks_where_answers_cannot)

    def owner(self, measure: str) -> str:
        """The evaluator that scored a measure; empty: none of these runs says."""
        evaluations = (one for view in self.views for one in view.evaluations)
        return next((one.evaluator for one in evaluations if measure in one.measures), "")

    def scored_otherwise(self, measure: str) -> frozenset[str]:
        """The ids of runs whose values of a measure are not comparable with those of most that may compete by it:
        another judge, version, parameters or weights made them.
        """
        if measure not in self._otherwise:
            self._otherwise[measure] = self._scored_otherwise(measure)
        return self._otherwise[measure]

    @cached_property
    def _otherwise(self) -> dict[str, frozenset[str]]:
        """By measure, of those that were asked for."""
        return {}

    def _scored_otherwise(self, measure: str) -> frozenset[str]:
        held = [view for view in self.views if measure in view.values and view.values[measure].values]
        able = [one for one in held if one.is_complete and not one.is_baseline and measure not in one.unscored]
        able = [one for one in able if one.values[measure].is_covered]
        ways = Counter(one.way(measure) for one in able or held)
        most = next(iter(ways.most_common(1)), ("", 0))[0]
        return frozenset(one.run.run_id for one in held if one.way(measure) != most)

    @property
    def costs(self) -> frozenset[str]:
        """What a query takes."""
        return frozenset(COSTS)

    @property
    def query_types(self) -> list[str]:
        """Every query type of these runs, in order."""
        return sorted({query_type for view in self.views for query_type in view.frame.query_types.values()})

    @property
    def shared_notes(self) -> list[str]:
        """What is to be said of every run, such as a note of the data set; none where there is one run."""
        first, *others = self.views
        return [note for note in first.notes if others and all(note in view.notes for view in others)]

    def own_notes(self, view: RunView) -> list[str]:
        """What is to be said of this run and not of all."""
        shared = self.shared_notes
        return [note for note in view.notes if note not in shared]

    @property
    def note_lines(self) -> list[str]:
        """Every note of the group, those of a single run with its label."""
        own = [f"{printable(view.label)}: {note}" for view in self.views for note in self.own_notes(view)]
        return [*self.notes, *self.shared_notes, *own]

    @property
    def measures(self) -> list[str]:
        """Every measure that was scored in any run."""
        return sorted({name for view in self.views for name in view.scored})


def load_groups(runs: Sequence[RunDir], prices: Prices) -> list[Group]:
    """One group for each data set digest, in order of first appearance; a run named twice counts once.

    Retrieval alone is a group of its own: what has no answers would only be passed over among those that have.
    """
    found: dict[tuple[str, bool], list[RunDir]] = {}
    for run in {run.path.resolve(): run for run in runs}.values():
        manifest = run.manifest()
        digest = str(manifest.identity.get("dataset", {}).get("digest", ""))
        found.setdefault((digest, manifest.has_generator), []).append(run)
    groups = [_load_group(digest, members, prices) for (digest, _), members in found.items()]
    return [replace(group, notes=(*group.notes, *_apart_notes(group, groups))) for group in groups]


def _apart_notes(group: Group, groups: Sequence[Group]) -> list[str]:
    """Why other runs of the same data set are not in the group."""
    others = [other for other in groups if other.dataset == group.dataset and other.digest != group.digest]
    return [apart_note(group.views[0].run, other.views[0].run) for other in others]


def _widest(views: Sequence[RunView]) -> RunView:
    return max(views, key=lambda view: len(view.frame.query_types))


def _load_group(digest: str, runs: Sequence[RunDir], prices: Prices) -> Group:
    manifests = [run.manifest() for run in runs]
    named = labels([manifest.identity for manifest in manifests])
    with collector_paused():
        samples = samples_of(runs)
        views = tuple(_load_view(*one, prices) for one in zip(runs, named, samples, strict=True))
    known = known_measures(one for view in views for one in view.evaluations)
    notes = (
        *group_notes(manifests),
        *document_notes(_widest(views).frame),
        *judge_notes([view.evaluations for view in views]),
        *constant_notes([view.judged for view in views]),
    )
    title, ranks_by = dataset_title(manifests[0]), ranking_choice(manifests)
    return Group(title, digest, views, notes, known, ranks_by, margin_choice(manifests))


@contextmanager
def collector_paused() -> Iterator[None]:
    """A run has a hundred thousand scores, none of them in a cycle: the collector would go through them all again
    and again, which takes a quarter of the time. What is no longer needed is freed without it.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _load_view(run: RunDir, label: str, sample: Sample, prices: Prices) -> RunView:
    frame, (answers, briefs) = Frame.of(run, sample.values()), read_briefly(run)
    read = ScoreColumns.read(run.score_lines())
    scores = read.fitting(briefs.is_answered)
    path = run.resources_path()
    resources = load_resources(path) if path else None
    evaluations = run.evaluations()
    aggregates = aggregate_scores(frame, scores, ranges=known_ranges(evaluations))
    manifest = run.manifest()
    models = manifest.identity.get("models", {})
    costs = query_scores(answers.values(), models, prices, frame.query_limit_s)
    rows = (
        *aggregates,
        *run_costs(run, prices, answers.all, frame, costs),
        *evaluation_costs(frame, evaluations, prices),
    )
    counts = RecordCounts.of(answers, frame)
    return RunView(
        run=run,
        manifest=manifest,
        label=label,
        is_finished=run.done() is not None,
        frame=frame,
        sample=sample,
        rows=rows,
        scored=tuple(dict.fromkeys(row.measure for row in aggregates)),
        scores=read,
        notes=(*run_notes(run, frame, scores, (answers, counts), prices), *resource_notes(resources)),
        resources=resources,
        evaluations=tuple(evaluations),
        twins=twin_correlations(frame, scores, evaluations),
        judged=judged_spreads(scores, evaluations),
        labelled={name: own.facts.labels for name, own in scores.by_measure.items() if own.facts.labels},
        n_answered=counts.n_asked,
        n_errors=counts.n_asked_failed,
        why_failed=counts.why_failed,
        unscored=frozenset(name for name, own in scores.by_measure.items() if own.count(MISSING)),
        briefs=briefs,
        values=values_of(frame, scores, costs),
        latencies=tuple(latencies(frame, costs)),
        spent=answers_spent(answers.all),
        race=run.race(),
    )
