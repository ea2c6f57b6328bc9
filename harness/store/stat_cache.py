"""Caches a value read from files until one of them changes."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")
Stamp = tuple[tuple[str, int, int, int], ...]


class StatCache(Generic[T]):
    """Caches the last value."""

    def __init__(self) -> None:
        self._found: tuple[Stamp, T] | None = None

    def get(self, paths: Iterable[Path], look: Callable[[], T]) -> T:
        """The value of `look`, which is called again if one of the files has changed."""
        stamp = stamp_of(paths)
        if self._found is None or self._found[0] != stamp:
            self._found = stamp, look()
        return self._found[1]


def stamp_of(paths: Iterable[Path]) -> Stamp:
    """The state of files, to detect changes."""
    stamps = []
    for path in paths:
        found = path.stat() if path.exists() else None
        stamps.append((path.name, *((found.st_mtime_ns, found.st_size, found.st_ino) if found else (0, 0, 0))))
    return tuple(stamps)
