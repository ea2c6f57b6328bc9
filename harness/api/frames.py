"""Runs as pandas frames that are read on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from harness.core.errors import MissingDependency, install
from harness.core.records import Estimate, RunRecord, Usage
from harness.report.comparison.compare import Comparison
from harness.report.comparison.output import COLUMNS, comparison_rows
from harness.report.labels import run_labels
from harness.store import Manifest, RunDir, SampleRow

if TYPE_CHECKING:
    from pandas import DataFrame

Row = dict[str, Any]

_RUN = ("run_id", "label", "system", "dataset")
RUN_COLUMNS = (
    *(*_RUN, "subset", "generator", "embedder", "baseline", "is_finished", "n_queries", "repeats"),
    *("n_expected", "n_ok", "n_failed", "created_at", "path"),
)
RECORD_COLUMNS = (
    *(*_RUN, "query_id", "query_type", "repeat", "question", "references", "status", "answer", "n_contexts"),
    *("failure", "message", "attempt", "latency_s", "wall_s", "throttled_s", "cpu_s", "peak_rss_bytes"),
    *("model_calls", "input_tokens", "output_tokens", "cached_tokens", "replayed_calls", "started_at"),
)
CONTEXT_COLUMNS = (
    *(*_RUN, "query_id", "query_type", "repeat", "rank", "kind", "doc_ids", "score", "start", "end"),
    *("triplets", "text"),
)
SCORE_COLUMNS = (
    *(*_RUN, "query_id", "query_type", "repeat", "evaluator", "measure", "status", "value", "explanation"),
    *("share_read", "score_label"),
)
_ENDS = ("low", "high")
RANGES = ("input_tokens", "output_tokens", "embedder_tokens", "usd", "seconds")
"""The quantities of an estimate that have two bounds."""
ESTIMATE_COLUMNS = (
    *("run_id", "phase", "calls"),
    *(f"{name}_{end}" for name in RANGES for end in _ENDS),
    "basis",
)


def data_frame(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> DataFrame:
    """A pandas frame; MissingDependency if pandas is not installed."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependency("frames need pandas", install("notebook")) from error
    return pd.DataFrame(list(rows), columns=list(columns))


@dataclass(frozen=True)
class ReadRun:
    """A run directory with its label."""

    run: RunDir
    label: str

    @cached_property
    def manifest(self) -> Manifest:
        return self.run.manifest()

    @cached_property
    def sample(self) -> dict[str, SampleRow]:
        return {row.query.query_id: row for row in self.run.sample()}

    @cached_property
    def records(self) -> list[RunRecord]:
        """The latest record of each query and repeat, in the order of the sample."""
        found = self.run.records().values()
        places = {query_id: place for place, query_id in enumerate(self.sample)}
        return sorted(found, key=lambda record: (record.repeat, places.get(record.query_id, len(places))))

    @property
    def base(self) -> Row:
        """The columns with which every row of the run begins."""
        identity = self.manifest.identity
        names = str(identity.get("system", {}).get("name", "")), str(self.manifest.dataset.get("name", ""))
        return dict(zip(_RUN, (self.run.run_id, self.label, *names), strict=True))

    def query(self, query_id: str) -> Row:
        row = self.sample.get(query_id)
        query_type = row.reference.query_type if row else None
        return {**self.base, "query_id": query_id, "query_type": query_type}


def read_runs(runs: Sequence[RunDir]) -> list[ReadRun]:
    """Runs with the labels that a report of all of them would use."""
    named = run_labels([run.manifest() for run in runs])
    return [ReadRun(run, label) for run, label in zip(runs, named, strict=True)]


def run_row(read: ReadRun) -> Row:
    manifest, records = read.manifest, read.records
    models = manifest.models
    repeats = int(manifest.identity.get("repeats", 1))
    n_ok = sum(record.status == "ok" for record in records)
    return {
        **read.base,
        "subset": manifest.dataset.get("subset"),
        **{role: _model(models.get(role)) for role in ("generator", "embedder")},
        "baseline": manifest.baseline,
        "is_finished": read.run.done() is not None,
        "n_queries": len(read.sample),
        "repeats": repeats,
        "n_expected": len(read.sample) * repeats,
        "n_ok": n_ok,
        "n_failed": len(records) - n_ok,
        "created_at": manifest.created_at,
        "path": str(read.run.path),
    }


