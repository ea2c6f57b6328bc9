"""store.json: which files a system's stored index has, and what they held when nobody used it.

Some stores write into their files when they are merely opened. So the digests are taken off while a run answers
from an index and put back when the last of them has gone; after a kill the names alone are held against the files.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from harness.errors import StoreError, explained_io
from harness.identity import file_digest
from harness.store import files, lock

_PASSING = (".lock", ".wal", "-wal", "-shm", "-journal")
"""Ends of names of files that databases make and remove as they please."""


class StoredFiles(BaseModel):
    """store.json."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    digests: dict[str, str]
    """Name within `store/` -> SHA-256; empty while it is in use."""


class Inventory:
    """Keeps the store.json of one stored index."""

    def __init__(self, folder: Path, store: Path) -> None:
        self._path = folder / "store.json"
        self._users = folder / ".users"
        self._store = store

    def take(self) -> None:
        """Note the files as they are now."""
        self._write({name: file_digest(path) for name, path in self._files()})

    def misfit(self) -> str:
        """What is not as it was noted, in a few words; empty: nothing, or nothing was noted."""
        if not self._path.exists():
            return ""
        try:
            with lock.exclusive(self._users, wait_s=0.0):
                return self._misfit()
        except StoreError:
            # A run uses it and may be changing its files at this moment.
            return self._misfit(by_name_alone=True)

    def _misfit(self, *, by_name_alone: bool = False) -> str:
        try:
            noted = files.read_json(self._path, StoredFiles).digests
            found = dict(self._files())
            for name, digest in noted.items():
                if name not in found:
                    return f"its file {name} is gone"
                if digest and not by_name_alone and file_digest(found[name]) != digest:
                    return f"its file {name} is damaged"
        except (StoreError, OSError) as error:
            return str(getattr(error, "what", error))
        return ""

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """While a system may open the files, and may change them."""
        with lock.shared(self._users):
            self._write({name: "" for name, _ in self._files()})
            yield
        try:
            with lock.exclusive(self._users, wait_s=0.0):
                self.take()
        except StoreError:
            return  # Another run uses it, and takes it afterwards.

    def _write(self, digests: dict[str, str]) -> None:
        files.write_json(self._path, StoredFiles(digests=digests))

    def _files(self) -> Iterator[tuple[str, Path]]:
        """What is worth noting: files that hold something and stay."""
        with explained_io("read", self._store):
            for path in sorted(self._store.rglob("*")):
                if path.is_file() and not path.name.endswith(_PASSING) and path.stat().st_size:
                    yield path.relative_to(self._store).as_posix(), path
