"""Files that somebody else may have made: only what is a file, and no more of it than there may be."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

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
