"""Copies a run, and changes texts in a copy, whose checksums are renewed."""

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pydantic import RootModel

from harness.core.hashing import file_digest
from harness.core.records import RunRecord, Score
from harness.store import atomic_files, checksums, untrusted_file_reader
from harness.store.record_lines import with_check, without_check
from harness.store.run_dir import RunDir
from harness.store.run_files import SCORES, RunFile

Fields = dict[str, Any]


class JsonObject(RootModel[Fields]):
    """Any JSON object."""


def copied_run(run: RunDir, files: Iterable[Path], target: Path) -> RunDir:
    """A copy with these files of the run. Hold the lock of the run."""
    for path in files:
        place = target / path.relative_to(run.path)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    return RunDir(target)


def rewrite_run(
    run: RunDir,
    record: Callable[[str], RunRecord | None],
    score: Callable[[str], Score | None],
    fields: Callable[[Fields], Fields],
) -> None:
    """Replace records and scores, each given as JSON, and the content of every JSON file. None: it stays.

    Only for an undamaged run that nobody else uses: a crash leaves checksums that do not match.
    """
    run_id, old_records = run.manifest().run_id, run.records_checksum()

    def record_line(line: bytes) -> bytes:
        new = record(without_check(line, lambda: run_id).decode())
        return line if new is None else with_check(new, run_id)

    def score_line(line: bytes) -> bytes:
        new = score(line.decode())
        return line if new is None else new.model_dump_json().encode() + b"\n"

    records = run.path / RunFile.RECORDS
    if records.exists():
        _rewrite_lines(records, record_line)
    for path in sorted(run.path.glob(f"{SCORES}/*.jsonl")):
        _rewrite_lines(path, score_line)
    new_records = file_digest(records) if old_records else ""

    def evaluation(tree: Fields) -> Fields:
        is_of_these = tree.get("records") == old_records
        return {**fields(tree), **({"records": new_records} if is_of_these else {})}

    for path in sorted(run.path.glob(f"{SCORES}/*.json")):
        _rewrite_object(path, evaluation)
    # done.json has the checksums of the others.
    for path in sorted(run.path.glob("*.json"), key=lambda one: one.name == RunFile.DONE):
        _rewrite_object(path, fields)


def _rewrite_lines(path: Path, change: Callable[[bytes], bytes]) -> None:
    # A run that was killed may end with a part of a line.
    old = [line for line in untrusted_file_reader.lines(path, "") if line.endswith(b"\n")]
    new = [change(line) for line in old]
    if new != old:
        atomic_files.write_atomic_bytes(path, b"".join(new))


def _rewrite_object(path: Path, change: Callable[[Fields], Fields]) -> None:
    text = untrusted_file_reader.text(path, "")
    tree, closed = checksums.opened(path, atomic_files.read_object(path), "")
    new = checksums.sealed(JsonObject(change(tree)), [path.with_name(name) for name in closed])
    if new != text:
        atomic_files.write_atomic(path, new)
