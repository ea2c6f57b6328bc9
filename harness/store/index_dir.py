"""A stored index: built once, used by every run that needs exactly it."""

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from harness.errors import StoreError, explained_io
from harness.records import Document, IndexRecord
from harness.store import files, lock


class IndexDir:
    """results/indexes/<index_id>: `store/` belongs to the system, the rest to the harness."""

    def __init__(self, results: Path, index_id: str) -> None:
        self.path = results / "indexes" / index_id
        self.index_id = index_id
        self.store = self.path / "store"
        """What the system wrote; its only folder."""
        self.journal_path = self.path.parent / "calls.sqlite"
        """The journal that all indexes share: a killed build replays its calls, and so does another index that
        asks the same of the same model, such as a graph in another store. Nothing is paid twice."""

    def exclusive(self, *, wait_s: float = 10.0) -> AbstractContextManager[int]:
        """Be the only builder."""
        return lock.exclusive(self.path / ".lock", wait_s=wait_s)

    def record(self) -> IndexRecord | None:
        """The finished index's record, or None where there is none yet."""
        path = self.path / "index.json"
        return files.read_json(path, IndexRecord) if path.exists() else None

    def forget(self) -> None:
        """Let the next run that needs it build it anew. Runs that have it keep their record of it."""
        with self.exclusive(wait_s=3600.0), explained_io("forget", self.path):
            (self.path / "index.json").unlink(missing_ok=True)

    def begin(self) -> None:
        """Empty `store/`: what an interrupted build left there is not trusted."""
        with explained_io("prepare", self.store):
            (self.path / "index.json").unlink(missing_ok=True)
            if self.store.exists():
                shutil.rmtree(self.store)
            self.store.mkdir(parents=True)

    def bytes_on_disk(self) -> int:
        """The size of what the system wrote."""
        return sum(path.stat().st_size for path in self.store.rglob("*") if path.is_file())

    def finish(self, record: IndexRecord) -> None:
        """Write index.json: from now on the index is there."""
        files.write_json(self.path / "index.json", record)


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
        """Keep these documents; nothing is written where they already are."""
        path = self.path(digest)
        if not path.exists():
            files.write_jsonl(path, documents)

    def iter_documents(self, digest: str) -> Iterator[Document]:
        """The documents of that digest."""
        return files.iter_jsonl(self.path(digest), Document)
