"""Embeddings by content: the same text and model, the same vector, computed once."""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.errors import StoreError

if TYPE_CHECKING:
    from harness.protocols import Vectors


class EmbeddingCache:
    """One SQLite file for all models; several processes may use it at once."""

    def __init__(self, path: Path, model: str) -> None:
        self._model = model
        """Whatever determines the vectors: provider, model, and where it matters the server."""
        self._path = path
        with self._explained():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=60)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS embeddings"
                " (model TEXT, text_digest BLOB, vector BLOB, PRIMARY KEY (model, text_digest)) WITHOUT ROWID"
            )

    def missing(self, texts: Sequence[str]) -> list[str]:
        """The distinct texts that are not kept yet, in order."""
        return [text for text in dict.fromkeys(texts) if self._find(text) is None]

    def add(self, texts: Sequence[str], vectors: "Vectors") -> None:
        """Keep vectors[i] for texts[i]; committed when this returns."""
        rows = [
            (self._model, _digest(text), np.asarray(vector, dtype="<f4").tobytes())
            for text, vector in zip(texts, vectors, strict=True)
        ]
        with self._explained():
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT OR IGNORE INTO embeddings VALUES (?,?,?)", rows)
            self._db.execute("COMMIT")

    def get(self, texts: Sequence[str]) -> "Vectors":
        """Shape (len(texts), d); a text that is not kept raises KeyError."""
        rows = []
        for text in texts:
            vector = self._find(text)
            if vector is None:
                raise KeyError(text[:80])
            rows.append(np.frombuffer(vector, dtype="<f4"))
        return np.stack(rows).astype(np.float32, copy=False)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _find(self, text: str) -> bytes | None:
        with self._explained():
            row = self._db.execute(
                "SELECT vector FROM embeddings WHERE model=? AND text_digest=?", (self._model, _digest(text))
            ).fetchone()
        return row[0] if row else None

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
