"""SQLite files that several processes open, read and extend at the same time."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WAIT_S = 60.0
_AGAIN_S = 0.02


def open_database(path: Path) -> sqlite3.Connection:
    """Open or create a database for use in any thread, in autocommit mode. Raises sqlite3.Error.

    Commits survive kill -9; the last ones may be lost in a power failure.
    """
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_WAIT_S)
    try:
        _write_ahead(database)
        database.execute("PRAGMA synchronous=NORMAL")
    except BaseException:
        database.close()
        raise
    return database


@contextmanager
def at_once(database: sqlite3.Connection) -> Iterator[None]:
    """Run the statements of the block in one transaction."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def _write_ahead(database: sqlite3.Connection) -> None:
    """Switch to write-ahead logging. SQLite fails without waiting if two processes switch a new file at once."""
    until = time.monotonic() + _WAIT_S
    while True:
        try:
            database.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(_AGAIN_S)
