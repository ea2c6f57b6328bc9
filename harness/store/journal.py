"""calls.sqlite: every answered model call, once, so that nothing is paid twice."""

import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.errors import StoreError
from harness.core.records import Usage
from harness.store.checksums import row_check
from harness.store.paid_calls import COLUMNS, PaidCalls, unpacked
from harness.store.sqlite_files import at_once, open_database

_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
  scope TEXT NOT NULL, role TEXT NOT NULL, request_digest TEXT NOT NULL, occurrence INTEGER NOT NULL,
  model TEXT NOT NULL, request BLOB NOT NULL, response BLOB NOT NULL,
  input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL,
  metered INTEGER NOT NULL, wall_s REAL NOT NULL, started_at TEXT NOT NULL, paid_by TEXT NOT NULL DEFAULT '',
  row_check INTEGER,
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
_ADDED = {"paid_by": "TEXT NOT NULL DEFAULT ''", "row_check": "INTEGER"}
_AT = "WHERE scope=? AND role=? AND request_digest=? AND occurrence=?"
_MOST_TOKENS = 10**9
_RESERVE_CALL = (
    "INSERT INTO reservations (role, input_tokens, output_tokens, paid_by)"
    " SELECT role, input_tokens, output_tokens, paid_by FROM calls"
    " WHERE scope=? AND role=? AND request_digest=? AND occurrence=?"
    " AND typeof(input_tokens) = 'integer' AND input_tokens BETWEEN 0 AND ?"
    " AND typeof(output_tokens) = 'integer' AND output_tokens BETWEEN 0 AND ?"
)
_ALL_CALLS = f"SELECT {', '.join(COLUMNS)}, row_check FROM calls"  # noqa: S608 - our own names
_RESERVED = "SELECT paid_by, role, SUM(input_tokens), SUM(output_tokens) FROM reservations GROUP BY paid_by, role"


_REMAKE = (
    "restore it from a copy, or save what can be read (`sqlite3 OLD .recover | sqlite3 NEW`), or delete it: the"
    " calls it holds are made again"
)


@dataclass(frozen=True)
class CallKey:
    """Which call: the n-th time this request was made for this role within this scope."""

    scope: str
    """`index`, or `answer/<query_id>/<repeat>/<attempt>`."""
    role: str
    request_digest: str
    occurrence: int


@dataclass(frozen=True)
class StoredCall:
    """An answered call: bodies as bytes, never headers, so never a key."""

    model: str
    request: bytes
    response: bytes
    usage: Usage
    wall_s: float
    started_at: str
    paid_by: str = ""
    """The run that made the call; `Journal.add` fills it in."""


