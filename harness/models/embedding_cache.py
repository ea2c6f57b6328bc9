"""Embeddings by content: the same text and model, the same vector, computed once."""

import hashlib
import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harness.core.errors import StoreError
from harness.core.records import Usage
from harness.store.checksums import row_check
from harness.store.sqlite_files import at_once, open_database

if TYPE_CHECKING:
    from harness.protocols import Vectors

_TABLES = (
    "CREATE TABLE IF NOT EXISTS checked (model TEXT, text_digest BLOB, vector BLOB NOT NULL,"
    " paid_by TEXT NOT NULL, seconds REAL, row_check INTEGER NOT NULL, PRIMARY KEY (model, text_digest))"
    " WITHOUT ROWID",
    # Of a server's vectors. A table of its own, so that earlier versions can use the same file.
    "CREATE TABLE IF NOT EXISTS used (model TEXT, text_digest BLOB, calls REAL NOT NULL, input_tokens REAL,"
    " row_check INTEGER NOT NULL, PRIMARY KEY (model, text_digest)) WITHOUT ROWID",
)
_ALMOST = 1e-6
"""Shares of a call add up to it but for rounding."""


class EmbeddingCache:
    """One SQLite file for all models; several processes may use it at once. A damaged entry is as good as none."""

    def __init__(self, path: Path, model: str, payer: str = "") -> None:
        self._model = model
        """Whatever determines the vectors: provider, model, and where it matters the server."""
        self.payer = payer
        """The run that computes what is added from now on."""
        self._path = path
        with self._explained():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = open_database(path)
            # Tables of earlier versions stay as they are, so that those can use the same file.
            for table in _TABLES:
                self._db.execute(table)
            self._earlier = _earlier_query(self._db)

    def payers(self, texts: Sequence[str]) -> dict[str, str]:
        """Each distinct text that is kept, and the run that computed its vector (empty: not known)."""
        found = ((text, self._find(text)) for text in dict.fromkeys(texts))
        return {text: entry.paid_by for text, entry in found if entry}

    def missing(self, texts: Sequence[str]) -> list[str]:
        """The distinct texts that are not kept yet, in order."""
        kept = self.payers(texts)
        return [text for text in dict.fromkeys(texts) if text not in kept]

    def seconds(self, texts: Iterable[str]) -> float | None:
        """What it took to compute the kept vectors of these texts, each once; None: of some it was not noted."""
        total = 0.0
        for text in dict.fromkeys(texts):
            entry = self._find(text)
            if entry is None or entry.seconds is None:
                return None
            total += entry.seconds
        return total

    def usage(self, texts: Iterable[str]) -> dict[str, Usage]:
        """What the calls took that computed the kept vectors of these texts, each text once, by the run that paid.

        A text has its share of a call by its characters; a call of which a part is needed counts as one. A text of
        which it was not noted counts as an unmetered call beyond `calls`: how many there were is not known.
        """
        found: defaultdict[str, list[_Share | None]] = defaultdict(list)
        for text, payer in self.payers(list(texts)).items():
            found[payer].append(self._share(text))
        return {payer: _together(shares) for payer, shares in found.items()}

    def add(
        self,
        texts: Sequence[str],
        vectors: "Vectors",
        seconds: float | None = None,
        usage: Usage | None = None,
        payer: str | None = None,
    ) -> None:
        """Keep vectors[i] for texts[i]; committed when this returns. `seconds`: what all of them took together,
        `usage`: what the calls of a server took that computed them. `payer`: another run than this one.
        """
        each, paid_by = None if seconds is None else seconds / len(texts), self.payer if payer is None else payer
        shares = [None] * len(texts) if usage is None else _shares(texts, usage)
        entries = [
            (text, KeptVector(np.asarray(vector, dtype="<f4").tobytes(), paid_by, each), share)
            for text, vector, share in zip(texts, vectors, shares, strict=True)
        ]
        with self._explained(), at_once(self._db):
            for text, entry, share in entries:
                # The first vector of a text stays, unless it is damaged.
                if self._find(text) is None:
                    self._put("checked", text, entry)
                    if share is not None:
                        self._put("used", text, share)

    def get(self, texts: Sequence[str]) -> "Vectors":
        """Shape (len(texts), d); a text that is not kept raises KeyError."""
        rows = []
        for text in texts:
            found = self._find(text)
            if found is None:
                raise KeyError(text[:80])
            rows.append(np.frombuffer(found.vector, dtype="<f4"))
        return np.stack(rows).astype(np.float32, copy=False)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _find(self, text: str) -> "KeptVector | None":
        row = self._whole_row("checked", KeptVector._fields, text)
        if row is None and self._earlier:
            with self._explained():
                row = self._db.execute(self._earlier, self._place(text)).fetchone()
        return KeptVector(*row) if row else None

    def _share(self, text: str) -> "_Share | None":
        """None: it was not noted."""
        row = self._whole_row("used", _Share._fields, text)
        return _Share(*row) if row else None

    def _whole_row(self, table: str, columns: Sequence[str], text: str) -> tuple[Any, ...] | None:
        """Of what is kept of a text; None: nothing, or it is damaged."""
        place = self._place(text)
        query = f"SELECT {', '.join(columns)}, row_check FROM {table} WHERE model=? AND text_digest=?"  # noqa: S608
        with self._explained():
            row = self._db.execute(query, place).fetchone()
        return row[:-1] if row is not None and row_check((*place, *row[:-1])) == row[-1] else None

    def _place(self, text: str) -> tuple[str, bytes]:
        return self._model, _digest(text)

    def _put(self, table: str, text: str, entry: "KeptVector | _Share") -> None:
        values = (*self._place(text), *entry)
        marks = ",".join("?" * (len(values) + 1))
        self._db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", (*values, row_check(values)))  # noqa: S608

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"cannot use the embedding cache {self._path} ({error})",
                "free some disk space, delete that file, or set RAG_HARNESS_CACHE",
            ) from error


