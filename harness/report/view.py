"""The runs as a report sees them, read once; runs that may be compared form a group."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

from harness.core.records import EvaluationRecord, IndexRecord, RaceRecord
from harness.display import counted, printable
from harness.evaluators.score_preconditions import is_null, stated_answers
from harness.protocols import Measure, ScoreLabel
from harness.report.group_notes import apart_note, notes_between, notes_on, scored_by
from harness.report.labels import dataset_title, document_versions, run_labels
from harness.report.measures import (
    DEFAULT_MARGIN,
    RankingChoice,
    known_measures,
    margin_choice,
    ranking_choice,
    value_ranges,
)
from harness.report.notes import lacks_evidence, most_harmful_first, run_notes, sees_gold
from harness.report.records import (
    ABSTAINED,
    ERROR,
    TIMEOUT,
    Briefs,
    RecordCounts,
    Sample,
    read_briefly,
    samples_of,
)
from harness.statistics.aggregate import aggregate_scores
from harness.statistics.columnar_scores import MISSING, ScoreColumns
from harness.statistics.correlation import TwinCorrelation, twin_correlations
from harness.statistics.cost import TIMES, evaluation_costs, fails_too_often, latencies, query_scores, run_costs
from harness.statistics.estimate import MeasuredCost, answers_spent
from harness.statistics.prices import Prices
from harness.statistics.query_values import COSTS, QueryValues, cost_values, scored_values
from harness.statistics.resource_usage import Resources, load_resources
from harness.statistics.run_frame import OVERALL, Aggregate, Frame
from harness.store import Manifest, RunDir
from harness.store.run_lookup import is_being_written


@dataclass(frozen=True, eq=False)
class RunView:
    """A run as a report sees it; equal to no other one, so that it can be a key."""

    run: RunDir
    manifest: Manifest
    label: str
    is_finished: bool
    frame: Frame
    sample: Sample = field(repr=False)
    """Runs over the same queries share one object."""
    rows: tuple[Aggregate, ...]
    scored: tuple[str, ...]
    """The measures that evaluators scored; what else has a row is a cost."""
    scores: ScoreColumns = field(repr=False)
    notes: tuple[str, ...]
    resources: Resources | None
    evaluations: tuple[EvaluationRecord, ...]
    twins: tuple[TwinCorrelation, ...]
    """Correlations of metrics with those that stand in for them."""
    labelled: Mapping[str, Mapping[str, int]]
    """Measure -> label -> how many answers have it, of the measures that sort answers."""
    latencies: tuple[float, ...]
    """Seconds of each query that was answered live or timed out, ascending."""
    spent: MeasuredCost
    """The cost of all attempts together."""
    n_answered: int
    """(query, repeat) pairs that have a record."""
    n_errors: int
    unscored: frozenset[str]
    """Measures that were scored before every answer was there."""
    briefs: Briefs = field(repr=False)
    values: Mapping[str, QueryValues] = field(repr=False)
    """Metric or cost -> one number per query, which comparisons pair."""
    index: IndexRecord | None = None
    """Without the places of its passages, of which there are many; None: not built yet."""
    race: RaceRecord | None = None
    is_running: bool = False
    position: int = 0

    @property
    def left_race_after(self) -> int | None:
        """After how many queries it was eliminated from a race; None: it was not."""
        drops = self.race.dropped if self.race else ()
        return next((drop.after for drop in drops if drop.run_id == self.manifest.run_id), None)

    def row(self, measure: str, query_type: str = OVERALL) -> Aggregate | None:
        return self._by_key.get((measure, query_type))

    def row_beside(self, measure: str, other: Aggregate | None) -> Aggregate | None:
        """The row of a measure in the mix of query types of another one, else overall."""
        return self.row_in(other.query_type if other else OVERALL, measure)

    def row_in(self, mix: str, measure: str) -> Aggregate | None:
        """In a mix of query types, else overall."""
        row = self.row(measure, mix)
        return row if row is not None and row.mean is not None else self.row(measure)

    def value(self, measure: str) -> float | None:
        row = self.row(measure)
        return row.mean if row else None

    @cached_property
    def _by_key(self) -> dict[tuple[str, str], Aggregate]:
        return {(row.measure, row.query_type): row for row in reversed(self.rows)}

    def way(self, measure: str) -> str:
        """Identifies how a metric was scored; equal for runs whose scores may be compared."""
        return " ".join(scored_by(one) for one in self.evaluations if measure in one.measures)

    @property
    def n_expected(self) -> int:
        return len(self.frame.query_types) * self.frame.repeats

    @property
    def fails_too_often(self) -> bool:
        """Whether it fails so many queries that it is called neither the cheapest nor the fastest."""
        return fails_too_often(self.n_errors, self.n_answered)

    def became(self, query_id: str, status: int) -> bool:
        """Whether that is what became of the query in any repeat."""
        return any(self.briefs.status((query_id, repeat)) == status for repeat in range(self.frame.repeats))

    def has_answer(self, query_id: str) -> bool:
        return any(self.briefs.has_answer((query_id, repeat)) for repeat in range(self.frame.repeats))

    @cached_property
    def abstains_on(self) -> str:
        """`3 of 4 answerable queries`, if more than half: its costs are then those of abstentions; else empty."""
        references = (row.reference for row in self.sample.values())
        answerable = [one.query_id for one in references if stated_answers(one) and not is_null(one)]
        n = sum(self.became(query_id, ABSTAINED) for query_id in answerable)
        whole = counted(len(answerable), "answerable query", "answerable queries")
        return f"{n:,} of {whole}" if 2 * n > len(answerable) else ""

    @cached_property
    def why_no_ceiling(self) -> str:
        """Of a baseline that is given the gold evidence, why it is no ceiling here; empty: it is, or is none."""
        return lacks_evidence(self.sample.values()) if sees_gold(self.manifest) else ""

    @property
    def why_unpriced(self) -> str:
        """Why the cost of its answers cannot be compared, as words to follow its name; empty if it can."""
        if self.fails_too_often:
            return "failed too often for its costs to be compared"
        if self.abstains_on:
            return f"abstained on {self.abstains_on}, so its costs are not those of answers"
        return ""

    def why_not_compared(self, measure: str) -> str:
        """Why it cannot be compared by a metric, as words to follow its name; empty if it can."""
        if measure in COSTS and self.why_unpriced:
            return self.why_unpriced
        found = self.values.get(measure, QueryValues.of({}, frozenset()))
        # Our own runs lack the times of replayed answers; why those of imported ones are missing is not known.
        lacks_times = measure in TIMES and self.manifest.is_imported and len(found) < len(found.expected)
        if found and found.is_comparable(measure) and not lacks_times:
            return ""
        return f"has a value for {len(found):,} of {len(found.expected):,} queries only"

    def why_not_ranked(self, measure: str) -> str:
        """Why it is not ranked by a metric of which it has values, as words to follow its name; empty if it is."""
        after = self.left_race_after
        if not self.is_complete or after is not None:
            return "is not finished" if after is None else f"left the race after {after:,} queries"
        if measure in self.unscored:
            name = printable(self.run.run_id, 200)
            return f"was scored before every answer was there: run `rag-harness evaluate {name}`"
        return self.why_not_compared(measure)

    def over(self, sample: Sample) -> RunView:
        """The values and failures of a part of its queries; the means are still over all of them."""
        if len(sample) == len(self.sample):
            return self
        statuses = [self.briefs.status(key) for key in self.briefs if key[0] in sample]
        return replace(
            self,
            sample=sample,
            values={name: own.only(sample) for name, own in self.values.items()},
            n_answered=len(statuses),
            n_errors=sum(status in {ERROR, TIMEOUT} for status in statuses),
        )

    @property
    def is_complete(self) -> bool:
        """Whether every answer is there and the run was closed; incomplete runs are not compared."""
        return self.is_finished and self.n_answered >= self.n_expected

    @property
    def shown(self) -> str:
        return self.label if self.is_complete else f"{self.label} (not finished)"

    @property
    def is_baseline(self) -> bool:
        """Whether it is a mark to read the others by, which does not compete with them."""
        return bool(self.manifest.baseline)

    def n_labelled(self, measure: Measure, label: ScoreLabel) -> int:
        return self.labelled.get(measure.name, {}).get(label.name, 0)

    @property
    def foreign_cpu(self) -> float | None:
        cores = self.manifest.machine.get("cores")
        return self.resources.foreign_cpu("answer", cores) if self.resources and isinstance(cores, int) else None

    def model(self, role: str) -> str:
        played_by = self.manifest.model(role)
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
