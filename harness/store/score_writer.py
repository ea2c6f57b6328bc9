"""Writes scores/<evaluator>.jsonl, and the evaluation next to it as .json, with their checksum."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from harness.core.errors import StoreError, explained_io
from harness.core.records import EvaluationRecord, Score
from harness.store import atomic_files

_Key = tuple[str, int, str]


class ScoreWriter:
    """Writes both files of an evaluator. A reader sees the old scores, the new ones, or a checksum error. Scores
    are added in parts, sorted by `score_key` over all parts, and appear only on `close`.
    """

    def __init__(self, folder: Path, evaluator: str) -> None:
        refuse_link(folder)
        self._path = folder / f"{evaluator}.jsonl"
        self._file: BinaryIO | None = None
        self._last: _Key = ("", -1, "")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._file is not None:
            Path(self._file.name).unlink(missing_ok=True)
            # Closing flushes the buffer, which fails again on a full disk.
            with suppress(OSError):
                self._file.close()

    def add(self, scores: Iterable[Score]) -> None:
        """Add the next scores; ValueError if they are not in order."""
        with explained_io("write", self._path):
            file = self._opened()
            for score in scores:
                key = score_key(score)
                if key < self._last:
                    raise ValueError(f"{key} is not after {self._last}")
                self._last = key
                file.write(score.model_dump_json().encode() + b"\n")

    def close(self, evaluation: EvaluationRecord) -> None:
        """Finish both files."""
        with explained_io("write", self._path), self._opened() as file:
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(self._path)
        atomic_files.write_json(self._path.with_suffix(".json"), evaluation, [self._path])

    def _opened(self) -> BinaryIO:
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = atomic_files.open_partial(self._path)
        return self._file


def score_key(score: Score) -> _Key:
    """Sort key of scores in their file."""
    return score.query_id, score.repeat, score.measure


def refuse_link(folder: Path) -> None:
    """Raise StoreError if the folder is a link, because files would be written elsewhere."""
    if folder.is_symlink():
        raise StoreError(
            f"{folder} is a link, and a run writes only in its own folder", "put the folder itself there"
        )