class KeptVector(NamedTuple):
    """One kept vector."""

    vector: bytes
    paid_by: str
    seconds: float | None


class _Share(NamedTuple):
    """What one text took of a server's call."""

    calls: float
    input_tokens: float | None
    """None: the server did not count them."""


def _shares(texts: Sequence[str], usage: Usage) -> list[_Share]:
    characters = sum(map(len, texts))
    parts = [len(text) / characters if characters else 1 / len(texts) for text in texts]
    tokens = None if usage.unmetered_calls else usage.input_tokens
    return [_Share(part * usage.calls, None if tokens is None else part * tokens) for part in parts]


def _together(shares: Sequence[_Share | None]) -> Usage:
    noted = [share for share in shares if share is not None]
    counted = [share.input_tokens for share in noted if share.input_tokens is not None]
    uncounted = _whole(share for share in noted if share.input_tokens is None)
    return Usage(
        calls=_whole(noted),
        input_tokens=round(sum(counted)),
        unmetered_calls=uncounted + len(shares) - len(noted),
    )


def _whole(shares: Iterable[_Share]) -> int:
    """Calls of which these are parts."""
    return max(0, math.ceil(sum(share.calls for share in shares) - _ALMOST))


def _earlier_query(db: sqlite3.Connection) -> str:
    """How to ask for an entry of an earlier version, which nothing checks; empty: the file holds none."""
    columns = {row[1] for row in db.execute("PRAGMA table_info(embeddings)")}
    if not columns:
        return ""
    payer = "e.paid_by" if "paid_by" in columns else "''"
    timed = bool(db.execute("PRAGMA table_info(seconds)").fetchall())
    join = " LEFT JOIN seconds AS s USING (model, text_digest)" if timed else ""
    return (
        f"SELECT e.vector, {payer}, {'s.seconds' if timed else 'NULL'} FROM embeddings AS e{join}"  # noqa: S608
        " WHERE e.model=? AND e.text_digest=?"
    )


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
