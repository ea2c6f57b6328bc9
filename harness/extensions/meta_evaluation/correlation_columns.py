"""The columns to correlate: one per metric and per dimension of labels, with a row per answer.

Only computed values count, not the worst value of a failed query, on which any two metrics agree. Repeats of a
query are averaged first.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from harness.core.errors import ConfigError, DataError, nearest
from harness.core.records import Reference
from harness.datasets.annotation_csv import cells_of
from harness.datasets.table_reading import read_table
from harness.display.text_format import printable
from harness.report.measures import instead_of, known_measures
from harness.report.run_view import scored_by
from harness.statistics.run_frame import Frame
from harness.statistics.sampling_design import clusters_of
from harness.store import RunDir

_QUERY, _RUN, _ANNOTATOR = ("query_id", "item"), ("run", "run_id", "system"), "annotator"
_DIMENSION, _LABEL = "dimension", "label"
_ABOUT = frozenset({*_QUERY, *_RUN, _ANNOTATOR, _DIMENSION, _LABEL, "repeat", "comment", "note", "notes", "at"})
"""Columns that are no dimension."""
_NO_LABEL = frozenset({"", "cannot tell", "n/a"})
LabelSpan = tuple[float, float]


class HumanLabel(NamedTuple):
    run: str
    """As the sheet names it; empty: no run given."""
    query_id: str
    annotator: str
    dimension: str
    value: float


@dataclass(frozen=True)
class LabelSheet:
    """All labels of a file. Labels of several annotators of one answer are averaged."""

    path: Path
    labels: tuple[HumanLabel, ...]
    n_empty: int

    @property
    def dimensions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.dimension for one in self.labels))

    def means(self, dimension: str) -> Mapping[tuple[str, str], float]:
        """(run, query) -> mean label over all annotators."""
        return {answer: fmean(given.values()) for answer, given in self._of(dimension).items()}

    def said_of(self, dimension: str) -> str:
        """A note on how many answers and annotators the means rest on."""
        people = self._of(dimension)
        everyone = {name for given in people.values() for name in given}
        if len(everyone) < 2:
            return f"{printable(dimension)}: {len(people):,} answers labelled by one person"
        shared = sum(len(given) > 1 for given in people.values())
        alone = "" if shared else ": strict people and bad answers cannot be distinguished"
        said = f"{len(people):,} answers labelled by {len(everyone)} people, {shared:,} by more than one"
        return f"{printable(dimension)}: {said}{alone}"

    def _of(self, dimension: str) -> dict[tuple[str, str], dict[str, float]]:
        """(run, query) -> annotator -> label."""
        found: dict[tuple[str, str], dict[str, float]] = {}
        for one in self.labels:
            if one.dimension == dimension:
                found.setdefault((one.run, one.query_id), {})[one.annotator] = one.value
        return found


def read_labels(path: Path, scale: LabelSpan | None = None) -> LabelSheet:
    """Human labels of answers, from a CSV in one of two forms. Wide: `query_id`, and a column of numbers for each
    dimension. Long: `query_id`, `dimension`, `label`. Either may name `run` (a run id, a part of one, or a system)
    and `annotator`; `item` is another name of `query_id`. An empty cell, `cannot tell` and `n/a` are no label.

    Raises DataError, one line, for a value that is no label or outside `scale`, for an
    answer labelled twice by one person, and for a file without labels.
    """
    if not path.exists():
        raise DataError(f"there is no {path}", "name a CSV of labels with --labels: docs/correlate.md")
    table = read_table(path)
    names = list(table.names)
    query = next((name for name in _QUERY if name in names), None)
    if query is None:
        raise DataError(f"{path} has no column {_QUERY[0]}", f"its columns are {', '.join(map(printable, names))}")
    rows = [(row.where, cells_of(row)) for row in table.rows]
    # The columns with a number in some row, so that the file may also contain texts.
    dimensions = [
        name
        for name in names
        if _LABEL not in names
        and name not in _ABOUT
        and any(_number(cells.get(name, "")) is not None for _, cells in rows)
    ]
    found: dict[tuple[str, str, str, str], float] = {}
    empty = 0
    for where, cells in rows:
        run = next(filter(None, (cells.get(name) for name in _RUN)), "")
        wide = [(name, cells.get(name, "")) for name in dimensions]
        for dimension, cell in wide or [(cells.get(_DIMENSION) or _LABEL, cells.get(_LABEL, ""))]:
            if cell.casefold() in _NO_LABEL:
                empty += 1
                continue
            answer = (run, cells.get(query, ""), cells.get(_ANNOTATOR, ""), dimension)
            if answer in found:
                what = f"{path} labels {printable(dimension)} of {printable(answer[1])} twice"
                fix = "leave one row for each, or say in a column `annotator` or `run` how they differ"
                raise DataError(what, fix)
            found[answer] = _label(where, dimension, cell, scale)
    if not found:
        what = f"{path} has no labels"
        raise DataError(what, "columns: query_id and one for each dimension, or dimension and label")
    return LabelSheet(path, tuple(HumanLabel(*answer, value) for answer, value in found.items()), empty)


def parse_scale(text: str) -> LabelSpan:
    """`1-5` or `-2..2`. ConfigError: anything else."""
    low, dots, high = text.partition("..") if ".." in text else text.partition("-")
    try:
        scale = float(low), float(high)
    except ValueError:
        dots = ""
    if not dots or not all(map(isfinite, scale)) or scale[0] >= scale[1]:
        raise ConfigError(f"--scale {text!r} is no scale", "write the lowest and highest label: 1-5, or -2..2")
    return scale


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if isfinite(value) else None


def _label(where: str, dimension: str, cell: str, scale: LabelSpan | None) -> float:
    said, value = f"{where}: {printable(dimension)} {printable(cell, 40)!r}", _number(cell)
    if value is None:
        raise DataError(f"{said} is no number", "labels are numbers; leave the cell empty where there is none")
    if scale and not scale[0] <= value <= scale[1]:
        what = f"{said} is outside the scale {scale[0]:g} to {scale[1]:g}"
        raise DataError(what, "correct the row, or name another --scale")
    return value


@dataclass(frozen=True)
class AnswerRow:
    run_id: str
    query_id: str
    query_type: str
    cluster: str
    """The document that its query shares with others, or the query; answers of one cluster are not independent."""
    values: Mapping[str, float]
    """Measure, or dimension of labels -> value."""


@dataclass(frozen=True)
class ValueColumns:
    rows: tuple[AnswerRow, ...]
    """By run and query."""
    measures: tuple[str, ...]
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.measures, *self.labels)

    def column(self, name: str) -> list[float]:
        return [row.values[name] for row in self.rows if name in row.values]

    def having(self, *names: str) -> list[AnswerRow]:
        """The answers that have a value of each of these."""
        wanted = set(names)
        return [row for row in self.rows if row.values.keys() >= wanted]


def computed_values(run: RunDir) -> dict[str, dict[str, float]]:
    """Measure -> query id -> the mean over its repeats."""
    found: dict[str, dict[str, list[float]]] = {}
    for score in run.scores():
        if score.status == "scored" and score.value is not None:
            found.setdefault(score.measure, {}).setdefault(score.query_id, []).append(score.value)
    return {measure: {query: fmean(own) for query, own in column.items()} for measure, column in found.items()}


def measured_columns(runs: Sequence[RunDir], measures: Sequence[str] = ()) -> ValueColumns:
    """Columns of these metrics, or of all that the runs have. Raises ConfigError if no run has one of them, or if
    runs were scored by different judges or parameters.
    """
    values: dict[tuple[str, str], dict[str, float]] = {}
    made_by: dict[str, tuple[str, str]] = {}
    notes: list[str] = []
    for run in runs:
        _check_alike(run, made_by, measures)
        for measure, column in computed_values(run).items():
            if not measures or measure in measures:
                for query, value in column.items():
                    values.setdefault((run.run_id, query), {})[measure] = value
        # A checksum that does not fit is an error: the files were lost or changed.
        if run.done() is None:
            notes.append(f"{run.run_id} is not finished: its scores so far are used")
    known = {measure for own in values.values() for measure in own}
    for name in measures:
        if name not in known:
            raise _unscored(name, runs)
    ordered = tuple(dict.fromkeys(measures)) or tuple(sorted(known))
    return ValueColumns(tuple(_rows(runs, values)), ordered, notes=tuple(notes))


def with_labels(columns: ValueColumns, sheet: LabelSheet) -> ValueColumns:
    """The same with a column for each dimension of labels. Raises ConfigError if a label names no run where there
    are several, or if no label fits an answer.
    """
    rows = {(row.run_id, row.query_id): row for row in columns.rows}
    runs = tuple(dict.fromkeys(row.run_id for row in columns.rows))
    labels: list[str] = []
    given: dict[tuple[str, str], dict[str, list[float]]] = {}
    notes, lost = list(columns.notes), set()
    for dimension in sheet.dimensions:
        labels.append(f"{dimension} (label)" if dimension in columns.measures else dimension)
        for (run, query_id), value in sheet.means(dimension).items():
            answer = (_run_named(run, runs, sheet), query_id)
            if answer in rows:
                # Annotators may name a run in several ways.
                given.setdefault(answer, {}).setdefault(labels[-1], []).append(value)
            else:
                lost.add((run, query_id))
        notes.append(sheet.said_of(dimension))
    if not given:
        raise _no_matching_label_error(next(iter(lost)), runs, columns, sheet)
    if lost:
        notes.append(f"labels of answers that these runs do not have: {len(lost):,}")
    if sheet.n_empty:
        notes.append(f"cells without a label: {sheet.n_empty:,}")
    labelled = (
        replace(row, values={**row.values, **{name: fmean(own) for name, own in given.get(answer, {}).items()}})
        for answer, row in rows.items()
    )
    return ValueColumns(tuple(labelled), columns.measures, tuple(labels), tuple(notes))


def _no_matching_label_error(
    first: tuple[str, str], runs: Sequence[str], columns: ValueColumns, sheet: LabelSheet
) -> ConfigError:
    """The error if no label fits an answer, explained for the first one."""
    run, query_id = first
    what = f"no label of {sheet.path} matches an answer of these runs"
    if _run_named(run, runs, sheet) not in runs:
        return ConfigError(f"{what} (first: run '{printable(run)}')", nearest(run, runs))
    fix = nearest(query_id, {row.query_id for row in columns.rows})
    return ConfigError(f"{what} (first: query '{printable(query_id)}')", fix)


def _unscored(name: str, runs: Sequence[RunDir]) -> ConfigError:
    evaluations = [evaluation for run in runs for evaluation in run.evaluations()]
    every = {measure for evaluation in evaluations for measure in evaluation.measures}
    if name in every:
        return ConfigError(
            f"'{name}' has no value for any answer of these runs", "it failed or does not apply; see: show RUN"
        )
    fix = instead_of(name, every, [run.manifest() for run in runs], known_measures(evaluations))
    return ConfigError(f"no run was scored on '{name}'", fix)


def _rows(runs: Sequence[RunDir], values: Mapping[tuple[str, str], Mapping[str, float]]) -> Iterator[AnswerRow]:
    """All answers. A query is in one cluster among the queries of all runs, which may differ."""
    asked: dict[str, dict[str, Reference]] = {}
    frames = {run.run_id: Frame.of(run) for run in runs}
    datasets = {}
    for run in runs:
        identity = run.manifest().identity.get("dataset", {})
        # Equal for samples of one data set, whatever their size.
        datasets[run.run_id] = name = f"{identity.get('name', '')}/{identity.get('subset', '')}"
        if frames[run.run_id].clusters:
            asked.setdefault(name, {}).update({row.query.query_id: row.reference for row in run.sample()})
    clusters = {dataset: clusters_of(references.values()) for dataset, references in asked.items()}
    for run_id, frame in sorted(frames.items()):
        dataset = datasets[run_id]
        for query, kind in sorted(frame.query_types.items()):
            cluster = f"{dataset}/{clusters.get(dataset, {}).get(query, f'query/{query}')}"
            yield AnswerRow(run_id, query, kind, cluster, values.get((run_id, query), {}))


def _check_alike(run: RunDir, made_by: dict[str, tuple[str, str]], measures: Sequence[str]) -> None:
    for evaluation in run.evaluations():
        way = f"{evaluation.evaluator} {scored_by(evaluation)}"
        for measure in (one for one in evaluation.measures if not measures or one in measures):
            first, its_run = made_by.setdefault(measure, (way, run.run_id))
            if first != way:
                what = f"{its_run} and {run.run_id} have {measure} from different judges, versions or parameters"
                fix = (
                    "evaluate them in the same way, correlate each separately, or name other measures (--measure)"
                )
                raise ConfigError(what, fix)


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
