"""Reading files that somebody else made: only what is a file, and no more of it than there may be."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_plain(path: Path) -> BinaryIO:
    """The file, to be read. OSError where it is a folder, or a pipe or device, which might never end."""
    try:
        # A pipe that nobody writes to would be waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:  # A path that no file can have holds a NUL.
        raise OSError(errno.EINVAL, "no path of a file", str(path)) from error
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "a pipe or device, not a file", str(path))


def read_plain(path: Path, most_bytes: int) -> bytes:
    """All of it; OSError as in `open_plain`, and where it is longer than that."""
    with open_plain(path) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"longer than {most_bytes:,} bytes", str(path))
    return content
