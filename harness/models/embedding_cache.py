"""Embeddings by content: the same text and model, the same vector, computed once."""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.errors import StoreError

if TYPE_CHECKING:
    from harness.protocols import Vectors


class EmbeddingCache:
    """One SQLite file for all models; several processes may use it at once."""

    def __init__(self, path: Path, model: str, payer: str = "") -> None:
        self._model = model
        """Whatever determines the vectors: provider, model, and where it matters the server."""
        self.payer = payer
        """The run that computes what is added from now on."""
        self._path = path
        with self._explained():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=60)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS embeddings"
                " (model TEXT, text_digest BLOB, vector BLOB, paid_by TEXT NOT NULL DEFAULT '',"
                " PRIMARY KEY (model, text_digest)) WITHOUT ROWID"
            )
            # A table of its own, so that earlier versions can use the same file.
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS seconds (model TEXT, text_digest BLOB, seconds REAL NOT NULL,"
                " PRIMARY KEY (model, text_digest)) WITHOUT ROWID"
            )
            if "paid_by" not in {row[1] for row in self._db.execute("PRAGMA table_info(embeddings)")}:
                # A cache from before the payer was noted; another process may be adding the column too.
                with suppress(sqlite3.OperationalError):
                    self._db.execute("ALTER TABLE embeddings ADD COLUMN paid_by TEXT NOT NULL DEFAULT ''")

    def payers(self, texts: Sequence[str]) -> dict[str, str]:
        """Each distinct text that is kept, and the run that computed its vector (empty: not known)."""
        found = ((text, self._find(text)) for text in dict.fromkeys(texts))
        return {text: row[1] for text, row in found if row}

    def missing(self, texts: Sequence[str]) -> list[str]:
        """The distinct texts that are not kept yet, in order."""
        kept = self.payers(texts)
        return [text for text in dict.fromkeys(texts) if text not in kept]

    def seconds(self, texts: Iterable[str]) -> float | None:
        """What it took to compute the kept vectors of these texts, each once; None: of some it was not noted."""
        total = 0.0
        for text in dict.fromkeys(texts):
            with self._explained():
                row = self._db.execute(
                    "SELECT seconds FROM seconds WHERE model=? AND text_digest=?", (self._model, _digest(text))
                ).fetchone()
            if row is None:
                return None
            total += row[0]
        return total

    def add(self, texts: Sequence[str], vectors: "Vectors", seconds: float | None = None) -> None:
        """Keep vectors[i] for texts[i]; committed when this returns. `seconds`: what all of them took together."""
        rows = [
            (self._model, _digest(text), np.asarray(vector, dtype="<f4").tobytes(), self.payer)
            for text, vector in zip(texts, vectors, strict=True)
        ]
        with self._explained():
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT OR IGNORE INTO embeddings VALUES (?,?,?,?)", rows)
            if seconds is not None:
                took = [(model, text, seconds / len(rows)) for model, text, _, _ in rows]
                self._db.executemany("INSERT OR IGNORE INTO seconds VALUES (?,?,?)", took)
            self._db.execute("COMMIT")

    def get(self, texts: Sequence[str]) -> "Vectors":
        """Shape (len(texts), d); a text that is not kept raises KeyError."""
        rows = []
        for text in texts:
            found = self._find(text)
            if found is None:
                raise KeyError(text[:80])
            rows.append(np.frombuffer(found[0], dtype="<f4"))
        return np.stack(rows).astype(np.float32, copy=False)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _find(self, text: str) -> tuple[bytes, str] | None:
        with self._explained():
            row: tuple[bytes, str] | None = self._db.execute(
                "SELECT vector, paid_by FROM embeddings WHERE model=? AND text_digest=?",
                (self._model, _digest(text)),
            ).fetchone()
        return row

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"cannot use the embedding cache {self._path} ({error})",
                "free some disk space, delete that file, or set RAG_HARNESS_CACHE",
            ) from error


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
