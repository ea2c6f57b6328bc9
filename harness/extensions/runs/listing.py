"""The list of runs. What it says of a run is remembered until a file of the run changes, so that hundreds are
listed in seconds.
"""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import Field
from rich.cells import cell_len
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from harness import __version__
from harness.core.bounded_files import file_stamp
from harness.core.errors import StoreError
from harness.core.hashing import short_digest
from harness.core.records import Record
from harness.display import NOTHING, counted, number, printable
from harness.extensions.runs.removing import UNREADABLE, bytes_of
from harness.report.labels import dataset_name
from harness.report.measures import candidates_to_rank, known_measures, ranking_choice, value_ranges
from harness.report.terminal import plain
from harness.report.verdict.standings import rows_with_missing
from harness.statistics.aggregate import aggregate_scores
from harness.statistics.columnar_scores import ScoreColumns
from harness.statistics.query_values import scored_values
from harness.statistics.run_frame import NATURAL, OVERALL, Aggregate, Frame
from harness.store import Manifest, RunDir
from harness.store.atomic_files import read_json, write_json
from harness.store.run_labels import parameter_labels, without_shared_answers
from harness.store.run_lookup import short_names
from harness.store.run_removal import own_folder
from harness.store.score_files import ScoreLines

_VERSION = f"{__version__}-2"
"""Increase it when a summary says something else about the same files."""
_GAP = 1
_LONGEST = {"run": 26, "data set": 12, "model": 10, "tags": 10}
"""In characters, where the console is too narrow for all; the system, with its parameters, has what is left."""
_LEAST_SYSTEM = 8


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
    candidates = dict.fromkeys((wanted, *candidates_to_rank(wanted, evidence, known)))
    read: dict[str, ScoreColumns] = {}
    for name in filter(owners.__contains__, candidates):
        owner = owners[name]
        if owner not in read:
            paths = tuple(path for path in lines.paths if path.stem == owner)
            read[owner] = ScoreColumns.read(frame, ScoreLines(paths, lines.fix), ranges)
        scores = read[owner].only({name})
        rows: Sequence[Aggregate] = aggregate_scores(frame, scores)
        if any(row.n_failed for row in rows):
            rows = rows_with_missing(frame, name, scored_values(frame, scores)[name], known) or rows
        means = {row.query_type: row.mean for row in rows}
        natural = means.get(NATURAL)
        if (value := means.get(OVERALL) if natural is None else natural) is not None:
            return name, value
    return "", None


def print_json(summaries: Sequence[RunSummary], console: Console) -> None:
    """`label`: the system with the parameters that vary among these runs over its data set."""
    rows = [{**one.model_dump(), "label": label} for one, label in zip(summaries, _labels(summaries), strict=True)]
    console.print(json.dumps(rows, indent=2), soft_wrap=True)


def print_list(summaries: Sequence[RunSummary], console: Console) -> None:
    """A line for each run. What all of them share is said once, above."""
    shared, columns = _columns(summaries)
    if shared:
        console.print(plain(", ".join(f"{title}: {value}" for title, value in shared.items())), soft_wrap=True)
    titles, rows = list(columns), [list(map(printable, row)) for row in zip(*columns.values(), strict=True)]
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    for place, (title, wide) in enumerate(zip(titles, _widths(titles, rows, console.width), strict=True)):
        is_text = title in {*_LONGEST, "date", "system"}
        table.add_column(title, width=wide, overflow="fold", justify="left" if is_text else "right")
        if title != "system":  # All of its parameters are shown, on several lines if need be.
            for row in rows:
                row[place] = printable(row[place], wide)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
    total = f"{counted(len(summaries), 'run')}, {decimal(sum(one.bytes for one in summaries), precision=0)}"
    console.print(plain(f"{total} without indexes", "dim"), soft_wrap=True)
    for one in summaries:
        if one.damage:
            console.print(plain(f"! {one.run_id} is damaged: {one.damage}", "yellow"), soft_wrap=True)


def _columns(summaries: Sequence[RunSummary]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Title -> value of what all runs share, and title -> the values of the others."""
    years = {one.created_at[:4] for one in summaries if not one.damage}
    # The metric of most runs needs no mark.
    metrics = [name for name, _ in Counter(one.metric for one in summaries if one.metric).most_common()]
    marks = {name: "*" * place for place, name in enumerate(metrics)}

    scores = [NOTHING if one.value is None else f"{number(one.value)}{marks[one.metric]}" for one in summaries]
    columns = {
        "date": [_day(one.created_at, with_year=len(years) > 1) for one in summaries],
        "run": short_names([(one.run_id, one.name) for one in summaries]),
        "data set": [one.dataset for one in summaries],
        "system": [
            "damaged" if one.damage else label for one, label in zip(summaries, _labels(summaries), strict=True)
        ],
        "model": [one.model or NOTHING for one in summaries],
        "tags": [" ".join(one.tags) for one in summaries],
        "n": [f"{one.n_answered}/{one.n_expected}" for one in summaries],
        "failed": [str(one.n_failed) for one in summaries],
        "score": scores,
        "size": [decimal(one.bytes, precision=0) for one in summaries],
    }
    alike = [title for title in ("data set", "model") if len({*columns[title]}) == 1 and len(summaries) > 1]
    same = {title: columns[title][0] for title in alike}
    has = {"tags": any(one.tags for one in summaries), "failed": any(one.n_failed for one in summaries)}
    shown = {title: column for title, column in columns.items() if title not in same and has.get(title, True)}
    named = [f"{name} where marked {marks[name]}" if marks[name] else name for name in metrics]
    scored = {"score": " or ".join(named)} if named else {}
    return {**same, **scored}, shown


def _labels(summaries: Sequence[RunSummary]) -> list[str]:
    """The system of each run with as few parameters as tell it from the others over its data set."""
    groups: dict[str, list[int]] = {}
    for place, one in enumerate(summaries):
        groups.setdefault(one.dataset, []).append(place)
    found = [""] * len(summaries)
    for places in groups.values():
        labels = parameter_labels(without_shared_answers([summaries[place].identity for place in places]))
        for place, label in zip(places, labels, strict=True):
            found[place] = label
    return found


def _day(moment: str, *, with_year: bool) -> str:
    try:
        return datetime.fromisoformat(moment).strftime("%d %b %Y" if with_year else "%d %b").lstrip("0")
    except ValueError:
        return moment[:10] or NOTHING


def _widths(titles: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[int]:
    widths = [
        max(map(cell_len, (title, *column))) for title, column in zip(titles, zip(*rows, strict=True), strict=True)
    ]
    if sum(widths) + _GAP * len(widths) > width:
        widths = [min(wide, _LONGEST.get(title, wide)) for title, wide in zip(titles, widths, strict=True)]
    place = titles.index("system")
    left = width - sum(widths) + widths[place] - _GAP * len(widths)
    widths[place] = max(_LEAST_SYSTEM, min(widths[place], left))
    return widths
