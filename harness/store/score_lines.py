"""The scores of one run: some at a time, and any of them again by where it stands.

A report needs the numbers of a hundred thousand scores, and the words of those that somebody may look at. So a
score has a place, the byte at which its line begins in all files of scores one after another: eight bytes that
stand for it until its words are wanted.
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
from harness.store import atomic_files, safe_open
from harness.store.stat_cache import Stamp, stamp_of

_BATCH_BYTES = 1 << 18
_LIST = TypeAdapter(list[Score])


ScoreLine = Mapping[str, Any]
"""The fields of a `Score` as its line has them, those that have their default left out or not. What was checked
when it was read, and stands there as it did, is not checked again: that takes a third of the time.
"""


class ScoreBatch(NamedTuple):
    """Some scores in the order in which they stand."""

    places: list[int]
    scores: list[Score]


@dataclass(frozen=True)
class ScoreLines:
    """Of some files, which nobody changes meanwhile."""

    paths: tuple[Path, ...]
    fix: str
    """The way out where a line is damaged."""

    def batches(self) -> Iterator[ScoreBatch]:
        """All of them. Damage is one `StoreError` line that names it, a last line without its end included."""
        for path, base in zip(self.paths, self._bases[:-1], strict=True):
            for first, starts, lines in _in_batches(path, self.fix):
                places = [base + start for start in starts]
                yield ScoreBatch(places, _parsed(lines, (path, first, self.fix)))

    def at(self, places: Sequence[int]) -> list[ScoreLine]:
        """Those that begin there, in the order of the files; StoreError where a file was changed since places were
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
            with safe_open.opened(path, self.fix) as file:
                while place is not None and place < end:
                    if at != place - base:
                        file.seek(at := place - base)
                    lines.append(line := file.readline(safe_open.LONGEST_LINE))
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
        """What tells the files from themselves after a change."""
        return stamp_of(self.paths)

    @cached_property
    def _bases(self) -> list[int]:
        """Where each file begins, and at last where all of them end."""
        sizes = (size for _, _, size, _ in self._stamp)
        return list(accumulate(sizes, initial=0))


def _in_batches(path: Path, fix: str) -> Iterator[tuple[int, list[int], list[bytes]]]:
    """The number of the first line, where each of them begins, and the lines."""
    if not path.exists():
        return
    first, at, starts, lines = 1, 0, list[int](), list[bytes]()
    for line in safe_open.lines(path, fix):
        starts.append(at)
        lines.append(line)
        at += len(line)
        if at - starts[0] > _BATCH_BYTES:
            yield first, starts, lines
            first, starts, lines = first + len(lines), [], []
    if lines:
        yield first, starts, lines


def _parsed(lines: Sequence[bytes], where: tuple[Path, int, str]) -> list[Score]:
    """All lines as one list, which takes less time than each by itself; each by itself where that is not exactly
    as many scores. A score holds no other object and no text that goes on in the next line, so that lines which
    begin and end as one are one each.
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
        raise StoreError(f"{where} is torn", fix)
    try:
        return Score.model_validate_json(line)
    except ValidationError as error:
        raise StoreError(f"{where} is damaged ({atomic_files.first_error(error)})", fix) from error
