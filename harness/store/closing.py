"""done.json: what closes a finished run, and whether it still fits."""

from collections.abc import Callable, Iterable
from pathlib import Path

from harness.errors import StoreError, explained_io
from harness.records import RunRecord
from harness.store import files, seals
from harness.store.manifest import Done

_Stamp = tuple[tuple[str, int, int, int], ...]


class Closing:
    """Reads and writes one done.json."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fitting: tuple[_Stamp, Done] | None = None
        """What was found to fit, and of which files: a report asks often."""

    def write(self, done: Done, closed: Iterable[Path]) -> None:
        """Close these files as they are now."""
        files.write_json(self._path, done, closed)

    def read(self, closed: Iterable[Path], records: Callable[[], Iterable[RunRecord]]) -> Done | None:
        """The footer; None: there is none. StoreError: it does not fit `closed`, or, where an earlier version
        wrote it, the number of `records`.
        """
        if not self._path.exists():
            return None
        closed = list(closed)
        stamp = _stamp((self._path, *closed))
        if self._fitting is None or self._fitting[0] != stamp:
            try:
                self._fitting = stamp, self._checked(closed, records)
            except StoreError:
                if _stamp((self._path,)) != stamp[:1]:
                    # A run was reopened or closed meanwhile.
                    return self.read(closed, records)
                raise
        return self._fitting[1]

    def check(self, path: Path, fix: str) -> None:
        """Raise StoreError with `fix` where `path` is not what it was when the run was closed."""
        if self._path.exists():
            _, closes = files.read_closing(self._path, Done)
            if closes and path.name in closes:
                seals.check_closed(path, closes, self._path.name, fix)

    def remove(self) -> None:
        """Open the run again."""
        with explained_io("reopen", self._path.parent):
            self._path.unlink(missing_ok=True)

    def _checked(self, closed: Iterable[Path], records: Callable[[], Iterable[RunRecord]]) -> Done:
        done, closes = files.read_closing(self._path, Done)
        for path in closed:
            if closes and path.name in closes:
                seals.check_closed(path, closes, self._path.name, files.RUN_AGAIN)
        if closes is None:
            there = [record.status == "ok" for record in records()]
            if (there.count(True), there.count(False)) != (done.n_ok, done.n_error):
                n_closed = done.n_ok + done.n_error
                raise StoreError(
                    f"{self._path} speaks of {n_closed:,} answers, {done.n_error:,} of them failed, and the run "
                    f"has {len(there):,}, {there.count(False):,} of them failed",
                    files.RUN_AGAIN,
                )
        return done


def _stamp(paths: Iterable[Path]) -> _Stamp:
    stamps = []
    for path in paths:
        found = path.stat() if path.exists() else None
        stamps.append((path.name, *((found.st_mtime_ns, found.st_size, found.st_ino) if found else (0, 0, 0))))
    return tuple(stamps)
