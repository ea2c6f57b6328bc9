"""Exports runs without what belongs to this machine, and receives exported ones."""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.core.errors import ConfigError, StoreError, explained_io
from harness.core.records import RunRecord, Score
from harness.core.sanitize import without_key_forms, without_keys
from harness.extensions.runs.archive import RUN_ID, changed_by_hand, files_to_export, opened_archive, pack, unpack
from harness.store import RunDir, atomic_files
from harness.store.annotations import read_annotations
from harness.store.run_files import EXTENSION_FILES
from harness.store.run_removal import add_run, changing, refuse_existing, staging
from harness.store.run_rewriting import JsonObject, copied_run, rewrite_run

_PART = r"[^\s/:'\"<>()\[\]{},;|=]"
_PATH = re.compile(rf"(?<![\w.:/~…-])/(?:{_PART}+/)+({_PART}*)")
"""An absolute path within a text, with at least two parts."""
_OF_THE_DATA = {"passages", "doc_ids"}
"""Keys whose values are ids of documents, which may look like paths."""
_PLACES = {"path", "questions", "prices"}
"""Keys of a config whose values are paths."""


def export_runs(runs: Sequence[RunDir], out: Path) -> int:
    """Write the runs into a new file; returns in how many texts a key or an absolute path was shortened.
    ConfigError: the file exists. StoreError: a run is damaged, or a process is writing it.
    """
    if out.exists() or out.is_symlink():
        raise ConfigError(f"{out} exists, and is not overwritten", "name another file with --out")
    cleaning = cleaned_copies(runs)
    with cleaning as (copies, n_changed), explained_io("write", out), atomic_files.open_partial(out) as file:
        partial = Path(file.name)
        try:
            pack(file, copies[0].path.parent)
            partial.replace(out)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    return n_changed


@contextmanager
def cleaned_copies(runs: Sequence[RunDir]) -> Iterator[tuple[list[RunDir], int]]:
    """Copies of these runs in one folder, without what belongs to this machine, and in how many texts a key or an
    absolute path was shortened. StoreError: a run is damaged, or a process is writing it.
    """
    results, cleaner = runs[0].path.parent, _Cleaner()
    with changing(results), staging(results) as folder:
        copies = [_copied(run, folder) for run in runs]
        for copy in copies:
            rewrite_run(copy, cleaner.record, cleaner.score, cleaner.tree)
        yield copies, cleaner.n_changed


def _copied(run: RunDir, folder: Path) -> RunDir:
    with run.exclusive(wait_s=0.0):
        read_whole(run)
        run_id = run.manifest().run_id
        if not re.fullmatch(RUN_ID, run_id, re.ASCII) or (folder / run_id).exists():
            what = f"{run.path} has the id '{run_id}', which another of these runs has, or no run can have"
            raise ConfigError(what, "leave it out")
        return copied_run(run, files_to_export(run.path), folder / run_id)


def read_whole(run: RunDir) -> None:
    """StoreError if anything that a report reads of a run is damaged."""
    objects = (run.manifest, run.index, run.estimate, run.dialects, run.cluster_info, run.race)
    for read in (*objects, run.resources_path):
        read()
    for name in EXTENSION_FILES:
        run.extension_file(name, JsonObject, "delete it, or measure again").read()
    for lines in (run.iter_sample(), run.iter_records(), run.score_lines().batches()):
        deque(lines, maxlen=0)
    read_annotations(run)


class _Cleaner:
    """Shortens absolute paths and masks keys. Questions, documents and answers keep their paths, and what only
    looks like a key: those are data. Keys in the environment are masked in answers too.
    """

    def __init__(self) -> None:
        self.n_changed = 0

    def record(self, text: str) -> RunRecord | None:
        """The record without what is private; None: it has nothing such."""
        if not self._is_private(text):
            return None
        record = RunRecord.model_validate_json(without_keys(text))
        if record.failure:
            failure = record.failure.model_copy(update={"message": self._text(record.failure.message)})
            record = record.model_copy(update={"failure": failure})
        return record

    def score(self, text: str) -> Score | None:
        """As `record`."""
        if not self._is_private(text):
            return None
        score = Score.model_validate_json(without_keys(text))
        if score.status in {"failed", "imputed"}:  # Both quote an error.
            score = score.model_copy(update={"explanation": self._text(score.explanation)})
        return score

    def _is_private(self, text: str) -> bool:
        has_key = without_keys(text) != text
        self.n_changed += has_key
        quotes_error = '"status":"ok"' not in text
        is_told = _PATH.search(text) is not None or (quotes_error and without_key_forms(text) != text)
        return has_key or is_told

    def tree(self, value: Any, key: str = "") -> Any:
        """A JSON value, of this key in its object."""
        if key in _OF_THE_DATA:
            return value
        if isinstance(value, dict):
            return {name: self.tree(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [self.tree(one) for one in value]
        if not isinstance(value, str):
            return value
        if key in _PLACES and value.startswith(("/", "~")):
            # It may have spaces, or one part only.
            self.n_changed += 1
            return f"…/{Path(value).name}"
        return self._text(value)

    def _text(self, text: str) -> str:
        short = _PATH.sub(r"…/\1", without_key_forms(without_keys(text)))
        self.n_changed += short != text
        return short


def receive_runs(file: Path, results: Path) -> list[RunDir]:
    """Add the runs of an exported file to a results folder, all or none. DataError: the file is damaged, changed
    or no export. StoreError: a run of an id exists.
    """
    with opened_archive(file) as (archive, listed):
        for run_id in listed.runs:
            refuse_existing(results, run_id)
        with changing(results), staging(results) as folder:
            for run_id in unpack(file, archive, listed, folder):
                run = RunDir(folder / run_id)
                try:
                    read_whole(run)
                    if run.manifest().run_id != run_id:
                        raise StoreError(f"{run_id} is another run")
                except StoreError as error:
                    raise changed_by_hand(file, error.what.replace(f"{folder}/", "")) from error
            return [add_run(folder / run_id, results) for run_id in listed.runs]
