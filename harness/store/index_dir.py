"""Stored indexes and corpora, shared by the runs that need them.

store.json has the names and checksums of the files of an index. Some stores write to their files when opened,
but not when queried. So the files are recorded after the build, after a system has opened them, and after the last
user has closed them. A run killed while answering leaves them as recorded; one killed while opening them may cause
the index to be rebuilt.
"""

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from harness.core import hashing
from harness.core.errors import StoreError, explained_io
from harness.core.records import Document, IndexRecord, Record
from harness.store import atomic_files, lock

_PASSING = (".lock", ".wal", "-wal", "-shm", "-journal")
"""Extensions of temporary files of databases."""


class StoredFiles(Record):
    """The content of store.json."""

    digests: dict[str, str]
    """SHA-256 by name within `store/`."""


class IndexDir:
    """results/indexes/<index_id>. The folder `store/` belongs to the system, everything else to the harness."""

    def __init__(self, results: Path, index_id: str) -> None:
        self.path = results / "indexes" / index_id
        self.index_id = index_id
        self.store = self.path / "store"
        self._users = self.path / ".users"
        """Locked while a system uses the index."""
        self.journal_path = self.path.parent / "calls.sqlite"
        """Shared by all indexes, so that a killed build, or another index with the same calls, replays them."""

    def exclusive(self, *, wait_s: float = 10.0) -> AbstractContextManager[int]:
        return lock.exclusive(self.path / ".lock", wait_s=wait_s)

    def record(self) -> IndexRecord | None:
        """The record of the finished index; None if there is none."""
        path = self.path / "index.json"
        fix = "delete it and run the same command again: the index is built again, and no call is paid twice"
        if not path.exists():
            return None
        record = atomic_files.read_json(path, IndexRecord, fix)
        if record.index_id != self.index_id:
            raise StoreError(f"{path} belongs to another index", fix)
        return record

    def damage(self) -> str:
        """What is damaged or missing in a finished index; empty if nothing is, or there is no index."""
        try:
            record = self.record()
            if record is None:
                return ""
            lost = record.bytes_on_disk > 0 and not self.bytes_on_disk()
            return "its files are missing" if lost else self._damaged_file()
        except StoreError as error:
            return error.what

    def remove_damaged(self) -> list[str]:
        """Discard a damaged index, so that it is built again; returns messages about it."""
        damage = self.damage()
        if not damage:
            return []
        self.forget()
        return [f"the stored index {self.path} is built again, no call is paid twice: {damage}"]

    def _damaged_file(self) -> str:
        """What differs from the recorded files; empty if nothing does."""
        with ExitStack() as stack:
            try:
                stack.enter_context(lock.exclusive(self._users, wait_s=0.0))
                is_changing = False
            except StoreError:
                is_changing = True  # A run uses the index: only the names are checked.
            try:
                recorded = atomic_files.read_json(self.path / "store.json", StoredFiles).digests
                present = dict(self._files())
                for name, digest in recorded.items():
                    if name not in present:
                        return f"its file {name} is missing"
                    if not is_changing and hashing.file_digest(present[name]) != digest:
                        return f"its file {name} is damaged"
            except (StoreError, OSError) as error:
                return str(getattr(error, "what", error))
        return ""

    def _files(self) -> Iterator[tuple[str, Path]]:
        """The files to record: those with content that are not temporary."""
        with explained_io("read", self.store):
            for path in sorted(self.store.rglob("*")):
                if path.is_file() and not path.name.endswith(_PASSING) and path.stat().st_size:
                    yield path.relative_to(self.store).as_posix(), path

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Context in which a system answers from the index; its files may change."""
        try:
            with lock.shared(self._users):
                yield
        finally:
            # If another run uses the index, that run records the files afterwards.
            with suppress(StoreError), lock.exclusive(self._users, wait_s=0.0):
                self.opened()

    def opened(self) -> None:
        """Record the files, after the build and again after a system has opened them."""
        stored = StoredFiles(digests={name: hashing.file_digest(path) for name, path in self._files()})
        atomic_files.write_json(self.path / "store.json", stored)

    def forget(self) -> None:
        """Discard the index, so that the next run builds it again."""
        with self.exclusive(wait_s=3600.0), explained_io("forget", self.path):
            (self.path / "index.json").unlink(missing_ok=True)

    def remove(self) -> None:
        """Delete the index and its files; StoreError if it is being built or used. A crash leaves the index, or
        one that counts as never built.
        """
        self._refuse_link()
        with (
            self.exclusive(wait_s=0.0),
            lock.exclusive(self._users, wait_s=0.0),
            explained_io("remove", self.path),
        ):
            (self.path / "index.json").unlink(missing_ok=True)
            shutil.rmtree(self.path)

    def _refuse_link(self) -> None:
        if self.path.is_symlink():
            what = f"{self.path} is a link, and its target would be deleted"
            raise StoreError(what, "put the folder itself there")

    def begin(self) -> None:
        """Empty `store/`, because files of an interrupted build are not reliable."""
        self._refuse_link()
        with explained_io("prepare", self.store):
            (self.path / "index.json").unlink(missing_ok=True)
            if self.store.exists():
                shutil.rmtree(self.store)
            self.store.mkdir(parents=True)

    def bytes_on_disk(self) -> int:
        return sum(path.stat().st_size for path in self.store.rglob("*") if path.is_file())

    def finish(self, record: IndexRecord) -> None:
        """Record the files and write index.json, which marks the index as finished."""
        self.opened()
        atomic_files.write_json(self.path / "index.json", record)


def indexes_of(results: Path, own: str, routed: Iterable[str]) -> list[IndexDir]:
    """The indexes of a run: those of its routed systems, without duplicates, or else its own."""
    return [IndexDir(results, index_id) for index_id in dict.fromkeys(routed) or [own]]


class Corpora:
    """results/corpora: one file per selection of documents, named by its digest."""

    def __init__(self, results: Path) -> None:
        self._folder = results / "corpora"

    def path(self, digest: str) -> Path:
        """The file for a digest. StoreError if the digest is not a plain name: run directories are untrusted."""
        if not re.fullmatch(r"[\w-]*", digest):
            raise StoreError(f"the corpus '{digest}' of a run is not a digest", "delete the run directory")
        return self._folder / f"{digest}.jsonl"

    def save(self, digest: str, documents: Sequence[Document]) -> None:
        """Save these documents, unless an intact copy exists."""
        path = self.path(digest)
        with suppress(StoreError):  # A damaged one is overwritten.
            if path.exists():
                self.documents(digest)
                return
        atomic_files.write_jsonl(path, documents)

    def remove(self, digest: str) -> None:
        """Delete the documents of a digest; the next run that needs them writes them again."""
        with explained_io("remove", self.path(digest)):
            self.path(digest).unlink(missing_ok=True)

    def documents(self, digest: str) -> list[Document]:
        """The documents with this digest; empty if not saved. StoreError if the file has other documents."""
        path = self.path(digest)
        fix = "delete it: the next `rag-harness run` writes it again"
        found = list(atomic_files.iter_jsonl(path, Document, fix))
        if path.exists() and corpus_digest(found) != digest:
            raise StoreError(f"{path} does not contain the documents of its digest", fix)
        return found


def corpus_digest(documents: Sequence[Document]) -> str:
    """The digest of a selection of documents, including their order."""
    return hashing.digest([document.model_dump() for document in documents])
