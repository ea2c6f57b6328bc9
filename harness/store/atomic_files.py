"""Atomic writing (a crash leaves the old or the new file), and reading of files after a crash."""

import fcntl
import glob
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError

from harness.core.bounded_files import open_plain, open_to_append
from harness.core.errors import StoreError, explained_io
from harness.core.hashing import file_digest
from harness.store import checksums, untrusted_file_reader
from harness.store.checksums import FileChecksum

RUN_AGAIN = "run the same command again, `rag-harness run` or `import`: it is repaired, and nothing is paid twice"
MOVE_AWAY = "move it away and run the same command again: no call is paid twice"
R = TypeVar("R", bound=BaseModel)


def digest_if_there(path: Path) -> str | None:
    """SHA-256 of the file; None if it does not exist."""
    with explained_io("read", path):
        try:
            return file_digest(path)
        except FileNotFoundError:
            return None


def write_unless_changed(path: Path, text: str, known: str | None) -> bool:
    """Replace the text atomically if the file still has the digest `known` (from `digest_if_there`). Returns
    False, and changes nothing, if another process has changed the file.
    """

    def check() -> None:
        if digest_if_there(path) != known:
            raise _ChangedError

    try:
        write_atomic_bytes(path, text.encode(), check)
    except _ChangedError:
        return False
    return True


class _ChangedError(Exception):
    """The file has changed since it was read."""


def write_atomic(path: Path, text: str) -> None:
    write_atomic_bytes(path, text.encode())


def write_atomic_bytes(path: Path, content: bytes, before_replacing: Callable[[], None] | None = None) -> None:
    """Replace the content of `path` atomically. An error in `before_replacing` keeps the old file."""
    with explained_io("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_partial(path) as file:
            partial = Path(file.name)
            try:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                if before_replacing:
                    before_replacing()
                partial.replace(path)
            except BaseException:
                partial.unlink(missing_ok=True)
                raise


def open_partial(path: Path) -> BinaryIO:
    """Create a temporary file next to `path` for this writer. It is locked while open, so rename it to `path` (its
    path is `name`) before closing it. Those of killed writers, which are not locked, are removed.
    """
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        with suppress(OSError), open_plain(left) as abandoned:
            fcntl.flock(abandoned, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()
    while True:
        file = path.with_name(f".{path.name}.{secrets.token_hex(6)}.partial").open("xb")
        with suppress(OSError):  # Some file systems have no locks; nothing is removed there.
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # Another writer removed it before it was locked.


def write_json(path: Path, record: BaseModel, closes: Iterable[Path] = ()) -> None:
    """Write a record as indented JSON atomically, with checksums of itself and of the files in `closes`."""
    write_atomic(path, checksums.sealed(record, closes))


def read_json(path: Path, kind: type[R], fix: str = RUN_AGAIN) -> R:
    """Read a record; StoreError with `fix` if the file is damaged or does not match its checksum."""
    return read_closing(path, kind, fix)[0]


def read_closing(path: Path, kind: type[R], fix: str = RUN_AGAIN) -> tuple[R, Mapping[str, FileChecksum]]:
    """Read a record and the checksums of the files it closes."""
    tree, closes = checksums.opened(path, read_object(path, fix), fix)
    return checked(path, tree, kind, fix), closes


def checked(path: Path, tree: dict[str, object], kind: type[R], fix: str = RUN_AGAIN) -> R:
    """Validate the JSON object of `path` as a record; StoreError with `fix` if it is damaged."""
    try:
        return kind.model_validate_json(json.dumps(tree))
    except ValueError as error:
        raise StoreError(f"{path} is damaged ({reason_of(error)})", fix) from error


def write_jsonl(path: Path, records: Iterable[BaseModel]) -> None:
    write_atomic(path, "".join(record.model_dump_json() + "\n" for record in records))


def append_bytes(path: Path, lines: bytes) -> None:
    """Append whole lines; they are on disk when this returns."""
    with explained_io("append to", path), open_to_append(path) as file:
        file.write(lines)
        file.flush()
        os.fsync(file.fileno())


def repair_tail(path: Path) -> bool:
    """Cut an incomplete last line, left by a crash. Returns True if there was one."""
    if not path.exists():
        return False
    with explained_io("repair", path), open_to_append(path) as file:
        size = file.seek(0, os.SEEK_END)
        keep = size
        while keep > 0:
            if size - keep > untrusted_file_reader.LONGEST_LINE:
                raise StoreError(
                    f"{path} ends with a line longer than {untrusted_file_reader.LONGEST_LINE:,} bytes", MOVE_AWAY
                )
            start = max(0, keep - 65536)
            file.seek(start)
            end_of_line = file.read(keep - start).rfind(b"\n")
            if end_of_line >= 0:
                keep = start + end_of_line + 1
                break
            keep = start
        if keep == size:
            return False
        file.truncate(keep)
    return True


def iter_jsonl(path: Path, kind: type[R], fix: str = RUN_AGAIN) -> Iterator[R]:
    """Yield one record per line. StoreError names a damaged or incomplete line."""
    if not path.exists():
        return
    for number, line in enumerate(untrusted_file_reader.lines(path, fix), start=1):
        yield record_of_line(line, kind, f"{path} line {number}", fix)


def record_of_line(line: bytes, kind: type[R], where: str, fix: str) -> R:
    """StoreError with `fix`: the line at `where` is damaged or incomplete."""
    if not line.endswith(b"\n"):
        raise StoreError(f"{where} is incomplete", fix)
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        raise StoreError(f"{where} is damaged ({reason_of(error)})", fix) from error


def reason_of(error: ValueError) -> str:
    """The message of an error; of a validation, its first error in a few words."""
    if not isinstance(error, ValidationError):
        return str(error)
    detail = error.errors()[0]
    where = ".".join(str(part) for part in detail["loc"])
    return f"{where}: {detail['msg']}" if where else str(detail["msg"])


def read_object(path: Path, fix: str = RUN_AGAIN) -> dict[str, object]:
    """The JSON object in `path` without validation, to check the schema version first."""
    try:
        value = json.loads(untrusted_file_reader.text(path, fix))
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is damaged (not JSON: {error})", fix) from error
    if not isinstance(value, dict):
        raise StoreError(f"{path} is damaged (not a JSON object)", fix)
    return value


_WAIT_S = 60.0


def open_database(path: Path) -> sqlite3.Connection:
    """Open or create a database for use in any thread, in autocommit mode. Raises sqlite3.Error. Commits survive
    kill -9; the last ones may be lost in a power failure.
    """
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_WAIT_S)
    try:
        _write_ahead(database)
        database.execute("PRAGMA synchronous=NORMAL")
    except BaseException:
        database.close()
        raise
    return database


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open a database that another process may be writing; creates and changes nothing. Raises sqlite3.Error."""
    if not path.is_file():
        # A pipe would keep its reader waiting for ever.
        raise sqlite3.OperationalError(f"{path.name} is not a file")
    # Without a write-ahead log there is no writer. `immutable` then avoids creating files, as in a read-only
    # folder.
    written = path.with_name(f"{path.name}-wal").exists()
    how = "mode=ro" if written else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True, timeout=5)


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
        time.sleep(0.02)
