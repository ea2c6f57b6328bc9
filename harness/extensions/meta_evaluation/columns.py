"""The columns to correlate: one per metric and per dimension of labels, with a row per answer.

Only computed values count, not the worst value of a failed query, on which any two metrics agree. Repeats of a
query are averaged first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from harness.core.errors import ConfigError, nearest
from harness.core.hashing import digest
from harness.core.records import EvaluationRecord, Reference
from harness.display.text_format import printable
from harness.extensions.meta_evaluation.label_sheet import LabelSheet
from harness.statistics.aggregate import Frame
from harness.statistics.sampling_design import clusters_of
from harness.store import RunDir


class PlacedAnswer(NamedTuple):
    """The answers of one run to one query."""

    run_id: str
    query_id: str


ValueColumn = Mapping[PlacedAnswer, float]


@dataclass(frozen=True)
class AnswerFacts:
    """What an answer shares with others."""

    query_type: str
    cluster: str
    """The document that its query shares with others, or the query; answers of one cluster are not independent."""


@dataclass(frozen=True)
class ValueColumns:
    """Columns over the answers of some runs."""

    values: Mapping[str, ValueColumn]
    """Measure, or dimension of labels -> values."""
    labels: tuple[str, ...]
    """The columns of human labels."""
    answers: Mapping[PlacedAnswer, AnswerFacts]
    """Every answer, with or without values."""
    notes: tuple[str, ...] = ()

    def restricted(self, answers: Iterable[PlacedAnswer]) -> "ValueColumns":
        """Only these answers."""
        kept = {answer: self.answers[answer] for answer in answers}
        values = {
            name: {answer: value for answer, value in column.items() if answer in kept}
            for name, column in self.values.items()
        }
        return ValueColumns(values, self.labels, kept)


def measured_columns(runs: Sequence[RunDir], measures: Sequence[str] = ()) -> ValueColumns:
    """Columns of these metrics, or of all that the runs have. Raises ConfigError if no run has one of them, or if
    runs were scored by different judges or parameters.
    """
    values: dict[str, dict[PlacedAnswer, float]] = {}
    answers: dict[PlacedAnswer, AnswerFacts] = {}
    made_by: dict[str, tuple[str, str]] = {}
    notes: list[str] = []
    frames = {run.run_id: Frame.of(run) for run in runs}
    clusters = _clusters(runs, frames)
    for run in runs:
        answers |= _answers(run, frames[run.run_id], clusters)
        _check_alike(run, made_by, measures)
        for (measure, answer), given in _values(run, measures).items():
            values.setdefault(measure, {})[answer] = fmean(given)
        # A checksum that does not fit is an error: the files were lost or changed.
        if run.done() is None:
            notes.append(f"{run.run_id} is not finished: its scores so far are used")
    for name in measures:
        if name not in values:
            raise _unscored(name, runs)
    ordered = measures or tuple(sorted(values))
    return ValueColumns({name: values[name] for name in ordered}, (), answers, tuple(notes))


def with_labels(columns: ValueColumns, sheet: LabelSheet) -> ValueColumns:
    """The same with a column for each dimension of labels. Raises ConfigError if a label names no run where there
    are several, or if no label fits an answer.
    """
    found: dict[str, ValueColumn] = {}
    notes, lost = list(columns.notes), set()
    runs = tuple(dict.fromkeys(answer.run_id for answer in columns.answers))
    for dimension in sheet.dimensions:
        placed: dict[PlacedAnswer, list[float]] = {}
        for (run, query_id), value in sheet.means(dimension).items():
            answer = PlacedAnswer(_run_named(run, runs, sheet), query_id)
            if answer in columns.answers:
                # Annotators may name a run in several ways.
                placed.setdefault(answer, []).append(value)
            else:
                lost.add((run, query_id))
        found[_label_name(dimension, columns.values)] = {one: fmean(given) for one, given in placed.items()}
        notes.append(sheet.said_of(dimension))
    if not any(found.values()):
        raise _no_matching_label_error(next(iter(lost)), runs, columns, sheet)
    if lost:
        notes.append(f"labels of answers that these runs do not have: {len(lost):,}")
    if sheet.n_empty:
        notes.append(f"cells without a label: {sheet.n_empty:,}")
    return ValueColumns({**columns.values, **found}, tuple(found), columns.answers, tuple(notes))


def _no_matching_label_error(
    first: tuple[str, str], runs: Sequence[str], columns: ValueColumns, sheet: LabelSheet
) -> ConfigError:
    """The error if no label fits an answer, explained for the first one."""
    run, query_id = first
    what = f"no label of {sheet.path} matches an answer of these runs"
    if _run_named(run, runs, sheet) not in runs:
        return ConfigError(f"{what} (first: run '{printable(run)}')", nearest(run, runs))
    fix = nearest(query_id, {answer.query_id for answer in columns.answers})
    return ConfigError(f"{what} (first: query '{printable(query_id)}')", fix)


def _unscored(name: str, runs: Sequence[RunDir]) -> ConfigError:
    every = {measure for run in runs for evaluation in run.evaluations() for measure in evaluation.measures}
    if name in every:
        return ConfigError(
            f"'{name}' has no value for any answer of these runs", "it failed or does not apply; see: show RUN"
        )
    fix = nearest(name, every) if every else "score them first: rag-harness evaluate RUN"
    return ConfigError(f"no run was scored on '{name}'", fix)


def _clusters(runs: Sequence[RunDir], frames: Mapping[str, Frame]) -> dict[tuple[str, str], str]:
    """(data set, query) -> its cluster among the queries of all runs, which may differ."""
    asked: dict[str, dict[str, Reference]] = {}
    for run in runs:
        if frames[run.run_id].clusters:
            asked.setdefault(_dataset(run), {}).update({row.query.query_id: row.reference for row in run.sample()})
    return {
        (dataset, query): cluster
        for dataset, references in asked.items()
        for query, cluster in clusters_of(references.values()).items()
    }


def _answers(
    run: RunDir, frame: Frame, clusters: Mapping[tuple[str, str], str]
) -> dict[PlacedAnswer, AnswerFacts]:
    dataset = _dataset(run)
    return {
        PlacedAnswer(run.run_id, query): AnswerFacts(
            kind, f"{dataset}/{clusters.get((dataset, query), f'query/{query}')}"
        )
        for query, kind in frame.query_types.items()
    }


def _dataset(run: RunDir) -> str:
    """Equal for samples of one data set, whatever their size."""
    identity = run.manifest().identity.get("dataset", {})
    return f"{identity.get('name', '')}/{identity.get('subset', '')}"


def _values(run: RunDir, measures: Sequence[str]) -> dict[tuple[str, PlacedAnswer], list[float]]:
    found: dict[tuple[str, PlacedAnswer], list[float]] = {}
    for score in run.scores():
        if score.status == "scored" and score.value is not None and (not measures or score.measure in measures):
            found.setdefault((score.measure, PlacedAnswer(run.run_id, score.query_id)), []).append(score.value)
    return found


def _check_alike(run: RunDir, made_by: dict[str, tuple[str, str]], measures: Sequence[str]) -> None:
    for evaluation in run.evaluations():
        signature = _signature(evaluation)
        for measure in evaluation.measures:
            if measures and measure not in measures:
                continue
            first, its_run = made_by.setdefault(measure, (signature, run.run_id))
            if first != signature:
                what = f"{its_run} and {run.run_id} have {measure} from different judges, versions or parameters"
                raise ConfigError(
                    what,
                    "evaluate them in the same way, correlate each separately, or name other measures (--measure)",
                )


def _signature(evaluation: EvaluationRecord) -> str:
    """Values with equal signatures are comparable."""
    made = ("evaluator", "version", "params", "models", "weights")
    return digest({name: evaluation.model_dump(mode="json")[name] for name in made})


def _run_named(name: str, runs: Sequence[str], sheet: LabelSheet) -> str:
    """The run that a label names; the name itself if it is none of these."""
    if not name:
        if len(runs) > 1:
            what = f"{sheet.path} does not say which of {len(runs)} runs its labels are of"
            raise ConfigError(what, "add a column `run`, or correlate one run")
        return runs[0]
    if name in runs:
        return name
    fitting = [run for run in runs if run.startswith(name) or run.endswith(name) or name in run.split("--")]
    if len(fitting) > 1:
        raise ConfigError(
            f"'{name}' in {sheet.path} fits {len(fitting)} runs", "write the run id: " + ", ".join(fitting)
        )
    return fitting[0] if fitting else name


def _label_name(dimension: str, taken: Mapping[str, ValueColumn]) -> str:
    return f"{dimension} (label)" if dimension in taken else dimension
