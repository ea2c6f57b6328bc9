"""scores/<evaluator>.jsonl, and the evaluation that made them next to it as .json, with their checksum.

A report needs the values of a hundred thousand scores, but the explanations of only a few. So a score is
represented by its byte offset, counted over all score files in sequence, until its explanation is needed.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from harness.core.errors import StoreError, explained_io
from harness.core.records import EvaluationRecord, Score
from harness.store import atomic_files, checksums, untrusted_file_reader
from harness.store.checksums import Stamp, stamp_of

ScoreKey = tuple[str, int, str]
"""(query_id, repeat, measure)."""


class ScoreWriter(AbstractContextManager["ScoreWriter"]):
    """Writes both files of an evaluator. A reader sees the old scores, the new ones, or a checksum error. Scores
    are added in parts, sorted by `score_key` over all parts, and appear only on `close`.
    """

    def __init__(self, folder: Path, evaluator: str) -> None:
        refuse_link(folder)
        self._path = folder / f"{evaluator}.jsonl"
        self._file: BinaryIO | None = None
        self._last: ScoreKey = ("", -1, "")

    def __exit__(self, *_: object) -> None:
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


def score_key(score: Score) -> ScoreKey:
    """Sort key of scores in their file."""
    return score.query_id, score.repeat, score.measure


def refuse_link(folder: Path) -> None:
    """StoreError if the folder is a link, because files would be written elsewhere."""
    if folder.is_symlink():
        raise StoreError(
            f"{folder} is a link, and a run writes only in its own folder", "put the folder itself there"
        )


_BATCH_BYTES = 1 << 18
_LIST = TypeAdapter(list[Score])
ScoreLine = Mapping[str, Any]
"""The fields of a `Score` as in its line, not validated again, which would take three times as long."""


class ScoreBatch(NamedTuple):
    """Some scores in file order, with their offsets."""

    places: list[int]
    scores: list[Score]


@dataclass(frozen=True)
class ScoreLines:
    """The scores in some files, which must not change meanwhile."""

    paths: tuple[Path, ...]
    fix: str
    """How to fix a damaged line, for the error."""

    def batches(self) -> Iterator[ScoreBatch]:
        """All scores in batches. StoreError names a damaged or incomplete line."""
        for path, base in zip(self.paths, self._bases[:-1], strict=True):
            for first, starts, lines in _in_batches(path, self.fix):
                yield ScoreBatch([base + start for start in starts], _parsed(lines, path, first, self.fix))

    def at(self, places: Sequence[int]) -> list[ScoreLine]:
        """The scores at these offsets, in file order. StoreError: a file has changed since the first reading."""
        found: list[ScoreLine] = []
        bases = self._bases
        if stamp_of(self.paths) != self._stamp:
            raise StoreError(
                f"the scores in {self.paths[0].parent} were changed while they were read",
                "run the same command again",
            )
        wanted = iter(sorted(places))
        place = next(wanted, None)
        for path, base, end in zip(self.paths, bases[:-1], bases[1:], strict=True):
            if place is None or place >= end:
                continue
            lines, at = [], -1
            with untrusted_file_reader.opened(path, self.fix) as file:
                while place is not None and place < end:
                    if at != place - base:
                        file.seek(at := place - base)
                    lines.append(line := file.readline(untrusted_file_reader.LONGEST_LINE))
                    at += len(line)
                    place = next(wanted, None)
            try:
                found += from_json(b"[" + b",".join(lines) + b"]")
            except ValueError as error:
                raise StoreError(f"{path} is damaged ({error})", self.fix) from error
        return found

    @cached_property
    def _stamp(self) -> Stamp:
        return stamp_of(self.paths)

    @cached_property
    def _bases(self) -> list[int]:
        """Offset of each file, and at the end the total size."""
        sizes = (size for _, _, size, _ in self._stamp)
        return list(accumulate(sizes, initial=0))


def _in_batches(path: Path, fix: str) -> Iterator[tuple[int, list[int], list[bytes]]]:
    """Number of the first line, byte offsets, and lines of each batch."""
    if not path.exists():
        return
    first, at, starts, lines = 1, 0, list[int](), list[bytes]()
    for line in untrusted_file_reader.lines(path, fix):
        starts.append(at)
        lines.append(line)
        at += len(line)
        if at - starts[0] > _BATCH_BYTES:
            yield first, starts, lines
            first, starts, lines = first + len(lines), [], []
    if lines:
        yield first, starts, lines


def _parsed(lines: Sequence[bytes], path: Path, first: int, fix: str) -> list[Score]:
    """Parse all lines as one JSON list, which is faster; line by line if that does not give one score per line. A
    score has neither nested objects nor line breaks, so lines that begin and end like an object are one each.
    """
    whole = b"".join(lines)
    if whole.startswith(b"{") and whole.endswith(b"}\n") and whole.count(b"}\n{") == len(lines) - 1:
        try:
            found = _LIST.validate_json(b"[" + whole.replace(b"}\n{", b"}\n,{") + b"]")
            if len(found) == len(lines):
                return found
        except ValidationError:
            pass
    return [
        atomic_files.record_of_line(line, Score, f"{path} line {number}", fix)
        for number, line in enumerate(lines, first)
    ]


def read_evaluations(folder: Path, fix: str, *, with_scores: bool = False) -> list[EvaluationRecord]:
    """The evaluations by name; StoreError with `fix` if one is damaged. `with_scores`: or its scores are."""
    found = []
    orphans = set(folder.glob("*.jsonl"))
    for path in sorted(folder.glob("*.json")):
        evaluation, closes = atomic_files.read_closing(path, EvaluationRecord, fix)
        if evaluation.evaluator != path.stem:
            raise StoreError(f"{path} belongs to the evaluator '{evaluation.evaluator}'", fix)
        if with_scores:
            checksums.check_closed(path.with_suffix(".jsonl"), closes, path.name, fix)
        orphans.discard(path.with_suffix(".jsonl"))
        found.append(evaluation)
    if orphans:
        raise StoreError(f"{min(orphans)} has no evaluation file (.json)", fix)
    return found


def score_lines(folder: Path, fix: str) -> ScoreLines:
    """All scores; StoreError with `fix` if a file does not match its checksum."""
    evaluations = read_evaluations(folder, fix, with_scores=True)
    return ScoreLines(tuple(folder / f"{one.evaluator}.jsonl" for one in evaluations), fix)
