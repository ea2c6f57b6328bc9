"""Imports answers that were produced elsewhere as a run.

All rows are checked before anything is written. If writing is interrupted, the run has no done.json, and the same
import resumes it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.config import OWN_DOCUMENTS, BenchConfig, DatasetConfig
from harness.core.errors import ConfigError
from harness.core.records import RunRecord
from harness.datasets import Dataset, select_queries
from harness.datasets.column_names import QUESTION_FILE
from harness.datasets.folder.dataset import questions_alone
from harness.evaluators import given_score
from harness.registry import EVALUATORS
from harness.runner.dataset_loading import load_whole
from harness.runner.importing.answer_file import FIELDS, quoted, read_file
from harness.runner.importing.imported_run import ImportedRun, ImportRequest
from harness.runner.importing.query_matching import match_rows
from harness.store import Done, RunDir, sample_rows
from harness.store.index_dir import Corpora

_LABEL = r"[a-z0-9][a-z0-9._-]{0,63}"


@dataclass(frozen=True)
class ImportResult:
    run: RunDir
    was_complete: bool
    """The run was already finished, and nothing was written."""
    n_answers: int
    n_failed: int
    """Number of failed queries: without an answer, or with an error."""
    notes: tuple[str, ...]
    mended: tuple[str, ...] = ()
    """A line for each damaged file that was repaired."""


def import_run(request: ImportRequest, results: Path) -> ImportResult:
    """Write a run of these answers to `results`.

    A finished run is not changed. ConfigError or DataError for input that cannot be imported.
    """
    model, evaluators = _check_words(request)
    if request.like:
        _check_shared(request, request.like)
    file = read_file(request.file, fields=_split(request)[0], where=request.where)
    whole = _dataset_of(request.like) if request.like else _load(request, file.tool)
    matched = match_rows(
        file.rows,
        whole.queries,
        holder=request.like.run_id if request.like else whole.name,
        leave_out_unknown=request.skip_unknown or request.like is not None,
    )
    dataset = select_queries(whole, matched.query_ids) if request.only_answered else whole
    if not request.evaluators and any(row.reported_score is not None for row in file.rows):
        evaluators = (*evaluators, given_score.SPEC.name)
    imported = ImportedRun(request, file, matched, whole, dataset)
    manifest = imported.manifest(model, evaluators)
    repairs: list[str] = []
    run = RunDir.create(results, manifest, sample_rows(dataset.queries, dataset.references), repairs.append)
    records = list(imported.records(manifest.created_at))
    was_complete = _write(run, records, repairs)
    n_failed = sum(record.status != "ok" for record in records)
    notes = (*manifest.notes, *file.notes, *(() if request.like else dataset.notes))
    return ImportResult(run, was_complete, len(matched.rows), n_failed, notes, tuple(repairs))


def _check_words(request: ImportRequest) -> tuple[dict[str, str], tuple[str, ...]]:
    """The identity of the generator, and the evaluators, checked before any file is read."""
    if not re.fullmatch(_LABEL, request.label):
        wanted = "letters a-z, digits, '.', '_' and '-', at most 64, a letter or digit first"
        raise ConfigError(f"--name {quoted(request.label)} cannot be part of a run id", f"use {wanted}")
    for name in request.evaluators:
        EVALUATORS.load(name)
    if request.model is None:
        model = {"provider": "imported", "model": request.label}
    else:
        provider, _, name = request.model.partition("/")
        if not provider or not name or provider == "none":
            raise ConfigError(
                f"--model {quoted(request.model)} is not a model", "write PROVIDER/NAME: openai/gpt-4o-mini"
            )
        model = {"provider": provider, "model": name}
    return model, request.evaluators or BenchConfig().evaluators


def _check_shared(request: ImportRequest, like: RunDir) -> None:
    """ConfigError for options that contradict the data set and sample of the run `like`."""
    if request.only_answered:
        raise ConfigError(f"--like {like.run_id} defines the sample", "drop --only-answered")
    for option in ("docs", "questions"):
        if getattr(request, option) is not None:
            raise ConfigError(f"--like {like.run_id} defines queries and documents", f"drop --{option}")
    shared = like.manifest().dataset
    for option, wanted in (("dataset", request.dataset), ("subset", request.subset)):
        own = shared["name" if option == "dataset" else option]
        if wanted not in (None, own):
            raise ConfigError(
                f"--like {like.run_id} has the {option} '{own}', not {quoted(str(wanted))}", f"drop --{option}"
            )


def _split(request: ImportRequest) -> tuple[dict[str, str], dict[str, str]]:
    """The columns that the user names: those of the answers, and those of the question file."""
    asked = set(QUESTION_FILE) - set(FIELDS) if request.questions else set()
    return (
        {field: name for field, name in request.fields.items() if field not in asked},
        {field: name for field, name in request.fields.items() if field in asked},
    )


def _load(request: ImportRequest, tool: str) -> Dataset:
    """`tool`: whose result file it is, and so also a question file."""
    name = request.dataset or (OWN_DOCUMENTS if request.docs else None)
    if name is None and tool:
        named = (
            {"question": request.fields["query"]} if "query" in request.fields and not request.questions else {}
        )
        return questions_alone(request.questions or request.file, tool, {**named, **_split(request)[1]})
    if name is None:
        ways = "add --docs FOLDER" if request.questions else "add --dataset NAME, or --like RUN to use that run's"
        raise ConfigError("no data set is given", ways)
    options = {"include": request.include, "fields": _split(request)[1]}
    keys = {
        "name": name,
        "subset": request.subset,
        "path": request.docs,
        "questions": request.questions,
        "options": {option: value for option, value in options.items() if value},
    }
    return load_whole(DatasetConfig.model_validate(keys))


def _dataset_of(run: RunDir) -> Dataset:
    """The data set of the run; without documents if its corpus is no longer stored."""
    manifest, sample = run.manifest(), run.sample()
    described = manifest.dataset
    corpus = Corpora(run.path.parent).documents(str(described.get("corpus_digest")))
    return Dataset(
        name=described["name"],
        subset=described["subset"],
        documents=tuple(corpus),
        queries=tuple(row.query for row in sample),
        references=tuple(row.reference for row in sample),
        type_mix=dict(described.get("type_mix") or {}),
        notes=tuple(described.get("notes") or ()),
        digest=described["digest"],
    )


def _write(run: RunDir, records: Sequence[RunRecord], mended: list[str]) -> bool:
    """Write the missing records and done.json. True if done.json existed before. Repairs are added to `mended`."""
    with run.exclusive():
        mended += run.remove_damaged()
        if run.done():
            return True
        existing = run.latest_attempts()
        for record in records:
            if (record.query_id, record.repeat) not in existing:
                run.append_record(record)
        n_ok, now = sum(record.status == "ok" for record in records), datetime.now(UTC).isoformat()
        run.mark_done(Done(n_expected=len(records), n_ok=n_ok, n_error=len(records) - n_ok, finished_at=now))
        return False
