"""annotations/<annotator>.jsonl in a run directory: human labels of its answers; and votes.jsonl in a results
folder: human preferences between the answers of two runs.

There is one file of labels per person, so that several people can work at once, even during an evaluation. Each
line has a checksum and is written to disk before it counts. The next writer cuts a torn last line; other damage is
an error. No checksum of the run covers these files, because they may be added years later.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import ValidationError

from harness.core.errors import ConfigError, StoreError
from harness.core.records import Annotation, Record
from harness.store import atomic_files, lock, untrusted_file_reader
from harness.store.record_lines import with_check, without_check
from harness.store.run_dir import RunDir
from harness.store.run_files import ANNOTATIONS
from harness.store.score_files import refuse_link

_VOTES = "votes.jsonl"
_FIX = "restore the file, or delete that line: only its label is lost"
Said = tuple[str, str, str | None]
"""(query_id, annotator, dimension)."""
R = TypeVar("R", bound=Record)


class Preference(Record):
    """A vote between the answers of two runs to one question, cast before the runs were named: a line of
    votes.jsonl.
    """

    question: str
    run_a: str
    run_b: str
    answer_a: str
    answer_b: str
    choice: Literal["a", "b", "tie"]
    """The better answer."""
    at: str
    """UTC, ISO 8601."""


def read_annotations(run: RunDir) -> list[Annotation]:
    """The latest annotations, sorted by annotator and query. StoreError if a file is damaged."""
    folder = run.path / ANNOTATIONS
    found = [one for path in sorted(folder.glob("*.jsonl")) for one in _lines(path, Annotation, _run_id(run))]
    return counting_annotations(found)


def counting_annotations(found: Iterable[Annotation]) -> list[Annotation]:
    """The last annotation for each answer, annotator and dimension, without removed ones, sorted by annotator."""
    last: dict[tuple[str, Said], Annotation] = {
        (one.run, (one.query_id, one.annotator, one.dimension)): one for one in found
    }
    kept = [one for one in last.values() if one.label is not None or one.cannot_tell or one.note]
    return sorted(kept, key=lambda one: (one.run, one.annotator, one.query_id, one.dimension or ""))


class AnnotationLog:
    """Appends the annotations of one person for one run. Created by `opened_annotations`."""

    def __init__(self, run: RunDir, annotator: str) -> None:
        self.run_id = _run_id(run)
        self._path = _path(run, annotator)

    def append(self, annotations: Iterable[Annotation]) -> None:
        """Append annotations; they are on disk when this returns."""
        lines = b"".join(with_check(one, self.run_id) for one in annotations)
        if lines:
            atomic_files.append_bytes(self._path, lines)


@contextmanager
def opened_annotations(run: RunDir, annotator: str) -> Iterator[AnnotationLog]:
    """Open the log exclusively and cut a torn last line. StoreError: another process has it open."""
    path = _path(run, annotator)
    refuse_link(path.parent)
    with lock.exclusive(path.with_name(f".{path.stem}.lock"), wait_s=0.2):
        atomic_files.repair_tail(path)
        yield AnnotationLog(run, annotator)


def append_preference(results: Path, vote: Preference) -> None:
    """Append a vote, which is on disk when this returns. Other processes may append to the same file."""
    path = results / _VOTES
    refuse_link(path)
    with lock.exclusive(results / f".{path.stem}.lock", wait_s=5.0):
        atomic_files.repair_tail(path)
        atomic_files.append_bytes(path, with_check(vote, _VOTES))


def read_preferences(results: Path) -> list[Preference]:
    """The votes in a results folder. Of several on the same question and runs the last one counts: asking again
    is no further evidence. StoreError if the file is damaged.
    """
    path = results / _VOTES
    last: dict[tuple[str, frozenset[str]], Preference] = {}
    for vote in _lines(path, Preference, _VOTES) if path.exists() else ():
        # Other spacing or punctuation makes no other question.
        last[" ".join(re.findall(r"\w+", vote.question.casefold())), frozenset((vote.run_a, vote.run_b))] = vote
    return list(last.values())


def _path(run: RunDir, annotator: str) -> Path:
    try:
        Annotation(query_id="", run="", annotator=annotator, dimension=None)
    except ValidationError as error:
        raise ConfigError(
            f"--annotator {annotator[:60]!r} cannot be a file name",
            "use at most 60 letters, digits, '.', '_' and '-', e.g. --annotator ada",
        ) from error
    return run.path / ANNOTATIONS / f"{annotator}.jsonl"


def _lines(path: Path, kind: type[R], of: str) -> Iterator[R]:
    """The records of a file whose checksums are made with `of`, without a torn last line."""
    for number, line in enumerate(untrusted_file_reader.lines(path, _FIX), start=1):
        if not line.endswith(b"\n"):
            return
        try:
            one = kind.model_validate_json(without_check(line, lambda: of))
            if isinstance(one, Annotation) and (one.run, one.annotator) != (of, path.stem):
                raise ValueError(f"it belongs to annotator '{one.annotator}' and run {one.run}")
        except ValueError as error:
            reason = atomic_files.reason_of(error)
            raise StoreError(f"{path} line {number} is damaged ({reason})", _FIX) from error
        yield one


def _run_id(run: RunDir) -> str:
    """The run id in the manifest, which stays the same if the directory is moved."""
    return run.manifest().run_id