class Journal:
    """Append-only; a committed call survives kill -9, and one that was damaged since is told and made again.

    A run's is used by one process at a time. Those that all indexes and all judgements share (`shared`) are used
    by many: two that make the same call at once both pay, and the first answer is kept.
    """

    def __init__(
        self, path: Path, *, payer: str = "", shared: bool = False, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        """`tell` is given a line for every call that is found damaged."""
        self._path = path
        self._tell = tell
        self.payer = payer
        """The run that pays for what is added from now on."""
        self._insert = "INSERT OR IGNORE" if shared else "INSERT"
        _check_place(path, shared=shared)
        with _explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = open_database(path)
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def _prepare(self) -> None:
        self._db.executescript(_SCHEMA)
        there = {row[1] for row in self._db.execute("PRAGMA table_info(calls)")}
        for name, kind in _ADDED.items():
            if name not in there:
                # A journal of an earlier version; another process may be adding the column too.
                with suppress(sqlite3.OperationalError):
                    self._db.execute(f"ALTER TABLE calls ADD COLUMN {name} {kind}")

    def find(self, key: CallKey) -> StoredCall | None:
        """The call if it was answered before; one whose row is damaged was not."""
        place = (key.scope, key.role, key.request_digest, key.occurrence)
        with _explained(self._path):
            query = f"SELECT {', '.join(COLUMNS)}, row_check FROM calls {_AT}"  # noqa: S608 - our own names
            row = self._db.execute(query, place).fetchone()
            if row is None:
                return None
            *values, check = row
            found = _stored(values) if check in (None, row_check(values)) else None
            if found is None:
                self._forget(place)
        if found is None:
            self._tell(f"{self._path}: a damaged call is made again ({key.role}, {key.scope})")
        return found

    def _forget(self, place: tuple[str, str, str, int]) -> None:
        """Take a damaged call out; the tokens that its row speaks of stay paid, as far as they can be."""
        with at_once(self._db):
            self._db.execute(_RESERVE_CALL, (*place, _MOST_TOKENS, _MOST_TOKENS))
            self._db.execute(f"DELETE FROM calls {_AT}", place)  # noqa: S608

    def reserve(self, role: str, at_most: Usage) -> int:
        """Note that a call by `payer` is about to be made, and return the note's id.

        Until it is cancelled, or its call is added, `at_most` counts as paid: nobody knows what a server charges
        for a call that was cut off, by kill -9 too.
        """
        with _explained(self._path):
            noted = self._db.execute(
                "INSERT INTO reservations (role, input_tokens, output_tokens, paid_by) VALUES (?,?,?,?)",
                (role, at_most.input_tokens, at_most.output_tokens, self.payer),
            )
        return int(noted.lastrowid or 0)

    def cancel(self, reservation: int) -> None:
        """The reserved call was not paid."""
        with _explained(self._path):
            self._db.execute("DELETE FROM reservations WHERE id=?", (reservation,))

    def add(self, key: CallKey, call: StoredCall, *, reservation: int | None = None) -> StoredCall:
        """Keep an answered call, paid by `payer`, and return what is kept: of a shared journal the call of another
        process that was quicker. In a run's own journal the same key twice is a bug and raises.

        Its `reservation` goes at the same moment, unless the call is not kept or its tokens were not counted.
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
        """Keep what went wrong with a call and how long was waited because of it."""
        with _explained(self._path):
            self._db.execute("INSERT INTO faults VALUES (?,?,?,?,?)", (at, scope, role, reason, waited_s))

    def paid(self) -> list[tuple[str, str, Usage]]:
        """(run, role, usage) of each run's calls, and of each run's reservations; damaged calls are told."""
        calls = PaidCalls()
        try:
            with _explained(self._path):
                for *values, check in self._db.execute(_ALL_CALLS):
                    calls.add(values, check)
                reserved = self._db.execute(_RESERVED).fetchall()
            held = [
                (run, role, Usage(input_tokens=read, output_tokens=wrote)) for run, role, read, wrote in reserved
            ]
        except ValueError as error:
            raise StoreError(f"{self._path} is damaged (tokens that are no counts)", _REMAKE) from error
        if calls.n_damaged:
            counted = "their tokens count as the most they can have been"
            self._tell(f"{self._path}: damaged calls: {calls.n_damaged:,}; {counted}")
        return [*calls.usage(), *held]

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def paid_by_runs(path: Path, tell: Callable[[str], None] = lambda _: None) -> dict[tuple[str, str], Usage]:
    """(run, role) -> what that run has paid in a journal, with what is still reserved as if it were used.

    Calls that the server did not count stand in with their reservation, if they had one. `tell` is given a line
    where calls are damaged.
    """
    total: dict[tuple[str, str], Usage] = {}
    if path.exists():
        with closing(Journal(path, tell=tell)) as journal:
            for run, role, used in journal.paid():
                total[run, role] = total.get((run, role), Usage()) + used
    return total


def _stored(values: Sequence[Any]) -> StoredCall | None:
    """The call that a row holds; None: an earlier version wrote it, and it can be read no more."""
    model, request, response, tokens_in, tokens_out, cached, metered, wall_s, started_at, payer = values[4:]
    try:
        usage = Usage(
            calls=1,
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            cached_tokens=cached,
            unmetered_calls=int(not metered),
        )
        bodies = unpacked(request), unpacked(response)
    except (ValueError, TypeError, zlib.error):
        return None
    return StoredCall(model, *bodies, usage, wall_s, started_at, payer)


def _check_place(path: Path, *, shared: bool) -> None:
    """A database is opened by a library, which would write through a link."""
    if path.is_symlink() and not shared:
        raise StoreError(f"{path} is a link, through which nothing is written", "put the file itself there")
    if path.exists() and not path.is_file():
        raise StoreError(f"cannot use {path} (it is no file)", "move it away and run the same command again")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except (sqlite3.OperationalError, OSError) as error:
        raise StoreError(
            f"cannot use {path} ({error})",
            "free some disk space or make it writable, then run the same command again",
        ) from error
    except sqlite3.Error as error:
        raise StoreError(f"{path} is damaged ({error})", _REMAKE) from error
