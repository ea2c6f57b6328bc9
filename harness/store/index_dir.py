"""Stored indexes and corpora, shared by the runs that need them."""

import re
import shutil
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from harness.core import hashing
from harness.core.errors import StoreError, explained_io
from harness.core.records import Document, IndexRecord
from harness.store import atomic_files, lock
from harness.store.stored_files import Inventory


class IndexDir:
    """results/indexes/<index_id>. The folder `store/` belongs to the system, everything else to the harness."""

    def __init__(self, results: Path, index_id: str) -> None:
        self.path = results / "indexes" / index_id
        self.index_id = index_id
        self.store = self.path / "store"
        """The folder with the system's files."""
        self._inventory = Inventory(self.path, self.store)
        self.journal_path = self.path.parent / "calls.sqlite"
        """The journal shared by all indexes, so that a killed build, or another index with the same calls (such as
        the same graph in another store), replays them instead of paying again."""

    def exclusive(self, *, wait_s: float = 10.0) -> AbstractContextManager[int]:
        """Hold the lock of the index builder."""
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
            return "its files are missing" if lost else self._inventory.damage()
        except StoreError as error:
            return error.what

    def remove_damaged(self) -> list[str]:
        """Discard a damaged index, so that it is built again; returns messages about it."""
        damage = self.damage()
        if not damage:
            return []
        self.forget()
        return [f"the stored index {self.path} is built again, no call is paid twice: {damage}"]

    def in_use(self) -> AbstractContextManager[None]:
        """Context in which a system answers from the index; its files may change."""
        return self._inventory.in_use()

    def opened(self) -> None:
        """Record the files again after a system has opened them."""
        self._inventory.take()

    def forget(self) -> None:
        """Discard the index, so that the next run builds it again. Runs that used it keep their copy of the
        record.
        """
        with self.exclusive(wait_s=3600.0), explained_io("forget", self.path):
            (self.path / "index.json").unlink(missing_ok=True)

    def remove(self) -> None:
        """Delete the index and its files; StoreError if it is being built or used. A crash leaves the index, or
        one that counts as never built.
        """
        self._refuse_link()
        with self.exclusive(wait_s=0.0), self._inventory.unused(), explained_io("remove", self.path):
            (self.path / "index.json").unlink(missing_ok=True)
            shutil.rmtree(self.path)

    def _refuse_link(self) -> None:
        if self.path.is_symlink():
            raise StoreError(
                f"{self.path} is a link, and its target would be deleted", "put the folder itself there"
            )

    def begin(self) -> None:
        """Empty `store/`, because files of an interrupted build are not reliable."""
        self._refuse_link()
        with explained_io("prepare", self.store):
            (self.path / "index.json").unlink(missing_ok=True)
            if self.store.exists():
                shutil.rmtree(self.store)
            self.store.mkdir(parents=True)

    def bytes_on_disk(self) -> int:
        """Total size of the system's files."""
        return sum(path.stat().st_size for path in self.store.rglob("*") if path.is_file())

    def finish(self, record: IndexRecord) -> None:
        """Record the files and write index.json, which marks the index as finished."""
        self._inventory.take()
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
        try:
            if path.exists():
                self.documents(digest)
                return
        except StoreError:
            pass  # Damaged: overwrite it.
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
