"""scores/<evaluator>.jsonl, and the evaluation that made them next to it as .json, with their checksum."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import StoreError
from harness.core.records import EvaluationRecord
from harness.store import atomic_files, checksums
from harness.store.checksums import FileChecksum
from harness.store.score_reader import ScoreLines


@dataclass(frozen=True)
class ScoreFile:
    """The scores of one evaluator."""

    path: Path
    evaluation: EvaluationRecord
    closes: Mapping[str, FileChecksum]


def read_evaluations(folder: Path, fix: str) -> list[ScoreFile]:
    """The evaluations with their score files, by evaluator name; StoreError with `fix` if one is damaged."""
    found = []
    for path in sorted(folder.glob("*.json")):
        evaluation, closes = atomic_files.read_closing(path, EvaluationRecord, fix)
        if evaluation.evaluator != path.stem:
            raise StoreError(f"{path} belongs to the evaluator '{evaluation.evaluator}'", fix)
        found.append(ScoreFile(path.with_suffix(".jsonl"), evaluation, closes))
    orphans = set(folder.glob("*.jsonl")) - {one.path for one in found}
    if orphans:
        raise StoreError(f"{min(orphans)} has no evaluation file (.json)", fix)
    return found


def score_lines(folder: Path, fix: str) -> ScoreLines:
    """All scores; StoreError with `fix` if a file does not match its checksum."""
    files = read_evaluations(folder, fix)
    for one in files:
        checksums.check_closed(one.path, one.closes, one.path.with_suffix(".json").name, fix)
    return ScoreLines(tuple(one.path for one in files), fix)
