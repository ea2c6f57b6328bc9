"""The files that say how far a run is, and what its user calls it.

- done.json: the completion marker, with the checksums of the files that it closes;
- reach.json: the queries over which an interleaved run is complete after its budget was exhausted. Without it, or
  if it names no queries, a closed run is complete over its whole sample;
- spread.json: marks a run that was answered on several machines. This affects its times, not its answers;
- tags.json: the user's name and tags for the run, which may change at any time.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, Field

from harness.core.errors import StoreError, explained_io
from harness.core.records import Record
from harness.store import atomic_files, checksums
from harness.store.checksums import StatCache, stamp_of
from harness.store.manifest import Done

R = TypeVar("R", bound=BaseModel)


class StateFile(Generic[R]):
    """A JSON file of a run that holds one record, or is missing."""

    def __init__(self, path: Path, kind: type[R], fix: str = atomic_files.RUN_AGAIN) -> None:
        """`fix`: what the user does about a damaged file."""
        self.path, self._kind, self._fix = path, kind, fix

    def read(self) -> R | None:
        """None if there is no file. StoreError if it is damaged."""
        return atomic_files.read_json(self.path, self._kind, self._fix) if self.path.exists() else None

    def write(self, record: R | None) -> None:
        """Replace the file atomically. None: delete it."""
        if record is None:
            self.remove()
        else:
            atomic_files.write_json(self.path, record)

    def remove(self) -> None:
        """Delete the file, if there is one."""
        with explained_io("remove", self.path):
            self.path.unlink(missing_ok=True)


class PartialRun(Record):
    """reach.json: the queries over which a run was closed, and why."""

    query_ids: tuple[str, ...] = ()
    """In the order answered; empty: the whole sample."""
    why: str = ""
    """Why it ended there, as the continuation of "because ..."; empty: all queries were answered."""
    looks: tuple[int, ...] = ()
    """Number of queries at each earlier closing, ascending. Each closing allowed a look at the results."""

    def closed_again(self, query_ids: tuple[str, ...], why: str) -> "PartialRun":
        """The same run, closed over other queries. The results of the earlier ones may have been looked at."""
        n_before = len(self.query_ids)
        looks = {*self.looks, n_before} if n_before not in {0, len(query_ids)} else self.looks
        return PartialRun(query_ids=query_ids, why=why, looks=tuple(sorted(looks)))


class ClusterInfo(Record):
    """spread.json: how a run was distributed."""

    n_workers: int = Field(ge=1)
    """Largest number of workers that answered queries in parallel."""


class NameAndTags(Record):
    """tags.json: what a user calls a run."""

    name: str | None = None
    """None: the name in its config."""
    tags: tuple[str, ...] = ()
    """Sorted."""


class CompletionMarker:
    """Reads and writes done.json of a run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._intact = StatCache[Done]()

    def read(self, closed: Iterable[Path]) -> Done | None:
        """The marker; None if there is none. StoreError if it does not match the files `closed`."""
        if not self.path.exists():
            return None
        closed, stamp = list(closed), stamp_of([self.path])
        try:
            return self._intact.get((self.path, *closed), lambda: self.checked(closed))
        except StoreError:
            if stamp_of([self.path]) != stamp:
                # The run was reopened or closed meanwhile.
                return self.read(closed)
            raise

    def checked(self, closed: Iterable[Path], fix: str = atomic_files.RUN_AGAIN) -> Done:
        """The marker, which exists. StoreError with `fix` if one of these files has changed since it was
        closed.
        """
        done, closes = atomic_files.read_closing(self.path, Done)
        for path in closed:
            if path.name in closes:
                checksums.check_closed(path, closes, self.path.name, fix)
        return done
