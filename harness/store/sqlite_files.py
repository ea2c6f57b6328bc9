"""SQLite files that several processes open, read and add to at once."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WAIT_S = 60.0
_AGAIN_S = 0.02


def open_database(path: Path) -> sqlite3.Connection:
    """The file, made where there is none, for any thread, without transactions of its own; raises sqlite3.Error.

    What is committed survives kill -9; after a loss of power the last commits may be gone.
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
    """The statements of the block are kept together, or none of them is."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def _write_ahead(database: sqlite3.Connection) -> None:
    """Of two that switch a new file together SQLite refuses one without waiting: each would wait for the other."""
    until = time.monotonic() + _WAIT_S
    while True:
        try:
            database.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(_AGAIN_S)
