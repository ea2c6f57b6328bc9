"""store.json: names and checksums of the files of a stored index, recorded while no run uses it.

Some stores write to their files when opened, but not when queried. So the files are recorded after the build,
after a system has opened them, and after the last user has closed them. A run killed while answering leaves
them as recorded; one killed while opening them may cause the index to be rebuilt.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from harness.core.errors import StoreError, explained_io
from harness.core.hashing import file_digest
from harness.store import atomic_files, lock

_PASSING = (".lock", ".wal", "-wal", "-shm", "-journal")
"""Extensions of temporary files of databases."""


class StoredFiles(BaseModel):
    """The content of store.json."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    digests: dict[str, str]
    """SHA-256 by name within `store/`."""


class Inventory:
    """Maintains store.json of a stored index."""

    def __init__(self, folder: Path, store: Path) -> None:
        self._path = folder / "store.json"
        self._users = folder / ".users"
        self._store = store

    def take(self) -> None:
        """Record the current files."""
        noted = StoredFiles(digests={name: file_digest(path) for name, path in self._files()})
        atomic_files.write_json(self._path, noted)

    def damage(self) -> str:
        """What differs from the record, in a few words; empty if nothing does."""
        try:
            with lock.exclusive(self._users, wait_s=0.0):
                return self._misfit()
        except StoreError:
            # A run uses the index and may be changing its files.
            return self._misfit(by_name_alone=True)

    def _misfit(self, *, by_name_alone: bool = False) -> str:
        try:
            noted = atomic_files.read_json(self._path, StoredFiles).digests
            found = dict(self._files())
            for name, digest in noted.items():
                if name not in found:
                    return f"its file {name} is missing"
                if not by_name_alone and file_digest(found[name]) != digest:
                    return f"its file {name} is damaged"
        except (StoreError, OSError) as error:
            return str(getattr(error, "what", error))
        return ""

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Context in which a system opens the files and may change them."""
        try:
            with lock.shared(self._users):
                yield
        finally:
            # If another run uses the index, that run records the files afterwards.
            with suppress(StoreError), lock.exclusive(self._users, wait_s=0.0):
                self.take()

    def unused(self) -> AbstractContextManager[int]:
        """Context in which no run can open the files; StoreError if one has."""
        return lock.exclusive(self._users, wait_s=0.0)

    def _files(self) -> Iterator[tuple[str, Path]]:
        """The files to record: those with content that are not temporary."""
        with explained_io("read", self._store):
            for path in sorted(self._store.rglob("*")):
                if path.is_file() and not path.name.endswith(_PASSING) and path.stat().st_size:
                    yield path.relative_to(self._store).as_posix(), path
