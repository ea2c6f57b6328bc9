"""A stored index: built once, used by every run that needs exactly it."""

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
    """results/indexes/<index_id>: `store/` belongs to the system, the rest to the harness."""

    def __init__(self, results: Path, index_id: str) -> None:
        self.path = results / "indexes" / index_id
        self.index_id = index_id
        self.store = self.path / "store"
        """What the system wrote; its only folder."""
        self._inventory = Inventory(self.path, self.store)
        self.journal_path = self.path.parent / "calls.sqlite"
        """The journal that all indexes share: a killed build replays its calls, and so does another index that
        asks the same of the same model, such as a graph in another store. Nothing is paid twice."""

    def exclusive(self, *, wait_s: float = 10.0) -> AbstractContextManager[int]:
        """Be the only builder."""
        return lock.exclusive(self.path / ".lock", wait_s=wait_s)

    def record(self) -> IndexRecord | None:
        """The finished index's record, or None where there is none yet."""
        path = self.path / "index.json"
        fix = "delete it and run the same command again: the index is built again, and no call is paid twice"
        if not path.exists():
            return None
        record = atomic_files.read_json(path, IndexRecord, fix)
        if record.index_id != self.index_id:
            raise StoreError(f"{path} is of another index", fix)
        return record

    def misfit(self) -> str:
        """What of a finished index is damaged or gone; empty: nothing, or there is none."""
        try:
            record = self.record()
            if record is None:
                return ""
            lost = record.bytes_on_disk > 0 and not self.bytes_on_disk()
            return "its files are gone" if lost else self._inventory.misfit()
        except StoreError as error:
            return error.what

    def mend(self) -> list[str]:
        """Forget an index of which something is damaged or gone, so that it is built again, and say it."""
        misfit = self.misfit()
        if not misfit:
            return []
        self.forget()
        return [f"the stored index {self.path} is built again, and no call is paid twice: {misfit}"]

    def in_use(self) -> AbstractContextManager[None]:
        """While a system answers from it: its files may change."""
        return self._inventory.in_use()

    def opened(self) -> None:
        """Note the files as they are now that a system has opened them."""
        self._inventory.take()

    def forget(self) -> None:
        """Let the next run that needs it build it anew. Runs that have it keep their record of it."""
        with self.exclusive(wait_s=3600.0), explained_io("forget", self.path):
            (self.path / "index.json").unlink(missing_ok=True)

    def begin(self) -> None:
        """Empty `store/`: what an interrupted build left there is not trusted."""
        if self.path.is_symlink():
            raise StoreError(f"{self.path} is a link, and what is there would go", "put the folder itself there")
        with explained_io("prepare", self.store):
            (self.path / "index.json").unlink(missing_ok=True)
            if self.store.exists():
                shutil.rmtree(self.store)
            self.store.mkdir(parents=True)

    def bytes_on_disk(self) -> int:
        """The size of what the system wrote."""
        return sum(path.stat().st_size for path in self.store.rglob("*") if path.is_file())

    def finish(self, record: IndexRecord) -> None:
        """Note the files and write index.json: from now on the index is there."""
        self._inventory.take()
        atomic_files.write_json(self.path / "index.json", record)


def indexes_of(results: Path, own: str, lent: Iterable[str]) -> list[IndexDir]:
    """What a run answers from: indexes of the systems that it is lent, each once; else its own."""
    return [IndexDir(results, index_id) for index_id in dict.fromkeys(lent) or [own]]


class Corpora:
    """results/corpora: each selection of documents once, under its digest."""

    def __init__(self, results: Path) -> None:
        self._folder = results / "corpora"

    def path(self, digest: str) -> Path:
        """Where the documents of that digest are, or will be. StoreError for what would be a path elsewhere: a run
        may be somebody else's.
        """
        if not re.fullmatch(r"[\w-]*", digest):
            raise StoreError(f"a run names the corpus '{digest}', which is no digest", "delete the run directory")
        return self._folder / f"{digest}.jsonl"

    def save(self, digest: str, documents: Sequence[Document]) -> None:
        """Keep these documents; nothing is written where they already are, whole."""
        path = self.path(digest)
        try:
            if path.exists():
                self.documents(digest)
                return
        except StoreError:
            pass  # It is damaged, and the whole one is here.
        atomic_files.write_jsonl(path, documents)

    def documents(self, digest: str) -> list[Document]:
        """The documents of that digest, none where they were not kept; others than those are a `StoreError`."""
        path = self.path(digest)
        fix = "delete it: the next `rag-harness run` writes it again"
        found = list(atomic_files.iter_jsonl(path, Document, fix))
        if path.exists() and corpus_digest(found) != digest:
            raise StoreError(f"{path} does not hold the documents that its name says", fix)
        return found


def corpus_digest(documents: Sequence[Document]) -> str:
    """What tells one selection of documents, in its order, from any other."""
    return hashing.digest([document.model_dump() for document in documents])
