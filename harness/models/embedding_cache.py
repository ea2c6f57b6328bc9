"""A cache of embeddings by content: the vector of a text and model is computed once."""

import hashlib
import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harness.config import EmbedderConfig
from harness.core.errors import StoreError
from harness.core.hashing import digest
from harness.core.records import Usage
from harness.models.model_endpoint import model_identity
from harness.protocols import Vectors
from harness.store.atomic_files import at_once, open_database, open_to_read
from harness.store.checksums import row_check


class CachedVector(NamedTuple):
    vector: bytes
    paid_by: str
    seconds: float
    calls: float
    """Its share of the server call that computed it."""
    input_tokens: float | None
    """None: the server did not count them."""


_TABLE = (
    "CREATE TABLE IF NOT EXISTS vectors (model TEXT, text_digest BLOB, vector BLOB NOT NULL,"
    " paid_by TEXT NOT NULL, seconds REAL NOT NULL, calls REAL NOT NULL, input_tokens REAL,"
    " row_check INTEGER NOT NULL, PRIMARY KEY (model, text_digest)) WITHOUT ROWID"
)
_SELECT = (
    f"SELECT {', '.join(CachedVector._fields)}, row_check FROM vectors"  # noqa: S608 - our own names
    " WHERE model=? AND text_digest=?"
)
_INSERT = "INSERT OR REPLACE INTO vectors VALUES (?,?,?,?,?,?,?,?)"
_NO_CALL = Usage()
_ALMOST = 1e-6
"""Tolerance for rounding when shares of a call are added."""


def embedder_cache_key(config: EmbedderConfig) -> str:
    """The key of vectors in the cache: everything that determines them, including the digest of weights."""
    return f"{config.provider}/{config.model}/{digest(model_identity(config))[:16]}"


def stored_share(path: Path, model: str, texts: Sequence[str]) -> float:
    """The share of these texts whose vectors the cache at `path` has; 0 if it cannot be read. Writes nothing."""
    try:
        with closing(open_to_read(path)) as db:
            found = [db.execute(_SELECT, (model, _digest_of(text))).fetchone() for text in texts]
    except (sqlite3.Error, OSError):
        return 0.0
    return sum(row is not None for row in found) / len(found) if found else 0.0


class EmbeddingCache:
    """One SQLite file for all models, usable by several processes at once. A damaged entry counts as missing."""

    def __init__(self, path: Path, model: str, payer: str = "") -> None:
        self._model = model
        """Everything that determines the vectors: provider, model, and if relevant the server."""
        self.payer = payer
        """The run that computes new vectors."""
        self._path = path
        with self._explained():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = open_database(path)
            self._db.execute(_TABLE)

    def entries(self, texts: Iterable[str]) -> dict[str, CachedVector]:
        """The stored entries of these texts, each text once, in order."""
        found = ((text, self._find(text)) for text in dict.fromkeys(texts))
        return {text: entry for text, entry in found if entry}

    def dimension(self) -> int | None:
        """The length of the stored vectors of the model; None if there are none."""
        with self._explained():
            row = self._db.execute(
                "SELECT length(vector) FROM vectors WHERE model=? LIMIT 1", (self._model,)
            ).fetchone()
        return int(row[0]) // 4 if row else None

    def add(
        self,
        texts: Sequence[str],
        vectors: Vectors,
        seconds: float = 0.0,
        usage: Usage = _NO_CALL,
        payer: str | None = None,
    ) -> None:
        """Store vectors[i] for texts[i]; committed when this returns. `seconds`: for all of them together;
        `usage`: of the server calls that computed them. `payer`: another run than this one.
        """
        characters, paid_by = sum(map(len, texts)), self.payer if payer is None else payer
        tokens = None if usage.unmetered_calls else usage.input_tokens
        entries = []
        for text, vector in zip(texts, vectors, strict=True):
            part = len(text) / characters if characters else 1 / len(texts)
            content = np.asarray(vector, dtype="<f4").tobytes()
            own_tokens = None if tokens is None else part * tokens
            entry = CachedVector(content, paid_by, seconds / len(texts), part * usage.calls, own_tokens)
            entries.append((text, entry))
        with self._explained(), at_once(self._db):
            for text, entry in entries:
                # The first vector of a text stays, unless it is damaged.
                if self._find(text) is None:
                    values = (*self._place(text), *entry)
                    self._db.execute(_INSERT, (*values, row_check(values)))

    def get(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), d); KeyError for a text that is not stored."""
        stored = self.entries(texts)
        return np.stack([np.frombuffer(stored[text].vector, dtype="<f4") for text in texts]).astype(np.float32)

    def close(self) -> None:
        self._db.close()

    def _find(self, text: str) -> CachedVector | None:
        """The entry of a text; None if there is none or it is damaged."""
        place = self._place(text)
        with self._explained():
            row = self._db.execute(_SELECT, place).fetchone()
        return CachedVector(*row[:-1]) if row and row_check((*place, *row[:-1])) == row[-1] else None

    def _place(self, text: str) -> tuple[str, bytes]:
        return self._model, _digest_of(text)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"cannot use the embedding cache {self._path} ({error})",
                "free some disk space, delete that file, or set RAG_HARNESS_CACHE",
            ) from error


def _digest_of(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def usage_of_entries(entries: Iterable[CachedVector]) -> dict[str, Usage]:
    """Usage of the calls that computed these vectors, by the run that paid.

    Texts of one call share it by their characters; a call counts as one even if only a part of it is needed.
    """
    by_payer: defaultdict[str, list[CachedVector]] = defaultdict(list)
    for entry in entries:
        by_payer[entry.paid_by].append(entry)
    return {
        payer: Usage(
            calls=_whole_calls(own),
            input_tokens=round(sum(entry.input_tokens or 0.0 for entry in own)),
            unmetered_calls=_whole_calls(entry for entry in own if entry.input_tokens is None),
        )
        for payer, own in by_payer.items()
    }


def _whole_calls(entries: Iterable[CachedVector]) -> int:
    return max(0, math.ceil(sum(entry.calls for entry in entries) - _ALMOST))