def record_rows(read: ReadRun) -> Iterator[Row]:
    for record in read.records:
        prediction, cost, failure = record.prediction, record.cost, record.failure
        row = read.sample.get(record.query_id)
        usage = cost.usage.get("generator", Usage())
        tokens = (usage.input_tokens, usage.output_tokens, usage.cached_tokens)
        known = (None, None, None) if usage.unmetered_calls else tokens
        yield {
            **read.query(record.query_id),
            "repeat": record.repeat,
            "question": row.query.text if row else None,
            "references": row.reference.answers if row else (),
            "status": record.status,
            "answer": prediction.answer if prediction else None,
            "n_contexts": len(prediction.contexts) if prediction else None,
            "failure": failure.kind if failure else None,
            "message": failure.message if failure else None,
            "attempt": record.attempt,
            **{name: getattr(cost, name) for name in ("latency_s", "wall_s", "throttled_s", "cpu_s")},
            "peak_rss_bytes": cost.peak_rss_bytes,
            "model_calls": usage.calls if usage.calls_are_known else None,
            **dict(zip(("input_tokens", "output_tokens", "cached_tokens"), known, strict=True)),
            "replayed_calls": cost.replayed_calls,
            "started_at": record.started_at,
        }


def context_rows(read: ReadRun) -> Iterator[Row]:
    for record in read.records:
        for rank, context in enumerate(record.prediction.contexts if record.prediction else (), start=1):
            span = context.span
            yield {
                **read.query(record.query_id),
                "repeat": record.repeat,
                "rank": rank,
                "kind": context.kind,
                "doc_ids": context.doc_ids,
                "score": context.score,
                "start": span.start if span else None,
                "end": span.end if span else None,
                "triplets": context.triplets,
                "text": context.text,
            }


def score_rows(read: ReadRun) -> Iterator[Row]:
    owners = {measure: one.evaluator for one in read.run.evaluations() for measure in one.measures}
    for score in read.run.scores():
        yield {
            **read.query(score.query_id),
            "repeat": score.repeat,
            "evaluator": owners.get(score.measure),
            **score.model_dump(include={"measure", "status", "value", "explanation", "share_read"}),
            "score_label": score.label,
        }


def estimate_rows(estimate: Estimate, phases: Mapping[str, Any]) -> Iterator[Row]:
    for phase_name, phase in phases.items():
        yield {
            "run_id": estimate.run_id,
            "phase": phase_name,
            **phase.model_dump(include={"calls", "basis"}),
            **{f"{name}_{end}": getattr(getattr(phase, name), end, None) for name in RANGES for end in _ENDS},
        }


class Runs:
    """A collection of run directories. Every frame begins with `run_id`, `label` (as in a report), `system` and
    `dataset`. An unknown value is missing, never 0.
    """

    def __init__(self, directories: Sequence[RunDir]) -> None:
        self.directories = list({run.path.resolve(): run for run in directories}.values())
        """The run directories, without duplicates, in the given order."""

    @cached_property
    def runs(self) -> DataFrame:
        """One row per run: models, numbers of answered and failed queries, whether it is finished."""
        return data_frame(map(run_row, self._read), RUN_COLUMNS)

    @cached_property
    def records(self) -> DataFrame:
        """One row per query and repeat, including failed ones: question, references, answer, cost."""
        return self._frame(record_rows, RECORD_COLUMNS)

    @cached_property
    def contexts(self) -> DataFrame:
        """One row per context, by rank from 1: kind, documents, score, span, text."""
        return self._frame(context_rows, CONTEXT_COLUMNS)

    @cached_property
    def scores(self) -> DataFrame:
        """One row per score.

        A failed query (status `imputed`) has the metric's worst value. `value` is missing if the metric does not
        apply, the evaluator failed or the run is unfinished: check `status` before you take a mean. With repeats,
        average the repeats of each query first.
        """
        return self._frame(score_rows, SCORE_COLUMNS)

    @cached_property
    def scored_records(self) -> DataFrame:
        """`records` with a column for each metric, by its name in full: the value, missing where it has none."""
        keys = ["run_id", "query_id", "repeat"]
        return self.records.join(self.scores.pivot(index=keys, columns="measure", values="value"), on=keys)

    def __len__(self) -> int:
        return len(self.directories)

    def __iter__(self) -> Iterator[RunDir]:
        return iter(self.directories)

    def __add__(self, other: Runs) -> Runs:
        return Runs([*self.directories, *other.directories])

    def __repr__(self) -> str:
        return f"Runs({[run.run_id for run in self.directories]})"

    def _repr_html_(self) -> str:
        return str(self.runs.to_html())

    @cached_property
    def _read(self) -> list[ReadRun]:
        return read_runs(self.directories)

    def _frame(self, rows: Callable[[ReadRun], Iterable[Row]], columns: Sequence[str]) -> DataFrame:
        return data_frame((row for read in self._read for row in rows(read)), columns)


def comparison_frame(comparison: Comparison) -> DataFrame:
    """One row per metric and pair, as in comparison.csv."""
    return data_frame((dict(zip(COLUMNS, row, strict=True)) for row in comparison_rows(comparison)), COLUMNS)


def _model(played_by: Mapping[str, Any] | None) -> str | None:
    if not played_by:
        return None
    names = (played_by.get("provider"), played_by.get("model"))
    return "/".join(dict.fromkeys(str(name) for name in names if name)) or None
