"""Files that somebody else may have made: only what is a file, and no more of it than there may be."""

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

PlaceStamp = tuple[tuple[str, int, int, int], ...]
"""How files stand on a disk: path, size, number, and when it last changed."""

# A pipe that nobody writes to would be waited for.
_AT_ONCE = os.O_NONBLOCK | os.O_CLOEXEC
_NO_FILE = "a pipe or device, not a file"


def open_plain(path: Path) -> BinaryIO:
    """The file, to be read. OSError where it is a folder, or a pipe or device, which might never end."""
    return os.fdopen(_opened(path, os.O_RDONLY), "rb")


def open_to_append(path: Path) -> BinaryIO:
    """The file, begun where it is not there, to be written at its end (and read, and cut). OSError as in
    `open_plain`, and where it is a link: what is written would land elsewhere.
    """
    return os.fdopen(_opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW), "ab+")


def read_plain(path: Path, most_bytes: int) -> bytes:
    """All of it; OSError as in `open_plain`, and where it is longer than that."""
    with open_plain(path) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"longer than {most_bytes:,} bytes", str(path))
    return content


def stamp(place: Path) -> PlaceStamp:
    """How a file, or all that lies in a folder, stands there now; another stamp wherever a byte may have changed.

    Links are not followed, and what cannot be looked at has no part in it.
    """
    folders, found = [str(place)], [_state(str(place), os.stat)]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                found.append(_state(entry.path, os.lstat))
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    return tuple(sorted(found))


def _state(path: str, look: Callable[[str], os.stat_result]) -> tuple[str, int, int, int]:
    try:
        seen = look(path)
    except (OSError, ValueError):
        return path, 0, 0, 0
    # Nobody sets the time of a change of state: tools that keep a file's own time change it.
    return path, seen.st_size, seen.st_ino, seen.st_ctime_ns


def without_home(path: str) -> str:
    """The path as others may read it: with `~` for the home folder, which names its user."""
    home = str(from_home("~"))
    inside = path.startswith(home + os.sep) or path == home
    return "~" + path[len(home) :] if inside and len(home) > 1 else path


def from_home(path: str) -> Path:
    """The path with its home folder; as it is written where nobody knows that folder."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path's own raises where there is no such user.


def _opened(path: Path, how: int) -> int:
    try:
        descriptor = os.open(path, how | _AT_ONCE, 0o666)
    except ValueError as error:  # A path that no file can have holds a NUL.
        raise OSError(errno.EINVAL, "no path of a file", str(path)) from error
    except OSError as error:
        if error.errno == errno.ENXIO:  # A socket, or a pipe that nobody reads.
            raise OSError(errno.EINVAL, _NO_FILE, str(path)) from error
        raise
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, _NO_FILE, str(path))
