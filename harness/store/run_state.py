"""The files that say how far a run is, and what its user calls it.

- done.json: the completion marker, with the checksums of the files that it closes;
- reach.json: the queries over which an interleaved run is complete after its budget was exhausted. Without it, or
  if it names no queries, a closed run is complete over its whole sample;
- spread.json: marks a run that was answered on several machines. This affects its times, not its answers;
- tags.json: the user's name and tags for the run, which may change at any time.
"""

from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from harness.core.errors import StoreError, explained_io
from harness.store import atomic_files, checksums
from harness.store.checksums import StatCache, stamp_of
from harness.store.manifest import Done

_FIX = "run the same command again: it continues with all of its queries"


class PartialRun(BaseModel):
    """The queries over which a run was closed, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query_ids: tuple[str, ...] = ()
    """In the order answered; empty: the whole sample."""
    why: str = ""
    """Why it ended there, as the continuation of "because ..."; empty: all queries were answered."""
    looks: tuple[int, ...] = ()
    """Number of queries at each earlier closing, ascending. Each closing allowed a look at the results."""


class PartialRunFile:
    """Reads and writes reach.json of a run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> PartialRun | None:
        """The content; None if there is no file. StoreError if it is damaged."""
        return atomic_files.read_json(self.path, PartialRun, _FIX) if self.path.exists() else None

    def close(self, query_ids: tuple[str, ...], why: str) -> None:
        """Record over which queries the run is closed. Writes nothing for a run that was never closed early."""
        earlier = self.read()
        if earlier is None and not query_ids:
            return
        looks: tuple[int, ...] = ()
        if earlier is not None:
            now = len(earlier.query_ids)
            grown = now and now != len(query_ids)
            looks = tuple(sorted({*earlier.looks, now})) if grown else earlier.looks
        atomic_files.write_json(self.path, PartialRun(query_ids=query_ids, why=why, looks=looks))

    def remove(self) -> None:
        """Delete the file."""
        with explained_io("remove", self.path):
            self.path.unlink(missing_ok=True)


class CompletionMarker:
    """Reads and writes done.json of a run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fitting = StatCache[Done]()

    def write(self, done: Done, closed: Iterable[Path]) -> None:
        """Write the marker with checksums of these files."""
        atomic_files.write_json(self._path, done, closed)

    def read(self, closed: Iterable[Path]) -> Done | None:
        """The marker; None if there is none. StoreError if it does not match the files `closed`."""
        if not self._path.exists():
            return None
        closed, stamp = list(closed), stamp_of([self._path])
        try:
            return self._fitting.get((self._path, *closed), lambda: self._checked(closed))
        except StoreError:
            if stamp_of([self._path]) != stamp:
                # The run was reopened or closed meanwhile.
                return self.read(closed)
            raise

    def checksum(self, path: Path) -> str:
        """The checksum of a file in the marker; empty if the run is open."""
        if not self._path.exists():
            return ""
        _, closes = atomic_files.read_closing(self._path, Done)
        return closes[path.name].sha256 if path.name in closes else ""

    def check(self, path: Path, fix: str) -> None:
        """Raise StoreError with `fix` if `path` has changed since the run was closed."""
        if self._path.exists():
            _, closes = atomic_files.read_closing(self._path, Done)
            if path.name in closes:
                checksums.check_closed(path, closes, self._path.name, fix)

    def remove(self) -> None:
        """Remove the marker, so that the run is open again."""
        with explained_io("reopen", self._path.parent):
            self._path.unlink(missing_ok=True)

    def _checked(self, closed: Iterable[Path]) -> Done:
        done, closes = atomic_files.read_closing(self._path, Done)
        for path in closed:
            if path.name in closes:
                checksums.check_closed(path, closes, self._path.name, atomic_files.RUN_AGAIN)
        return done


_COUNT_AS_ONE = "delete it and run the same command again: the run then counts as answered on one machine"


class ClusterInfo(BaseModel):
    """How a run was distributed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    n_workers: int = Field(ge=1)
    """Largest number of workers that answered queries in parallel."""


class ClusterInfoFile:
    """Reads and writes spread.json of a run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> ClusterInfo | None:
        """The content; None if the run was answered on one machine. StoreError if it is damaged."""
        return atomic_files.read_json(self.path, ClusterInfo, _COUNT_AS_ONE) if self.path.exists() else None

    def keep(self, n_workers: int) -> None:
        """Record the number of workers if it is larger than before."""
        earlier = self.read()
        if earlier is None or earlier.n_workers < n_workers:
            atomic_files.write_json(self.path, ClusterInfo(n_workers=n_workers))


_LOSE_TAGS = "delete it: the run then has the name of its config, and no tags"


class NameAndTags(BaseModel):
    """What a user calls a run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str | None = None
    """None: the name in its config."""
    tags: tuple[str, ...] = ()
    """Sorted."""


class TagsFile:
    """Reads and writes tags.json of a run. It alone changes, so that a crash leaves the old or the new name."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> NameAndTags:
        """The content; StoreError if it is damaged."""
        return atomic_files.read_json(self.path, NameAndTags, _LOSE_TAGS) if self.path.exists() else NameAndTags()

    def change(self, **changes: object) -> None:
        """Replace some of its fields. Hold the lock of the run."""
        atomic_files.write_json(self.path, self.read().model_copy(update=changes))
