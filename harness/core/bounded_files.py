"""Opens files that may come from others: regular files only, up to a maximum size."""

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

PlaceStamp = tuple[tuple[str, int, int, int], ...]
"""The state of files: path, size, inode number, and time of the last status change."""

# Without O_NONBLOCK, opening a pipe without a writer would block.
_AT_ONCE = os.O_NONBLOCK | os.O_CLOEXEC
_NO_FILE = "a pipe or device, not a file"


def open_plain(path: Path) -> BufferedReader:
    """Open a regular file for reading. OSError for a folder, pipe or device."""
    return os.fdopen(_opened(path, os.O_RDONLY), "rb")


def open_to_append(path: Path) -> BinaryIO:
    """Open or create a regular file for appending, reading and truncating. OSError as in `open_plain`, and for a
    link, because the data would be written elsewhere.
    """
    return os.fdopen(_opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW), "ab+")


def read_plain(path: Path, most_bytes: int) -> bytes:
    """Read a whole file. OSError as in `open_plain`, and if it is longer than `most_bytes`."""
    with open_plain(path) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"longer than {most_bytes:,} bytes", str(path))
    return content


def file_stamp(place: Path) -> PlaceStamp:
    """The state of a file, or of all files in a folder. It changes whenever any byte may have changed. Links are
    not followed; entries that cannot be accessed are ignored.
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
    # Tools that preserve a file's modification time still change its status time, which nobody can set.
    return path, seen.st_size, seen.st_ino, seen.st_ctime_ns


def without_home(path: str) -> str:
    """The path with `~` for the home folder, whose name contains the user name."""
    home = str(from_home("~"))
    inside = path.startswith(home + os.sep) or path == home
    return "~" + path[len(home) :] if inside and len(home) > 1 else path


def from_home(path: str) -> Path:
    """The path with `~` expanded; unchanged if the home folder is unknown."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises for an unknown user.


def _opened(path: Path, how: int) -> int:
    try:
        descriptor = os.open(path, how | _AT_ONCE, 0o666)
    except ValueError as error:  # The path contains a NUL.
        raise OSError(errno.EINVAL, "not a valid path", str(path)) from error
    except OSError as error:
        if error.errno == errno.ENXIO:  # A socket, or a pipe without a reader.
            raise OSError(errno.EINVAL, _NO_FILE, str(path)) from error
        raise
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, _NO_FILE, str(path))
