"""store.json: which files a system's stored index has, and what they held when nobody used it.

Some stores write into their files when they are merely opened, and not when they are asked. So the files are noted
when they are built, when a system has opened them and when the last that used them has gone: a run that is killed
while it answers leaves them as they were noted. One that is killed while it opens them may leave an index that is
built again.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from harness.core.errors import StoreError, explained_io
from harness.core.hashing import file_digest
from harness.store import atomic_files, lock

_PASSING = (".lock", ".wal", "-wal", "-shm", "-journal")
"""Ends of names of files that databases make and remove as they please."""


class StoredFiles(BaseModel):
    """store.json."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    digests: dict[str, str]
    """Name within `store/` -> SHA-256; empty where an earlier version left it in use."""


class Inventory:
    """Keeps the store.json of one stored index."""

    def __init__(self, folder: Path, store: Path) -> None:
        self._path = folder / "store.json"
        self._users = folder / ".users"
        self._store = store

    def take(self) -> None:
        """Note the files as they are now."""
        noted = StoredFiles(digests={name: file_digest(path) for name, path in self._files()})
        atomic_files.write_json(self._path, noted)

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
            noted = atomic_files.read_json(self._path, StoredFiles).digests
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
        try:
            with lock.shared(self._users):
                yield
        finally:
            # Where another run uses it, that one takes it afterwards.
            with suppress(StoreError), lock.exclusive(self._users, wait_s=0.0):
                self.take()

    def _files(self) -> Iterator[tuple[str, Path]]:
        """What is worth noting: files that hold something and stay."""
        with explained_io("read", self._store):
            for path in sorted(self._store.rglob("*")):
                if path.is_file() and not path.name.endswith(_PASSING) and path.stat().st_size:
                    yield path.relative_to(self._store).as_posix(), path
