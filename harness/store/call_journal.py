"""calls.sqlite: the journal of all answered model calls, so that nothing is paid twice; sums of their usage."""

import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from operator import add
from pathlib import Path
from typing import Any

from harness.core.errors import StoreError
from harness.core.records import Usage
from harness.store.atomic_files import at_once, open_database
from harness.store.checksums import row_check

COLUMNS = (
    *("scope", "role", "request_digest", "occurrence", "model", "request", "response", "input_tokens"),
    *("output_tokens", "cached_tokens", "metered", "wall_s", "started_at", "paid_by"),
)
"""Columns of a call, in the order used by `row_check`."""
TOKENS = ("input_tokens", "output_tokens", "cached_tokens")


def unpacked(packed: bytes, most_bytes: int = 1 << 28) -> bytes:
    """Decompress a request or response. ValueError, TypeError or zlib.error if it is damaged or too long."""
    inflater = zlib.decompressobj()
    text = inflater.decompress(packed, most_bytes)
    if not inflater.eof:
        raise ValueError("incomplete or too long")
    return text


_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
  scope TEXT NOT NULL, role TEXT NOT NULL, request_digest TEXT NOT NULL, occurrence INTEGER NOT NULL,
  model TEXT NOT NULL, request BLOB NOT NULL, response BLOB NOT NULL,
  input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL,
  metered INTEGER NOT NULL, wall_s REAL NOT NULL, started_at TEXT NOT NULL, paid_by TEXT NOT NULL,
  row_check INTEGER NOT NULL,
  PRIMARY KEY (scope, role, request_digest, occurrence)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS faults (
  at TEXT NOT NULL, scope TEXT NOT NULL, role TEXT NOT NULL, reason TEXT NOT NULL, waited_s REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS reservations (
  id INTEGER PRIMARY KEY, role TEXT NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  paid_by TEXT NOT NULL
);
"""
_AT = "WHERE scope=? AND role=? AND request_digest=? AND occurrence=?"
_RESERVE = "INSERT INTO reservations (role, input_tokens, output_tokens, paid_by)"
_RESERVE_CALL = (
    f"{_RESERVE} SELECT role, input_tokens, output_tokens, paid_by FROM calls {_AT}"  # noqa: S608 - our own names
    " AND typeof(input_tokens) = 'integer' AND input_tokens BETWEEN 0 AND 1000000000"
    " AND typeof(output_tokens) = 'integer' AND output_tokens BETWEEN 0 AND 1000000000"
)
ALL_CALLS = f"SELECT {', '.join(COLUMNS)}, row_check FROM calls"  # noqa: S608
"""The rows of all calls; a condition may follow."""
_RESERVED = "SELECT paid_by, role, SUM(input_tokens), SUM(output_tokens) FROM reservations GROUP BY paid_by, role"
_REMAKE = (
    "restore it from a copy, or save what can be read (`sqlite3 OLD .recover | sqlite3 NEW`), or delete it and pay"
    " for its calls again"
)


@dataclass(frozen=True)
class CallKey:
    """Identifies a call: the n-th time that this request was made for this role in this scope."""

    scope: str
    """`index`, or `answer/<query_id>/<repeat>/<attempt>`."""
    role: str
    request_digest: str
    occurrence: int


@dataclass(frozen=True)
class StoredCall:
    """An answered call. Bodies are stored as bytes, headers (and so keys) never."""

    model: str
    request: bytes
    response: bytes
    usage: Usage
    wall_s: float
    started_at: str
    paid_by: str = ""
    """The run that paid for the call; set by `Journal.add`."""


class Journal:
    """An append-only journal. Committed calls survive kill -9; a damaged call is reported and made again.

    The journal of a run is used by one process at a time, a `shared` one by many: if two make the same call at
    once, both pay, and the first answer is kept.
    """

    def __init__(
        self, path: Path, *, payer: str = "", shared: bool = False, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        """`tell` receives a line for each damaged call."""
        self._path = path
        self._tell = tell
        self.payer = payer
        """The run that pays for calls added from now on."""
        self._insert = "INSERT OR IGNORE" if shared else "INSERT"
        # Through a link SQLite would write to its target.
        if path.is_symlink() and not shared:
            raise StoreError(f"{path} is a link, and links are not followed", "put the file itself there")
        if path.exists() and not path.is_file():
            raise StoreError(
                f"cannot use {path} (it is not a file)", "move it away and run the same command again"
            )
        with _explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = open_database(path)
            try:
                self._db.executescript(_SCHEMA)
            except BaseException:
                self._db.close()
                raise

    def find(self, key: CallKey) -> StoredCall | None:
        """The stored call; None if it is missing or damaged."""
        place = (key.scope, key.role, key.request_digest, key.occurrence)
        with _explained(self._path):
            row = self._db.execute(f"{ALL_CALLS} {_AT}", place).fetchone()
            if row is None:
                return None
            *values, check = row
            found = _stored(values) if check == row_check(values) else None
            if found is None:
                self._forget(place)
        if found is None:
            self._tell(f"{self._path}: a damaged call ({key.role}, {key.scope}) is made again")
        return found

    def _forget(self, place: tuple[str, str, str, int]) -> None:
        """Delete a damaged call; its recorded tokens, if plausible, still count as paid."""
        with at_once(self._db):
            self._db.execute(_RESERVE_CALL, place)
            self._db.execute(f"DELETE FROM calls {_AT}", place)  # noqa: S608

    def reserve(self, role: str, at_most: Usage) -> int:
        """Record that `payer` is about to make a call, and return the id of this reservation. Until it is
        cancelled or the call is added, `at_most` counts as paid, because a server may charge for an interrupted
        call.
        """
        with _explained(self._path):
            reserved = (role, at_most.input_tokens, at_most.output_tokens, self.payer)
            noted = self._db.execute(f"{_RESERVE} VALUES (?,?,?,?)", reserved)
        return int(noted.lastrowid or 0)

    def cancel(self, reservation: int) -> None:
        """Remove a reservation whose call was not paid."""
        with _explained(self._path):
            self._db.execute("DELETE FROM reservations WHERE id=?", (reservation,))

    def add(self, key: CallKey, call: StoredCall, *, reservation: int | None = None) -> StoredCall:
        """Save an answered call, paid by `payer`, and return the saved call, in a shared journal perhaps that of a
        faster process. In a run's own journal, a duplicate key is a bug and raises. The `reservation` is removed
        in the same transaction, unless the call is not saved or has no token counts.
        """
        usage = call.usage
        values = (
            *(key.scope, key.role, key.request_digest, key.occurrence, call.model),
            *(zlib.compress(call.request), zlib.compress(call.response)),
            *(usage.input_tokens, usage.output_tokens, usage.cached_tokens),
            *(int(not usage.unmetered_calls), float(call.wall_s), call.started_at, self.payer),
        )
        with _explained(self._path), at_once(self._db):
            added = self._db.execute(
                f"{self._insert} INTO calls ({', '.join(COLUMNS)}, row_check)"
                f" VALUES ({', '.join('?' * (len(COLUMNS) + 1))})",
                (*values, row_check(values)),
            )
            if reservation is not None and added.rowcount and not usage.unmetered_calls:
                self.cancel(reservation)
        return call if added.rowcount else (self.find(key) or call)

    def add_fault(self, at: str, scope: str, role: str, reason: str, waited_s: float) -> None:
        """Record a failed attempt and the waiting time it caused."""
        with _explained(self._path):
            self._db.execute("INSERT INTO faults VALUES (?,?,?,?,?)", (at, scope, role, reason, waited_s))

    def paid(self) -> list[tuple[str, str, Usage]]:
        """(run, role, usage) of the calls and of the reservations of each run; damaged calls are reported.

        In a damaged row, any column may be wrong. If its request or response cannot be decompressed, that is the
        damage, and its token counts are used. Otherwise the counts may be wrong, and the call counts with its
        largest possible usage: one token per byte.
        """
        sums: dict[tuple[str, str], list[int]] = {}
        n_damaged = 0
        try:
            with _explained(self._path):
                for *values, check in self._db.execute(ALL_CALLS):
                    call = dict(zip(COLUMNS, values, strict=True))
                    amounts = [call[name] for name in TOKENS]
                    if check != row_check(values):
                        n_damaged += 1
                        with suppress(TypeError, ValueError, zlib.error):
                            amounts = [len(unpacked(call["request"])), len(unpacked(call["response"])), 0]
                    if not all(type(amount) is int and amount >= 0 for amount in amounts):
                        raise ValueError("invalid token counts")
                    before = sums.get((str(call["paid_by"]), str(call["role"])), [0, 0, 0, 0])
                    sums[str(call["paid_by"]), str(call["role"])] = list(map(add, before, (1, *amounts)))
                reserved = self._db.execute(_RESERVED).fetchall()
            held = [
                (run, role, Usage(input_tokens=read, output_tokens=wrote)) for run, role, read, wrote in reserved
            ]
        except ValueError as error:
            raise StoreError(f"{self._path} is damaged (invalid token counts)", _REMAKE) from error
        if n_damaged:
            counted = "their tokens are counted as the largest possible number"
            self._tell(f"{self._path}: damaged calls: {n_damaged:,}; {counted}")
        names = ("calls", *TOKENS)
        paid = [(*key, Usage(**dict(zip(names, found, strict=True)))) for key, found in sums.items()]
        return [*paid, *held]

    def close(self) -> None:
        self._db.close()


def paid_by_runs(path: Path, tell: Callable[[str], None] = lambda _: None) -> dict[tuple[str, str], Usage]:
    """(run, role) -> usage paid by that run in a journal, including open reservations. Calls without token counts
    are counted by their reservation, if they have one.
    """
    total: dict[tuple[str, str], Usage] = {}
    if path.exists():
        with closing(Journal(path, tell=tell)) as journal:
            for run, role, used in journal.paid():
                total[run, role] = total.get((run, role), Usage()) + used
    return total


def _stored(values: Sequence[Any]) -> StoredCall | None:
    """The call in a row; None if it is unreadable."""
    model, request, response, *tokens, metered, wall_s, started_at, payer = values[4:]
    try:
        usage = Usage(calls=1, unmetered_calls=int(not metered), **dict(zip(TOKENS, tokens, strict=True)))
        return StoredCall(model, unpacked(request), unpacked(response), usage, wall_s, started_at, payer)
    except (ValueError, TypeError, zlib.error):
        return None


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except (sqlite3.Error, OSError) as error:
        # SQLITE_ERROR: a table or column is missing.
        has_layout = getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_ERROR
        if has_layout and isinstance(error, (sqlite3.OperationalError, OSError)):
            fix = "free some disk space or make it writable, then run the same command again"
            raise StoreError(f"cannot use {path} ({error})", fix) from error
        raise StoreError(f"{path} is damaged ({error})", _REMAKE) from error
