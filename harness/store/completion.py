"""done.json, the completion marker of a run, with the checksums of its files."""

from collections.abc import Callable, Iterable
from pathlib import Path

from harness.core.errors import StoreError, explained_io
from harness.store import atomic_files, checksums
from harness.store.attempts import Ending
from harness.store.manifest import Done
from harness.store.stat_cache import Remembered, stamp_of


class Closing:
    """Reads and writes done.json of a run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fitting = Remembered[Done]()

    def write(self, done: Done, closed: Iterable[Path]) -> None:
        """Write the marker with checksums of these files."""
        atomic_files.write_json(self._path, done, closed)

    def read(self, closed: Iterable[Path], endings: Callable[[], Iterable[Ending]]) -> Done | None:
        """The marker; None if there is none. StoreError if it does not match the files `closed` or, when written
        by an earlier version, the number of `endings`.
        """
        if not self._path.exists():
            return None
        closed, stamp = list(closed), stamp_of([self._path])
        try:
            return self._fitting.get((self._path, *closed), lambda: self._checked(closed, endings))
        except StoreError:
            if stamp_of([self._path]) != stamp:
                # The run was reopened or closed meanwhile.
                return self.read(closed, endings)
            raise

    def check(self, path: Path, fix: str) -> None:
        """Raise StoreError with `fix` if `path` has changed since the run was closed."""
        if self._path.exists():
            _, closes = atomic_files.read_closing(self._path, Done)
            if closes and path.name in closes:
                checksums.check_closed(path, closes, self._path.name, fix)

    def remove(self) -> None:
        """Remove the marker, so that the run is open again."""
        with explained_io("reopen", self._path.parent):
            self._path.unlink(missing_ok=True)

    def _checked(self, closed: Iterable[Path], endings: Callable[[], Iterable[Ending]]) -> Done:
        done, closes = atomic_files.read_closing(self._path, Done)
        for path in closed:
            if closes and path.name in closes:
                checksums.check_closed(path, closes, self._path.name, atomic_files.RUN_AGAIN)
        if closes is None:
            there = [ending.status == "ok" for ending in endings()]
            if (there.count(True), there.count(False)) != (done.n_ok, done.n_error):
                n_closed = done.n_ok + done.n_error
                raise StoreError(
                    f"{self._path} counts {n_closed:,} answers, {done.n_error:,} of them failed, but the run "
                    f"has {len(there):,}, {there.count(False):,} of them failed",
                    atomic_files.RUN_AGAIN,
                )
        return done
