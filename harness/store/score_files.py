"""scores/<evaluator>.jsonl, and beside it as .json what made them, which closes it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.errors import StoreError
from harness.records import EvaluationRecord, Score
from harness.store import files, seals
from harness.store.seals import FileSeal


@dataclass(frozen=True)
class ScoreFile:
    """The scores of one evaluator."""

    path: Path
    evaluation: EvaluationRecord
    closes: Mapping[str, FileSeal] | None


def write_scores(folder: Path, evaluation: EvaluationRecord, scores: Iterable[Score]) -> None:
    """Write both files; a reader sees old scores, new ones, or that the two do not fit."""
    refuse_link(folder)
    ordered = sorted(scores, key=lambda score: (score.query_id, score.repeat, score.measure))
    path = folder / f"{evaluation.evaluator}.jsonl"
    files.write_jsonl(path, ordered)
    files.write_json(path.with_suffix(".json"), evaluation, [path])


def refuse_link(folder: Path) -> None:
    """Raise StoreError where what is written to this folder would land elsewhere."""
    if folder.is_symlink():
        raise StoreError(
            f"{folder} is a link, and a run writes in its own folder alone", "put the folder itself there"
        )


def read_evaluations(folder: Path, fix: str) -> list[ScoreFile]:
    """What made the scores, by the evaluator's name; damage is one `StoreError` line with `fix`."""
    found = []
    for path in sorted(folder.glob("*.json")):
        evaluation, closes = files.read_closing(path, EvaluationRecord, fix)
        if evaluation.evaluator != path.stem:
            raise StoreError(f"{path} is of the evaluator '{evaluation.evaluator}'", fix)
        found.append(ScoreFile(path.with_suffix(".jsonl"), evaluation, closes))
    orphans = set(folder.glob("*.jsonl")) - {one.path for one in found}
    # The first version wrote scores alone.
    if found and orphans:
        raise StoreError(f"{min(orphans)} stands there without what made it", fix)
    return found


def read_scores(folder: Path, fix: str) -> Iterator[Score]:
    """Every score; a file that is not what its evaluation closed is one `StoreError` line with `fix`."""
    known = set()
    for one in read_evaluations(folder, fix):
        known.add(one.path)
        if one.closes is not None:
            seals.check_closed(one.path, one.closes, one.path.with_suffix(".json").name, fix)
        elif one.evaluation.measures and not (one.path.exists() and one.path.stat().st_size):
            raise StoreError(f"{one.path} holds no score, and {one.evaluation.evaluator} has scored the run", fix)
    for path in sorted(known | set(folder.glob("*.jsonl"))):
        yield from files.iter_jsonl(path, Score, fix)
