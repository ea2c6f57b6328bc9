"""scores/<evaluator>.jsonl, and the evaluation that made them next to it as .json, with their checksum."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import StoreError
from harness.core.records import EvaluationRecord
from harness.store import atomic_files, checksums
from harness.store.checksums import FileSeal
from harness.store.score_lines import ScoreLines


@dataclass(frozen=True)
class ScoreFile:
    """The scores of one evaluator."""

    path: Path
    evaluation: EvaluationRecord
    closes: Mapping[str, FileSeal] | None


def read_evaluations(folder: Path, fix: str) -> list[ScoreFile]:
    """The evaluations with their score files, by evaluator name; StoreError with `fix` if one is damaged."""
    found = []
    for path in sorted(folder.glob("*.json")):
        evaluation, closes = atomic_files.read_closing(path, EvaluationRecord, fix)
        if evaluation.evaluator != path.stem:
            raise StoreError(f"{path} belongs to the evaluator '{evaluation.evaluator}'", fix)
        found.append(ScoreFile(path.with_suffix(".jsonl"), evaluation, closes))
    orphans = set(folder.glob("*.jsonl")) - {one.path for one in found}
    # The first version wrote scores without an evaluation.
    if found and orphans:
        raise StoreError(f"{min(orphans)} has no evaluation file (.json)", fix)
    return found


def score_lines(folder: Path, fix: str) -> ScoreLines:
    """All scores; StoreError with `fix` if a file does not match its checksum."""
    known = set()
    for one in read_evaluations(folder, fix):
        known.add(one.path)
        if one.closes is not None:
            checksums.check_closed(one.path, one.closes, one.path.with_suffix(".json").name, fix)
        elif one.evaluation.measures and not (one.path.exists() and one.path.stat().st_size):
            raise StoreError(
                f"{one.path} has no scores, although {one.evaluation.evaluator} has scored the run", fix
            )
    return ScoreLines(tuple(sorted(known | set(folder.glob("*.jsonl")))), fix)
