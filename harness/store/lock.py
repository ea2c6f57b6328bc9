"""Locks that allow one writer per directory, across processes and after kill -9."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from harness.core.errors import StoreError, explained_io


def exclusive(path: Path, *, wait_s: float = 10.0, of: Path | None = None) -> AbstractContextManager[int]:
    """Hold the lock file `path` exclusively; yields its descriptor. `of`: the protected path for messages
    (default: the folder of the lock file).

    A child process that inherits the descriptor holds the lock until it exits, so the last worker of a killed
    parent and a resuming process never write at the same time. (`filelock` closes the descriptor in children.)
    """
    return _held(path, of or path.parent, wait_s, fcntl.LOCK_EX)


def shared(path: Path) -> AbstractContextManager[int]:
    """Hold the lock file `path` together with other `shared` holders, never beside an `exclusive` one. Waits an
    hour at most.
    """
    return _held(path, path.parent, 3600.0, fcntl.LOCK_SH)


def is_held(path: Path) -> bool:
    """Whether a process holds the lock file `path`, as far as can be told; creates and waits for nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    else:
        return False
    finally:
        os.close(descriptor)


@contextmanager
def _held(path: Path, protected: Path, wait_s: float, how: int) -> Iterator[int]:
    deadline = time.monotonic() + wait_s
    with ExitStack() as stack:
        with explained_io("lock", path):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
            stack.callback(os.close, descriptor)
            while True:
                try:
                    fcntl.flock(descriptor, how | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        what = f"another process is working in {protected}"
                        raise StoreError(what, "wait for it or stop it, then run again") from None
                time.sleep(0.1)
        yield descriptor
