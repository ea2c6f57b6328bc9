"""Everything a report says about each run, read once; runs that may be compared stand in one group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis import (
    OVERALL,
    Aggregate,
    Frame,
    Prices,
    Resources,
    aggregate_scores,
    derive,
    load_prices,
    load_resources,
    run_costs,
)
from harness.analysis.correlation import TwinCorrelation, twin_correlations
from harness.analysis.judging import evaluation_costs
from harness.analysis.spreads import Spreads, judged_spreads
from harness.records import EvaluationRecord
from harness.report.labels import labels
from harness.report.notes import constant_notes, group_notes, judge_notes, resource_notes, run_notes
from harness.report.text import printable
from harness.store import Manifest, RunDir


@dataclass(frozen=True)
class RunView:
    """One run."""

    run: RunDir
    manifest: Manifest
    label: str
    frame: Frame
    rows: tuple[Aggregate, ...]
    notes: tuple[str, ...]
    resources: Resources | None
    evaluations: tuple[EvaluationRecord, ...]
    """What made the scores, by the evaluator's name."""
    twins: tuple[TwinCorrelation, ...]
    """Measures and what stands in for them."""
    judged: Spreads
    """Between what the values lie that a judge led to."""
    n_answered: int
    """(query, repeat) pairs that have a record."""

    def row(self, measure: str, query_type: str = OVERALL) -> Aggregate | None:
        """The row of that measure, if there is one."""
        found = (row for row in self.rows if row.measure == measure and row.query_type == query_type)
        return next(found, None)

    def value(self, measure: str) -> float | None:
        """The overall mean of that measure, if there is one."""
        row = self.row(measure)
        return row.mean if row else None

    @property
    def n_expected(self) -> int:
        """(query, repeat) pairs that the run is to answer."""
        return len(self.frame.query_types) * self.frame.repeats

    def model(self, role: str) -> str:
        """`provider/model` of a role."""
        played_by: dict[str, Any] = self.manifest.identity.get("models", {}).get(role) or {}
        names = (played_by.get("provider"), played_by.get("model"))
        return "/".join(dict.fromkeys(printable(str(name)) for name in names if name)) or "none"


@dataclass(frozen=True)
class Group:
    """Runs over exactly the same queries, references and documents."""

    title: str
    digest: str
    views: tuple[RunView, ...]
    notes: tuple[str, ...]

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
    def measures(self) -> list[str]:
        """Every measure that has a row."""
        return sorted({row.measure for view in self.views for row in view.rows})


def load_groups(runs: Sequence[RunDir], prices: Prices | None = None) -> list[Group]:
    """One group for each data set digest, in order of first appearance; a run named twice counts once.

    `prices`: None is the table that ships.
    """
    table = prices or load_prices()
    by_digest: dict[str, list[RunDir]] = {}
    for run in {run.path.resolve(): run for run in runs}.values():
        identity = run.manifest().identity.get("dataset", {})
        by_digest.setdefault(str(identity.get("digest", "")), []).append(run)
    return [_load_group(digest, members, table) for digest, members in by_digest.items()]


def _load_group(digest: str, runs: Sequence[RunDir], prices: Prices) -> Group:
    manifests = [run.manifest() for run in runs]
    named = labels([manifest.identity for manifest in manifests])
    views = tuple(_load_view(run, label, prices) for run, label in zip(runs, named, strict=True))
    dataset = manifests[0].identity.get("dataset", {})
    subset = dataset.get("subset")
    shown = f"{dataset.get('name', '')} ({subset})" if subset and subset != "default" else dataset.get("name", "")
    notes = (
        *group_notes(manifests),
        *judge_notes([view.evaluations for view in views]),
        *constant_notes([view.judged for view in views]),
    )
    return Group(printable(str(shown)), digest, views, notes)


def _load_view(run: RunDir, label: str, prices: Prices) -> RunView:
    frame, scores, records = Frame.of(run), run.scores(), run.records()
    path = run.resources_path()
    resources = load_resources(path) if path else None
    aggregates, evaluations = aggregate_scores(frame, scores), run.evaluations()
    rows = (
        *aggregates,
        *derive(aggregates),
        *run_costs(run, prices),
        *evaluation_costs(frame, evaluations, prices),
    )
    manifest = run.manifest()
    return RunView(
        run=run,
        manifest=manifest,
        label=label,
        frame=frame,
        rows=rows,
        notes=(*run_notes(run, frame, scores, records, prices), *resource_notes(resources)),
        resources=resources,
        evaluations=tuple(evaluations),
        twins=twin_correlations(frame, scores, evaluations),
        judged=judged_spreads(scores, evaluations),
        n_answered=sum(
            1 for query_id, repeat in records if query_id in frame.query_types and repeat < frame.repeats
        ),
    )
