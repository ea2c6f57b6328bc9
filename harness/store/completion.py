"""done.json, the completion marker of a run, with the checksums of its files."""

from collections.abc import Iterable
from pathlib import Path

from harness.core.errors import StoreError, explained_io
from harness.store import atomic_files, checksums
from harness.store.manifest import Done
from harness.store.stat_cache import StatCache, stamp_of


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
