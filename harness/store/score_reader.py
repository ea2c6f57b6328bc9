"""The scores of a run, read in batches, and again individually by byte offset.

A report needs the values of a hundred thousand scores, but the explanations of only a few. So a score is
represented by its offset, counted over all score files in sequence, until its explanation is needed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from harness.core.errors import StoreError
from harness.core.records import Score
from harness.store import atomic_files, untrusted_file_reader
from harness.store.stat_cache import Stamp, stamp_of

_BATCH_BYTES = 1 << 18
_LIST = TypeAdapter(list[Score])


ScoreLine = Mapping[str, Any]
"""The fields of a `Score` as in its line, with or without defaults. A line that was validated before and has not
changed is not validated again, which would take three times as long."""


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
                places = [base + start for start in starts]
                yield ScoreBatch(places, _parsed(lines, (path, first, self.fix)))

    def at(self, places: Sequence[int]) -> list[ScoreLine]:
        """The scores at these offsets, in file order; StoreError if a file has changed since the offsets were
        given.
        """
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
            found += self._read_again(lines, path)
        return found

    def _read_again(self, lines: Sequence[bytes], path: Path) -> list[ScoreLine]:
        try:
            rows: list[ScoreLine] = from_json(b"[" + b",".join(lines) + b"]")
        except ValueError as error:
            raise StoreError(f"{path} is damaged ({error})", self.fix) from error
        return rows

    @cached_property
    def _stamp(self) -> Stamp:
        """The state of the files, to detect changes."""
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


def _parsed(lines: Sequence[bytes], where: tuple[Path, int, str]) -> list[Score]:
    """Parse all lines as one JSON list, which is faster; line by line if that does not give exactly one score per
    line. A score contains neither nested objects nor line breaks, so lines that begin and end like an object are
    one object each.
    """
    whole = b"".join(lines)
    if whole.startswith(b"{") and whole.endswith(b"}\n") and whole.count(b"}\n{") == len(lines) - 1:
        try:
            found = _LIST.validate_json(b"[" + whole.replace(b"}\n{", b"}\n,{") + b"]")
            if len(found) == len(lines):
                return found
        except ValidationError:
            pass
    path, first, fix = where
    return [_one(line, f"{path} line {number}", fix) for number, line in enumerate(lines, first)]


def _one(line: bytes, where: str, fix: str) -> Score:
    if not line.endswith(b"\n"):
        raise StoreError(f"{where} is incomplete", fix)
    try:
        return Score.model_validate_json(line)
    except ValidationError as error:
        raise StoreError(f"{where} is damaged ({atomic_files.first_error(error)})", fix) from error
