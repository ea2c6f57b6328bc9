"""Summaries of runs, remembered until a file of the run changes, so that hundreds are listed in seconds."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import Field

from harness import __version__
from harness.core.bounded_files import file_stamp
from harness.core.errors import StoreError
from harness.core.hashing import short_digest
from harness.core.records import Record
from harness.extensions.runs.removing import UNREADABLE, bytes_of
from harness.report.labels import dataset_name
from harness.report.measures import candidates_to_rank, known_measures, ranking_choice, value_ranges
from harness.statistics.aggregate import aggregate_scores
from harness.statistics.columnar_scores import ScoreColumns
from harness.statistics.run_frame import NATURAL, OVERALL, Frame
from harness.store import Manifest, RunDir
from harness.store.atomic_files import read_json, write_json
from harness.store.run_removal import own_folder
from harness.store.score_files import ScoreLines

_VERSION = f"{__version__}-2"
"""Increase it when a summary says something else about the same files."""


class RunSummary(Record):
    run_id: str
    """The name of its folder."""
    name: str = ""
    tags: tuple[str, ...] = ()
    created_at: str = ""
    """UTC, ISO 8601."""
    dataset: str = ""
    system: str = ""
    model: str = ""
    """The generator; empty without one."""
    identity: dict[str, Any] = Field(default_factory=dict)
    """What determines the result, without the data set and the models."""
    is_finished: bool = False
    n_expected: int = 0
    n_answered: int = 0
    """With failed ones."""
    n_failed: int = 0
    metric: str = ""
    """The metric by which a report on this run alone ranks it; empty if it has no score."""
    value: float | None = None
    bytes: int = 0
    """Of the run directory; indexes are shared."""
    damage: str = ""
    """Why it cannot be read; empty if it can."""


class _Remembered(Record):
    version: str
    runs: dict[str, tuple[str, RunSummary]]


def summaries_of(results: Path) -> list[RunSummary]:
    path = own_folder(results) / "list.json"
    known: dict[str, tuple[str, RunSummary]] = {}
    with suppress(StoreError):
        if path.exists() and (read := read_json(path, _Remembered)).version == _VERSION:
            known = read.runs
    found: dict[str, tuple[str, RunSummary]] = {}
    for folder in sorted(one.parent for one in results.glob("*/manifest.json")):
        stamp = _stamp(folder)
        if known.get(folder.name, ("",))[0] == stamp:
            found[folder.name] = known[folder.name]
        else:
            found[folder.name] = stamp, summarize(RunDir(folder))
    if found != known:
        with suppress(StoreError):  # A folder that is only read has no memory.
            write_json(path, _Remembered(version=_VERSION, runs=found))
    return sorted((one for _, one in found.values()), key=lambda one: one.created_at, reverse=True)


def _stamp(folder: Path) -> str:
    start = len(str(folder))
    return short_digest([[path[start:], *state] for path, *state in file_stamp(folder)])


def summarize(run: RunDir) -> RunSummary:
    """The summary of one run; one that is damaged has its id, its size, and what could be read."""
    found: dict[str, Any] = {"run_id": run.path.name}
    try:
        found["bytes"] = bytes_of(run.path)
        manifest = run.manifest()
        prefix, dashes, _ = manifest.run_id.partition("--")
        generator = manifest.model("generator") if manifest.has_generator else {}
        found |= RunSummary(
            run_id=run.path.name,
            name=manifest.name,
            tags=run.name_and_tags().tags,
            created_at=manifest.created_at,
            dataset=prefix if dashes else dataset_name(manifest),
            system=str(manifest.system.get("name", "")),
            model=str(generator.get("model") or generator.get("provider") or ""),
            identity={k: v for k, v in manifest.identity.items() if k not in {"dataset", "models", "schema"}},
        ).model_dump(exclude_unset=True)
        found |= _counts(run, manifest)
        found["metric"], found["value"] = _headline(run, manifest)
    except UNREADABLE as error:
        found["damage"] = getattr(error, "what", f"{type(error).__name__}: {error}")
    return RunSummary(**found)


def _counts(run: RunDir, manifest: Manifest) -> dict[str, Any]:
    if done := run.done():
        n_answered, n_failed, n_expected = done.n_ok + done.n_error, done.n_error, done.n_expected
    else:
        statuses = [one.status for one in run.intact_statuses().values()]
        n_answered, n_failed = len(statuses), sum(status != "ok" for status in statuses)
        n_expected = int(manifest.dataset.get("n_queries", 0)) * int(manifest.identity.get("repeats", 1))
    counts = {"n_expected": n_expected, "n_answered": n_answered, "n_failed": n_failed}
    return {"is_finished": done is not None, **counts}


def _headline(run: RunDir, manifest: Manifest) -> tuple[str, float | None]:
    """The metric that ranks the run in a report, and its mean as there; empty if it has no value of any."""
    evaluations = run.evaluations()
    if not evaluations:
        return "", None
    known = known_measures(evaluations)
    # Scores of earlier answers say nothing about those that the run has now.
    current = [one for one in evaluations if one.records in {"", run.records_checksum()}]
    owners = {name: one.evaluator for one in current for name in one.measures}
    frame, lines, ranges = Frame.of(run), run.score_lines(), value_ranges(known)
    wanted = ranking_choice([manifest]).name
    evidence = (name for name, measure in known.items() if measure.ranks_where_answers_cannot)
    for name in filter(owners.__contains__, dict.fromkeys((wanted, *candidates_to_rank(wanted, evidence, known)))):
        paths = tuple(path for path in lines.paths if path.stem == owners[name])
        scores = ScoreColumns.read(frame, ScoreLines(paths, lines.fix), ranges)
        means = {row.query_type: row.mean for row in aggregate_scores(frame, scores.only({name}))}
        natural = means.get(NATURAL)
        if (value := means.get(OVERALL) if natural is None else natural) is not None:
            return name, value
    return "", None
